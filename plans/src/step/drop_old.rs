//! The step `drop_old`: removes the old rows, only after COMPLETED is recorded and both streams have ended (I8).

use serde::{Deserialize, Serialize};

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dropped {
    /// The number of rows that were removed from the old owner.
    pub rows: i64,
    /// The bytes returned to the file system, if a table was emptied or dropped as a whole.
    #[serde(default)]
    pub bytes_freed: i64,
    /// The bytes that deleted rows leave in the tables' files. Later rows reuse them; only a rewrite returns them to
    /// the file system.
    #[serde(default)]
    pub bytes_bloat: i64,
    /// SQL commands that return these bytes.
    #[serde(default)]
    pub reclaim: Vec<String>,
}
