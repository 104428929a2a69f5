//! Writes to a standby that becomes the target of a seeded move. No such write may succeed before the flip, and writes to
//! staying keys may never succeed.

use plans::id::ShardName;
use plans::key::Key;
use serde::{Deserialize, Serialize};

/// A write that the server accepted although it did not own the key. The client rolled it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedWrite {
    /// The shard.
    pub shard: ShardName,
    /// The shard key of the row.
    pub key: Key,
}

/// How often a client tried to write to a shard that did not own the keys, by the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedWrites {
    /// The shard.
    pub shard: ShardName,
    /// The number of writes that were refused because the server was a standby.
    pub read_only: u64,
    /// The number of writes that a guard refused.
    pub by_guard: u64,
    /// The number of writes that failed for another reason, for example because the server did not answer.
    pub failed: u64,
}
