//! The sweep: finds objects of Shardwright that belong to no unfinished migration, and decides what happens to each,
//! with the reason why this is safe.
//!
//! A register or guard that refuses keys may be the only thing that prevents two owners. It is removed only if the map
//! or the operator determines the owner: on the owner it is removed, on other shards the refusal is made permanent
//! first. Slots, publications and sessions refuse nothing, and are always removed.

mod decide;

pub use decide::decide_sweeps;

use crate::fleet::ShardRef;
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::shard_map::ShardMap;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a sweep does with an object.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SweepVerdict {
    /// It is removed.
    Remove,
    /// It is removed once another guard refuses its keys permanently.
    Close,
    /// It stays, because it is needed or is not Shardwright's.
    Keep,
    /// An operator must decide which shard owns the keys.
    Decide,
}

/// An object, and what happens to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leftover {
    /// The shard on which it is.
    pub shard: ShardName,
    /// The kind and the name.
    pub object: String,
    /// What happens to it.
    pub verdict: SweepVerdict,
    /// Why this is safe, or what the operator must decide.
    pub why: String,
}

/// The data of the control store and the statements of the operator by which a sweep decides.
#[derive(Debug, Clone, Default)]
pub struct SweepInput {
    /// The maps in force.
    pub maps: Vec<Arc<ShardMap>>,
    /// The migrations that have not ended.
    pub unfinished: BTreeSet<MigrationId>,
    /// The owner of all closed keys of a map, according to the operator.
    pub owners: BTreeMap<MapName, ShardName>,
    /// The random id of this control store.
    pub incarnation: String,
    /// For each slot that this control store recorded before `standby create` created it: the shard that streams from it,
    /// or is going to.
    pub standby_slots: BTreeMap<String, ShardName>,
    /// Of these the slots from which registered standbys stream.
    pub needed_slots: BTreeSet<String>,
}

/// The sweeps of an agent on one shard, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepTask {
    /// The shard.
    pub shard: ShardRef,
    /// The sweeps.
    pub sweeps: Vec<Sweep>,
}

/// One sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "sweep", rename_all = "snake_case")]
pub enum Sweep {
    /// Removes objects that a migration left.
    Migration {
        /// The migration.
        migration: MigrationId,
        /// What happens to register, guards and rows; `None`: they stay.
        guards: Option<Guards>,
    },
    /// Removes the guard of all released keys of a map, because this shard owns them again.
    #[serde(rename = "away")]
    ReleasedKeys {
        /// The map.
        map: MapName,
    },
    /// Removes publications that measurements of the load left.
    #[serde(rename = "looks")]
    Probes,
    /// Drops physical slots from which no standby streams any more.
    StandbySlots {
        /// The names of the slots.
        slots: Vec<String>,
    },
}

/// How a migration's register and guards are removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guards {
    /// The map.
    pub map: MapName,
    /// The least map version that the permanent guard records.
    pub version: i64,
    /// The keys that stay refused permanently; `None`: none.
    pub refuse: Option<KeySet>,
    /// The moving keys.
    pub keys: Option<KeySet>,
    /// The moving tables.
    pub tables: Vec<MovingTable>,
    /// True to also remove the rows and tables that the migration created on this shard, because it never owned the
    /// keys.
    #[serde(rename = "brought")]
    pub copied: bool,
    /// Other ended migrations of the same keys that left objects on this shard and never opened it. Their copied rows
    /// may be removed too.
    pub left_too: Vec<MigrationId>,
}

/// The result of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Swept {
    /// What was done, one line each, for people.
    pub done: Vec<String>,
}

#[cfg(test)]
mod tests;
