//! How a replication slot is reached.

use connect::Dsn;

use super::{FeedbackMode, StreamStart};

/// How the slot is reached.
#[derive(Clone)]
pub(super) struct SlotEndpoint {
    pub(super) dsn: Dsn,
    pub(super) application_name: String,
    pub(super) start: StreamStart,
    pub(super) feedback: FeedbackMode,
}
