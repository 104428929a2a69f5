//! The step `unwind`, and `drop_new` after a rollback: the source accepts writes, and objects that could not be removed
//! are listed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unwound {
    /// Objects that could not be removed; `shardwright cleanup` removes them later.
    #[serde(default)]
    pub leftovers: Vec<LeftObject>,
    /// What the operator must know about a target that was a standby.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An object of the migration that remains on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftObject {
    /// The name of the shard.
    pub shard: String,
    /// The kind and the name of the object.
    pub object: String,
    /// Why it could not be removed.
    pub why: String,
}
