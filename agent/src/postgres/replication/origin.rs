//! How a replication slot is reached.

use connect::Dsn;

use super::{Pace, StreamStart};

/// How the slot is reached.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) dsn: Dsn,
    pub(super) application_name: String,
    pub(super) start: StreamStart,
    pub(super) pace: Pace,
}
