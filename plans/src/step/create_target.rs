//! Create target: the moving tables stand on the target, guarded and closed, and hold none of the moving keys.
//!
//! On an empty database the source's whole schema is created; on a live shard the tables must be equal.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TargetCreated {
    /// True when the tables were created; false on a live shard.
    pub created: bool,
    /// Objects of the source's schema that were read.
    pub objects: usize,
    /// Foreign keys of reference tables cascade into moving rows, and may skip them where a shard does not own these:
    /// only agents of protocol [`crate::wire::CASCADES`] go on with the migration, which ask what was skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cascades: bool,
}

impl TargetCreated {
    /// Whether the step's `output` says that the target had the moving tables before.
    #[must_use]
    pub fn existed(output: Option<&Value>) -> bool {
        let target = output.and_then(|output| Self::deserialize(output).ok());
        target.is_some_and(|target| !target.created)
    }
}
