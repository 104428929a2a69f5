//! The events of a run, from the slot or from the spool.

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ChangeStream, StreamEvent};
use crate::spool::SpoolReader;

/// The source of events.
#[derive(Debug)]
pub(super) enum EventFeed {
    /// The slot.
    Live(Box<ChangeStream>),
    /// The spool.
    Spool(SpoolReader),
}

impl EventFeed {
    /// Returns the next event, or `None` at the end of the spool. Cancelling the call loses no event.
    pub(super) async fn next(&mut self, upstream: &str) -> Result<Option<StreamEvent>, StepError> {
        match self {
            Self::Live(stream) => stream
                .next()
                .await
                .map(Some)
                .at(format_args!("shard {upstream}: reading changes")),
            Self::Spool(reader) => reader.next().await.transpose(),
        }
    }

    /// Records that the upstream WAL reaches at least to `end`.
    pub(super) fn note_wal_end(&mut self, end: Lsn) {
        match self {
            Self::Live(stream) => stream.wrote(end),
            // The capture reads the slot of a spool.
            Self::Spool(_) => {}
        }
    }

    /// Whether the slot is confirmed only up to the progress. Changes from a spool are confirmed when they are
    /// spooled.
    pub(super) fn confirms_progress_only(&self) -> bool {
        matches!(self, Self::Live(_))
    }

    /// Keeps the walsender instead of a switch to SQL, because a caller waits for the next changes.
    pub(super) fn keep_walsender(&mut self) {
        match self {
            Self::Live(stream) => stream.stay(),
            Self::Spool(_) => {}
        }
    }

    pub(super) fn confirm(&mut self, lsn: Lsn) {
        match self {
            Self::Live(stream) => stream.confirm(lsn),
            // The capture confirmed the position when it spooled the changes.
            Self::Spool(_) => {}
        }
    }
}
