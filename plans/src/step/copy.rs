//! The step `copy`: copies the moving rows unit by unit, in chunks that each commit on their own.
//!
//! Each unit is copied with one snapshot. A chunk's rows and its DONE record commit together on the target. If the
//! agent dies, only the unfinished chunks are copied again. If the source crashes, all units that are not done are
//! copied again.

use serde::{Deserialize, Serialize};

use crate::identity::DatabaseIdentity;

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Copied {
    /// The number of rows on the target.
    pub rows: i64,
    /// The bytes that were transferred in chunks that committed.
    pub bytes: i64,
    /// The bytes of chunks that had been begun before and were copied again.
    pub bytes_twice: i64,
    /// The bytes of the largest chunk. An interruption costs at most one chunk for each COPY session.
    #[serde(default)]
    pub largest_chunk_bytes: i64,
    /// The number of units into which the tables were divided.
    #[serde(default)]
    pub units: i64,
    /// The number of snapshots that were used.
    #[serde(default)]
    pub snapshots: i64,
    /// The time from the first to the last chunk, in seconds.
    pub seconds: f64,
    /// The server of the target on which the rows are, if the agent has recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<DatabaseIdentity>,
    /// What was compared because captured changes had been lost. `None` if none had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resync: Option<Resynced>,
}

/// The result of the comparison of copied rows with the source after captured changes had been lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Resynced {
    /// The number of times that tables were compared. A table counts once for each lost slot.
    pub tables: i64,
    /// The rows of the source that were compared.
    pub rows: i64,
    /// The rows that were deleted on the target, because the source had no such row any more or another version of it.
    pub deleted: i64,
    /// The rows that were copied again.
    pub copied: i64,
    /// The bytes of these rows.
    pub bytes: i64,
}
