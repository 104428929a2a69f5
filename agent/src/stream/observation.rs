//! The status of a stream, for the steps that wait for the stream, and for the controller.

use std::collections::HashMap;

use plans::names::Direction;
use plans::wire::{DualWriteState, Retained, StreamMode, StreamStatus};
use uuid::Uuid;

use crate::postgres::lsn::Lsn;

/// The status of a stream: what the agent reports to the controller, and what only the agent needs.
#[derive(Debug, Clone)]
pub(crate) struct StreamObservation {
    pub(crate) status: StreamStatus,
    /// Applied markers, each with the number of changes of moving rows that this process had applied before it.
    pub(crate) applied_markers: HashMap<Uuid, u64>,
    /// The number of changes of moving rows that this process has applied.
    pub(crate) applied_rows: u64,
    /// The end of the upstream WAL, as far as the agent knows.
    pub(crate) wal_end: Lsn,
    /// The error of the downstream shard while the stream spools because this shard is unavailable.
    pub(crate) downstream_error: Option<String>,
}

impl StreamObservation {
    /// The status before the stream has started.
    pub(crate) fn before_start(direction: Direction) -> Self {
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
            applied_markers: HashMap::new(),
            applied_rows: 0,
            wal_end: Lsn::ZERO,
            downstream_error: None,
        }
    }

    /// Records that the upstream WAL reaches at least to `end`.
    pub(super) fn advance_wal_end(&mut self, end: Lsn) {
        self.wal_end = self.wal_end.max(end);
        self.status.written_at = self
            .wal_end
            .bytes_since(Lsn::ZERO)
            .try_into()
            .unwrap_or(i64::MAX);
    }

    /// Records that every change before `position` is applied.
    pub(super) fn advance_applied_position(&mut self, position: Lsn) {
        let bytes = position
            .bytes_since(Lsn::ZERO)
            .try_into()
            .unwrap_or(i64::MAX);
        self.status.applied_at = self.status.applied_at.max(bytes);
    }
}
