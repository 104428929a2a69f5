//! The orphan sweep: what of ours stands on the shards that no live migration explains, what is done
//! about each, and why that is safe.
//!
//! A register or guard that refuses keys may be what keeps two shards from owning them. It goes only where
//! the map, or the operator, says who owns the keys: on the owner it is removed, elsewhere the refusal is made
//! permanent. Slots, publications and sessions refuse nothing and always go.

mod judge;

pub use judge::judge;

use crate::fleet::ShardRef;
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::shard_map::ShardMap;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What becomes of an object.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SweepVerdict {
    /// It goes.
    Remove,
    /// It goes once its keys are refused for good by another guard.
    Close,
    /// It stays: it is needed, or not ours.
    Keep,
    /// Somebody has to say who owns the keys.
    Decide,
}

/// One object and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leftover {
    /// Where it is.
    pub shard: ShardName,
    /// What it is, with its name.
    pub object: String,
    /// What becomes of it.
    pub verdict: SweepVerdict,
    /// Why that is safe, or what is to be decided.
    pub why: String,
}

/// What the control store and the operator know.
#[derive(Debug, Clone, Default)]
pub struct SweepInput {
    /// The maps in force.
    pub maps: Vec<Arc<ShardMap>>,
    /// Migrations that have not ended.
    pub live: BTreeSet<MigrationId>,
    /// Who owns all keys of a map that are closed somewhere, as the operator says.
    pub owners: BTreeMap<MapName, ShardName>,
    /// Random id of this control store.
    pub incarnation: String,
}

/// What an agent does on one shard, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepTask {
    /// The shard.
    pub shard: ShardRef,
    /// What to sweep.
    pub sweeps: Vec<Sweep>,
}

/// One thing to sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sweep", rename_all = "snake_case")]
pub enum Sweep {
    /// What a migration left.
    Migration {
        /// The migration.
        migration: MigrationId,
        /// What becomes of register, guards and rows; none: they stay.
        guards: Option<Guards>,
    },
    /// The guard of all keys of a map that were given away; this shard owns them again.
    #[serde(rename = "away")]
    ReleasedKeys {
        /// The map.
        map: MapName,
    },
    /// Publications that a look at the load left.
    #[serde(rename = "looks")]
    Probes,
}

/// How a migration's register and guards go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guards {
    /// The map.
    pub map: MapName,
    /// The version that the permanent guard names at least.
    pub version: i64,
    /// Keys that stay refused for good; empty: none.
    pub refuse: Option<KeySet>,
    /// The moving keys.
    pub keys: Option<KeySet>,
    /// The migration's tables.
    pub tables: Vec<MovingTable>,
    /// Rows and tables that it brought here go too: the shard never owned the keys.
    #[serde(rename = "brought")]
    pub copied: bool,
    /// Other migrations about the same keys that were left on this shard, and never opened it: what they brought may
    /// go along.
    pub left_too: Vec<MigrationId>,
}

/// What a sweep did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Swept {
    /// What was done, line by line, for people.
    pub done: Vec<String>,
}

#[cfg(test)]
mod tests;
