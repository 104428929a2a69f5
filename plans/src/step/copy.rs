//! Copy: the moving rows, unit by unit, in chunks that are durable one by one.
//!
//! A unit is copied with one snapshot; a chunk's rows and its DONE mark commit together on the target.
//! A crash of the agent costs the chunks in flight; a crash of the source costs the units that are not done.

use serde::{Deserialize, Serialize};

/// What was copied.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Copied {
    /// Rows on the target.
    pub rows: i64,
    /// Bytes that went over the wire in chunks that count.
    pub bytes: i64,
    /// Bytes of chunks that had been begun before and were copied again.
    pub bytes_twice: i64,
    /// Bytes of the largest chunk: an interruption costs at most one for each stream.
    #[serde(default)]
    pub largest_chunk_bytes: i64,
    /// Units that the tables were divided into.
    #[serde(default)]
    pub units: i64,
    /// Snapshots that they were copied with.
    #[serde(default)]
    pub snapshots: i64,
    /// Wall time, seconds, from the first chunk to the last.
    pub seconds: f64,
}
