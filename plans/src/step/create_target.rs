//! Create target: the moving tables stand on the target, guarded and closed, and hold none of the moving keys.
//!
//! On an empty database the source's whole schema is created; on a live shard the tables must be equal.

use serde::{Deserialize, Serialize};

/// What was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TargetCreated {
    /// True when the tables were created; false on a live shard.
    pub created: bool,
    /// Objects of the source's schema that were read.
    pub objects: usize,
}
