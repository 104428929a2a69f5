//! The parameters that are needed to open a stream on a replication slot.

use connect::Dsn;

use super::{FeedbackMode, StreamStart};

/// A replication slot, and how the agent connects to it. Variables of this type are called `origin`; a replication
/// origin of PostgreSQL is something else.
#[derive(Clone)]
pub(super) struct SlotEndpoint {
    pub(super) dsn: Dsn,
    pub(super) application_name: String,
    pub(super) start: StreamStart,
    pub(super) feedback: FeedbackMode,
}
