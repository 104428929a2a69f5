//! Verify: both sides at one exact point, digests first, rows where digests differ.

use serde::{Deserialize, Serialize};

/// What was compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Verified {
    /// Rows compared on the source.
    pub rows_compared: i64,
    /// Rows that differ or are missing on one side; a step with any fails.
    pub different: i64,
    /// The point in the source's log.
    pub at: String,
}
