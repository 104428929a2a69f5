//! Copy: the moving rows as one snapshot sees them, in chunks that are durable one by one.
//!
//! A chunk's rows and its DONE mark commit together on the target.
//! A crash of the agent costs the chunks in flight; a crash of the source starts over from `open_capture`.

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
    /// Wall time, seconds, from the first chunk to the last.
    pub seconds: f64,
}
