//! Unwind, and `drop_new` after a roll back: the source takes writes, and what could not be removed is listed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was left behind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unwound {
    /// Objects that could not be removed; `shardwright cleanup` removes them later.
    #[serde(default)]
    pub leftovers: Vec<LeftObject>,
}

/// An object of the migration that stayed on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftObject {
    /// The shard.
    pub shard: String,
    /// What it is, with its name.
    pub object: String,
    /// Why it could not be removed.
    pub why: String,
}
