//! Drop old: only after COMPLETED is decided, with both streams stopped (I8).

use serde::{Deserialize, Serialize};

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dropped {
    /// Rows deleted from the shard that no longer owns them.
    pub rows: i64,
}
