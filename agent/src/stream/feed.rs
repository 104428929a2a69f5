//! The events of a run, from the slot or from the spool.

use crate::error::{StepError, WithIntent};
use crate::postgres::lsn::Lsn;
use crate::postgres::replication::{ChangeStream, StreamEvent};
use crate::spool::SpoolReader;

/// What a run reads.
#[derive(Debug)]
pub(super) enum EventFeed {
    /// The slot, through a replication session.
    Slot(Box<ChangeStream>),
    /// The spool, into which a capture writes the changes of the slot.
    Spool(SpoolReader),
}

impl EventFeed {
    /// Returns the next event, or `None` at the end of the spool. Cancelling the call loses no event.
    pub(super) async fn next(&mut self, upstream: &str) -> Result<Option<StreamEvent>, StepError> {
        match self {
            Self::Slot(stream) => stream
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
            Self::Slot(stream) => stream.wrote(end),
            // Only the capture reads the slot while the run reads the spool.
            Self::Spool(_) => {}
        }
    }

    /// Whether the slot is confirmed only up to the progress. With a spool it is also confirmed up to spooled changes.
    pub(super) fn confirms_progress_only(&self) -> bool {
        matches!(self, Self::Slot(_))
    }

    /// Continues to read from the walsender, and does not change to SQL: something waits for the next changes, and the
    /// change takes time.
    pub(super) fn keep_walsender(&mut self) {
        match self {
            Self::Slot(stream) => stream.stay(),
            Self::Spool(_) => {}
        }
    }

    /// Confirms everything before `lsn` to the slot.
    pub(super) fn confirm(&mut self, lsn: Lsn) {
        match self {
            Self::Slot(stream) => stream.confirm(lsn),
            // The capture confirmed the position when it spooled the changes.
            Self::Spool(_) => {}
        }
    }
}
