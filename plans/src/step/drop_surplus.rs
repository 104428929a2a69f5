//! The step `drop_surplus`: deletes the rows of a seeded target whose keys the target does not own, in throttled batches.
//!
//! A standby contains all rows of the source. The guard of released keys refuses writes to the keys of surplus rows from
//! the step `promote` on.

use serde::{Deserialize, Serialize};

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SurplusDropped {
    /// The number of rows that were deleted from the target.
    pub rows: i64,
    /// As [`super::drop_old::Dropped::bytes_bloat`].
    #[serde(default)]
    pub bytes_bloat: i64,
    /// SQL commands that return these bytes.
    #[serde(default)]
    pub reclaim: Vec<String>,
}
