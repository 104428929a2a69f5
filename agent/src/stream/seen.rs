//! What a stream has seen so far, for those who wait for it and for the controller.

use std::collections::HashMap;

use plans::names::Direction;
use plans::wire::{DualWriteState, Retained, StreamMode, StreamStatus};
use uuid::Uuid;

use crate::postgres::lsn::Lsn;

/// What a stream has observed so far.
#[derive(Debug, Clone)]
pub(crate) struct StreamObservation {
    pub(crate) status: StreamStatus,
    /// Markers that are applied, with the number of row changes applied before each.
    pub(crate) markers: HashMap<Uuid, u64>,
    /// Changes of moving rows applied by this process.
    pub(crate) applied: u64,
    /// How far the origin's log is known to reach.
    pub(crate) written: Lsn,
    /// Why the destination cannot be reached, while changes are spooled for it.
    pub(crate) away: Option<String>,
}

impl StreamObservation {
    /// Before the stream has begun.
    pub(super) fn nothing(direction: Direction) -> Self {
        Self {
            status: StreamStatus {
                direction,
                mode: StreamMode::default(),
                spooled_bytes: 0,
                retained: Retained::default(),
                dual_write: DualWriteState::default(),
                lag_bytes: 0,
                written_at: 0,
                applied_at: 0,
                lag_ms: 0,
                transactions: 0,
                changes: 0,
                failure: None,
            },
            markers: HashMap::new(),
            applied: 0,
            written: Lsn::ZERO,
            away: None,
        }
    }

    /// The origin's log reaches at least to there.
    pub(super) fn wrote(&mut self, end: Lsn) {
        self.written = self.written.max(end);
        self.status.written_at = self
            .written
            .bytes_since(Lsn::ZERO)
            .try_into()
            .unwrap_or(i64::MAX);
    }

    /// Nothing before there is still to be applied.
    pub(super) fn applied_to(&mut self, at: Lsn) {
        let at = at.bytes_since(Lsn::ZERO).try_into().unwrap_or(i64::MAX);
        self.status.applied_at = self.status.applied_at.max(at);
    }
}
