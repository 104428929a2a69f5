//! The inventory: all objects of Shardwright on one shard in one snapshot, for the search for leftover objects and for
//! the reconciler.
//!
//! An object counts as Shardwright's if its name and its form match. An object with a similar name only is listed
//! separately and is never changed. This module does not decide what happens to objects; `sweep` and `reconcile` do.

mod activity;

pub use activity::{
    ActiveSlot, ActiveStandby, ActivityPart, MAX_MEASURED_TABLES, MeasuredTable, ServerActivity,
    UnreadablePart,
};

use crate::fleet::ShardRef;
use crate::id::{MapName, MigrationId, ShardName};
use crate::identity::DatabaseIdentity;
use crate::key_set::KeySet;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The value of a register that is closed without a time limit.
pub const CLOSED: i64 = i64::MAX;

/// The task to read the inventory. It changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InventoryTask {
    /// The shard.
    pub shard: ShardRef,
}

/// The description of a migration, which it stores on both shards. From it a lost control store can be reconstructed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The random id of the control store that started the migration.
    pub incarnation: String,
    /// The source of the migration.
    pub source: ShardName,
    /// The target of the migration.
    pub target: ShardName,
    /// The moving keys.
    pub keys: KeySet,
    /// The moving tables.
    pub tables: Vec<MovingTable>,
}

impl About {
    /// Returns whether this migration and one of `tables` move whole tables, and none in common.
    #[must_use]
    pub fn moves_other_whole_tables(&self, tables: &[MovingTable]) -> bool {
        let is_whole = |table: &MovingTable| table.whole_key().is_some();
        let mut own = self.tables.iter().filter(|table| !table.is_reference());
        let is_other = |own: &MovingTable| {
            is_whole(own) && tables.iter().all(|table| table.table != own.table)
        };
        !self.tables.is_empty() && tables.iter().any(is_whole) && own.all(is_other)
    }
}

/// The inventory of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// The shard.
    pub shard: ShardName,
    /// The identity of the database (I10).
    pub server: DatabaseIdentity,
    /// The position up to which the log is flushed, in bytes. On one timeline it never decreases.
    pub flushed: u64,
    /// The version and the size of the database. An agent of an earlier version does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<DatabaseFigures>,
    /// What the server does at the moment. An agent of an earlier version does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Box<ServerActivity>>,
    /// The objects of Shardwright.
    pub objects: Vec<Object>,
    /// Objects with similar names that are not Shardwright's.
    pub similar: Vec<Similar>,
    /// The migrations that the shard knows.
    pub moves: Vec<ObservedMove>,
    /// The released keys that the shard refuses, by map.
    #[serde(rename = "away")]
    pub released_keys: Vec<ReleasedKeys>,
    /// The moves in which the shard released keys.
    #[serde(rename = "given")]
    pub released_moves: Vec<ReleasedMove>,
}

/// The version and the size of a shard's database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseFigures {
    /// The version of PostgreSQL, for example `17.2`.
    pub version: String,
    /// The size of the database on disk, in bytes.
    pub bytes: u64,
}

/// The kind of an object of Shardwright.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A replication slot.
    Slot,
    /// A publication.
    Publication,
    /// A guard trigger.
    Trigger,
    /// An event trigger.
    EventTrigger,
    /// A function in the schema `shardwright`.
    Function,
    /// A migration's register: the sequence that opens and closes its keys.
    Register,
    /// Another sequence of a migration: it counts refused writes, or belongs to cascades.
    Refusals,
    /// The rows of a migration in the tables of the schema `shardwright`.
    Rows,
    /// A name in `synchronous_standby_names`, for which commits wait.
    StandbyName,
    /// A session.
    Session,
    /// The schema `shardwright`.
    Schema,
}

