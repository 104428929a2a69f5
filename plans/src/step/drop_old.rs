//! Drop old: only after COMPLETED is decided, with both streams stopped (I8).

use serde::{Deserialize, Serialize};

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dropped {
    /// Rows removed from the shard that no longer owns them.
    pub rows: i64,
    /// Bytes given back to the file system, where a table was emptied or dropped as a whole.
    #[serde(default)]
    pub bytes_freed: i64,
    /// Bytes that deleted rows leave in the tables' files: reused by later rows, given back only by a rewrite.
    #[serde(default)]
    pub bytes_bloat: i64,
    /// Commands that give them back.
    #[serde(default)]
    pub reclaim: Vec<String>,
}
