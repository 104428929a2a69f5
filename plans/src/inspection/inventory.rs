//! Everything of ours on one shard, as one look sees it: for the orphan sweep and for the reconciler.
//!
//! An object counts as ours by its name and by its form. What only has a name like ours is listed apart
//! and is never touched. Absent: judging; `sweep` and `reconcile` do.

use crate::fleet::ShardRef;
use crate::id::{MapName, MigrationId, ShardName};
use crate::identity::DatabaseIdentity;
use crate::key_set::KeySet;
use crate::table::MovingTable;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A register that is closed for good.
pub const CLOSED: i64 = i64::MAX;

/// What to look at; nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InventoryTask {
    /// The shard.
    pub shard: ShardRef,
}

/// What a migration writes of itself on both shards, so that they can speak for a store that was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Random id of the control store that ordered it.
    pub incarnation: String,
    /// The shard that the keys leave.
    pub source: ShardName,
    /// The shard that they come to.
    pub target: ShardName,
    /// The keys.
    pub keys: KeySet,
    /// Its tables.
    pub tables: Vec<MovingTable>,
}

/// All that was seen on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// The shard.
    pub shard: ShardName,
    /// Which server it is (I10).
    pub server: DatabaseIdentity,
    /// The end of the log that is on its disk, bytes: on one timeline it never goes back.
    pub flushed: u64,
    /// Our objects.
    pub objects: Vec<Object>,
    /// Objects with names like ours that are not of our form.
    pub similar: Vec<Similar>,
    /// The migrations that are known there.
    pub moves: Vec<ObservedMove>,
    /// Keys that the shard gave away and refuses, by map.
    #[serde(rename = "away")]
    pub released_keys: Vec<ReleasedKeys>,
    /// Where keys went that the shard gave away.
    #[serde(rename = "given")]
    pub released_moves: Vec<ReleasedMove>,
}

/// What an object of ours is.
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
    /// A function in our schema.
    Function,
    /// The sequence that opens and closes keys.
    Register,
    /// A sequence beside the register: it counts refused writes, or is about cascades.
    Refusals,
    /// A migration's rows in our tables.
    Rows,
    /// A name in `synchronous_standby_names`, for which commits wait.
    StandbyName,
    /// A session.
    Session,
    /// The schema `shardwright`.
    Schema,
}

impl ObjectKind {
    /// The name in JSON and on screens.
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

/// One object of ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name.
    pub name: String,
    /// The table that it is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Whose it is.
    pub whose: Whose,
}

/// Whose an object is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// A migration's.
    Migration(MigrationId),
    /// It guards keys that were given away.
    #[serde(rename = "away")]
    ReleasedKeys,
    /// A look at the shard made it, and should have removed it; the session that made it is gone.
    #[serde(rename = "look")]
    Probe,
    /// A look at the shard uses it right now.
    #[serde(rename = "live_look")]
    LiveProbe,
    /// Shared by all.
    Shared,
}

/// Not ours, by its form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Similar {
    /// What it is, with its name.
    pub object: String,
    /// What is different from an object of ours.
    pub why: String,
}

/// A migration's row on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedMove {
    /// The migration.
    pub migration: MigrationId,
    /// `source` or `target`.
    pub role: String,
    /// The epoch of its last owner.
    pub epoch: i64,
    /// The shard's count of attempts.
    pub attempt: i64,
    /// The map.
    pub map: MapName,
    /// The map's version when the migration came here.
    pub map_version: i64,
    /// The version that last changed the owner of the keys.
    pub flipped: Option<i64>,
    /// The register; none: it has none here, or none any more.
    pub register: Option<i64>,
    /// Guard triggers that stand and are `ENABLE ALWAYS`.
    pub guards: u32,
    /// We opened the keys here last, and the shard was not told of a flip since.
    pub owns: bool,
    /// The migration brought tables or rows to this shard.
    #[serde(rename = "brought")]
    pub copied: bool,
    /// What the migration says of itself.
    pub about: Option<About>,
}

impl ObservedMove {
    /// True when the shard refuses the keys whatever time it is.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.register == Some(CLOSED) && self.guards > 0
    }

    /// The number of its newest cutover attempt.
    #[must_use]
    pub fn newest_attempt(&self) -> i64 {
        self.attempt / COUNTS_PER_ATTEMPT
    }
}

/// The counts that one cutover attempt may use on a shard: its own, then its releases and recoveries.
pub const COUNTS_PER_ATTEMPT: i64 = 1000;

/// Keys of one map that a shard refuses for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasedKeys {
    /// The map.
    pub map: MapName,
    /// The keys.
    pub keys: KeySet,
    /// The newest version that took keys.
    pub version: i64,
    /// Guard triggers that stand and are `ENABLE ALWAYS`.
    pub guards: u32,
}

/// A completed move away from a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleasedMove {
    /// The map.
    pub map: MapName,
    /// The version that the flip made.
    pub version: i64,
    /// The keys, without those that were given again later.
    pub keys: KeySet,
    /// The shard that took them.
    pub to: ShardName,
    /// The migration.
    pub migration: MigrationId,
}

/// Something that was seen on a server before, to compare the next look with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedServer {
    /// Its number in the fleet.
    pub number: i32,
    /// Which server it was.
    pub server: DatabaseIdentity,
    /// The end of its log then, bytes.
    pub flushed: u64,
    /// By how much its log once ended before the end seen earlier, bytes; 0 when it never did, or was accepted since.
    pub missing: u64,
}

impl ObservedServer {
    /// How many bytes of log the server lacks, if it was restored from a copy: now, or at an earlier look.
    #[must_use]
    pub fn lacks(&self, flushed: u64) -> u64 {
        self.missing.max(self.flushed.saturating_sub(flushed))
    }
}
