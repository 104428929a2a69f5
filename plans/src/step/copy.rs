//! The step `copy`: copies the moving rows unit by unit, in chunks that each commit on their own.
//!
//! Each unit is copied with one snapshot. A chunk's rows and its DONE record commit together on the target. If the
//! agent dies, only the unfinished chunks are copied again. If the source crashes, all units that are not done are
//! copied again.

use serde::{Deserialize, Serialize};

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
}
