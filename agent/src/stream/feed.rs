//! Where the events of a run come from: the slot, or the spool.

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ChangeStream, StreamEvent};
use crate::spool::SpoolReader;

/// Where events come from.
#[derive(Debug)]
pub(super) enum EventFeed {
    /// The slot.
    Live(Box<ChangeStream>),
    /// The spool.
    Spool(SpoolReader),
}

impl EventFeed {
    /// The next event; `None` when the spool is read to its end. May be cancelled.
    pub(super) async fn next(&mut self, origin: &str) -> Result<Option<StreamEvent>, StepError> {
        match self {
            Self::Live(stream) => stream
                .next()
                .await
                .map(Some)
                .at(format_args!("shard {origin}: reading changes")),
            Self::Spool(reader) => reader.next().await.transpose(),
        }
    }

    /// The origin's log is known to reach there.
    pub(super) fn wrote(&mut self, end: Lsn) {
        match self {
            Self::Live(stream) => stream.wrote(end),
            // It has a capture that reads the slot.
            Self::Spool(_) => {}
        }
    }

    /// Whether the slot is confirmed only as far as the progress is: what came into a spool is confirmed already.
    pub(super) fn waits_for_progress(&self) -> bool {
        matches!(self, Self::Live(_))
    }

    /// Somebody waits for what comes next.
    pub(super) fn stay(&mut self) {
        match self {
            Self::Live(stream) => stream.stay(),
            Self::Spool(_) => {}
        }
    }

    pub(super) fn confirm(&mut self, lsn: Lsn) {
        match self {
            Self::Live(stream) => stream.confirm(lsn),
            // It was confirmed when it came into the spool.
            Self::Spool(_) => {}
        }
    }
}
