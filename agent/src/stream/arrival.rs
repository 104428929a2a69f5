//! How a change arrived in the stream.

use crate::postgres::lsn::Lsn;

/// The circumstances in which a change arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeArrival {
    /// Whether the stream records the keys of the change as dirty.
    pub(super) records_dirty: bool,
    /// Whether the stream lagged.
    pub(super) is_lagging: bool,
    /// Whether the copy may contain changes of the transaction.
    pub(super) may_be_in_copy: bool,
    /// The position of the commit of the change's transaction.
    pub(super) commit_lsn: Lsn,
}