impl ObjectKind {
    /// Returns the name in JSON and on pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slot => "slot",
            Self::Publication => "publication",
            Self::Trigger => "trigger",
            Self::EventTrigger => "event_trigger",
            Self::Function => "function",
            Self::Register => "register",
            Self::Refusals => "refusals",
            Self::Rows => "rows",
            Self::StandbyName => "standby_name",
            Self::Session => "session",
            Self::Schema => "schema",
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An object of Shardwright.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Object {
    /// The kind.
    pub kind: ObjectKind,
    /// Its name.
    pub name: String,
    /// The table to which it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The owner of the object.
    pub whose: ObjectOwner,
}

/// The owner of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectOwner {
    /// A migration.
    Migration(MigrationId),
    /// It guards released keys.
    #[serde(rename = "away")]
    ReleasedKeys,
    /// An inspection created it and should have removed it. The session that created it has ended.
    #[serde(rename = "look")]
    Probe,
    /// A running inspection uses it.
    #[serde(rename = "live_look")]
    LiveProbe,
    /// It is the physical slot of a standby that `standby create` creates or has created.
    Standby {
        /// True if a server streams from it, or a session is creating the standby.
        in_use: bool,
    },
    /// It belongs to no single migration.
    Shared,
}

/// An object whose name is similar to those of Shardwright's objects, but whose form is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Similar {
    /// The kind and the name.
    pub object: String,
    /// How it differs from an object of Shardwright.
    pub why: String,
}

/// The row of a migration on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedMove {
    /// The migration.
    pub migration: MigrationId,
    /// `source` or `target`.
    pub role: String,
    /// The epoch of the last agent that wrote.
    pub epoch: i64,
    /// The counter of attempts on this shard.
    pub attempt: i64,
    /// The map.
    pub map: MapName,
    /// The map version when the migration began on this shard.
    pub map_version: i64,
    /// The map version of the last flip that this shard has recorded.
    pub flipped: Option<i64>,
    /// The value of the register; `None`: the shard has no register of this migration, or no longer has one.
    pub register: Option<i64>,
    /// The number of existing guard triggers that are `ENABLE ALWAYS`.
    pub guards: u32,
    /// True if an agent has opened this shard, and the shard has recorded no flip since.
    pub owns: bool,
    /// True if the migration created tables or rows on this shard.
    #[serde(rename = "brought")]
    pub copied: bool,
    /// The migration's description of itself.
    pub about: Option<About>,
}

impl ObservedMove {
    /// Returns true if the shard refuses the keys without a time limit.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.register == Some(CLOSED) && self.guards > 0
    }

    /// Returns the number of the newest cutover attempt.
    #[must_use]
    pub fn newest_attempt(&self) -> i64 {
        self.attempt / COUNTS_PER_ATTEMPT
    }
}

/// The number of counter values that one cutover attempt may use on a shard: its own, then those of its releases and
/// recoveries.
pub const COUNTS_PER_ATTEMPT: i64 = 1000;

/// Keys of one map that a shard has released and refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasedKeys {
    /// The map.
    pub map: MapName,
    /// The keys.
    pub keys: KeySet,
    /// The map version of the newest flip that released keys.
    pub version: i64,
    /// The number of existing guard triggers that are `ENABLE ALWAYS`.
    pub guards: u32,
}

/// A completed move that released keys of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasedMove {
    /// The map.
    pub map: MapName,
    /// The map version that the flip created.
    pub version: i64,
    /// The keys, without those that the shard received again later.
    pub keys: KeySet,
    /// The shard that received the keys.
    pub to: ShardName,
    /// The migration.
    pub migration: MigrationId,
}

/// An earlier observation of a server, with which the next probe is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedServer {
    /// The number of the shard in the fleet.
    pub number: i32,
    /// The identity of the database.
    pub server: DatabaseIdentity,
    /// The end of the log at that time, in bytes.
    pub flushed: u64,
    /// The greatest number of bytes by which the log ended before an end that was observed earlier; 0 if this never
    /// happened, or if an operator has accepted the server since.
    pub missing: u64,
}

impl ObservedServer {
    /// Returns how many bytes of log the server lacks, now or at an earlier probe: more than 0 if it was restored from
    /// a copy. `flushed` is the current end of its log.
    #[must_use]
    pub fn missing_bytes(&self, flushed: u64) -> u64 {
        self.missing.max(self.flushed.saturating_sub(flushed))
    }
}
