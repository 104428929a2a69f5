//! The tasks of a conversion, by which a map gets another strategy or another key (ADR 78): an agent reads the keys of a
//! shard, and replaces the guard of its released keys.
//!
//! Each task proves the epoch of the conversion on the shard (I7), as the steps of a migration do, and can be repeated.

use crate::fleet::ShardRef;
use crate::id::{MapName, MapVersion, MigrationId};
use crate::key::KeyType;
use crate::key_set::KeySet;
use crate::shard_map::MapSettings;
use serde::{Deserialize, Serialize};

/// The maximum number of keys that the shards of a converted map can have in total.
pub const MAX_CONVERTED_KEYS: usize = 1_000_000;

/// The maximum size of the keys of one shard as JSON, in bytes. The controller accepts 16 MiB in one request.
pub const MAX_CONVERTED_BYTES: usize = 12 << 20;

/// One task of a conversion on one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertTask {
    /// The shard.
    pub shard: ShardRef,
    /// The id of the conversion. On the shard it takes the place of the id of a migration.
    pub conversion: MigrationId,
    /// The epoch of the conversion.
    pub epoch: i64,
    /// The map.
    pub map: MapName,
    /// The version of the map before the conversion.
    pub before: MapVersion,
    /// The division of the tables after the conversion.
    pub division: Division,
    /// What the agent does.
    pub phase: ConversionPhase,
}

/// How the rows of a map's tables get their keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Division {
    /// The types of the key's columns.
    pub key: Vec<KeyType>,
    /// The settings, which name the tables and their key columns.
    pub settings: MapSettings,
}

/// What an agent does on a shard for a conversion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum ConversionPhase {
    /// Reads the keys of the rows, after it has enrolled the conversion.
    Read(Box<KeyReading>),
    /// Creates or replaces the guard of the conversion, and reads the keys that are on the shard nevertheless.
    Close {
        /// The keys that the shard refuses: those that other shards get.
        refused: KeySet,
    },
    /// Replaces the guard of released keys and removes the guard of the conversion.
    Finish {
        /// The keys that other shards own.
        refused: KeySet,
        /// The version that the conversion created.
        version: MapVersion,
    },
    /// Removes the guard of the conversion. The guard of released keys stays as it was.
    Withdraw,
}

/// The first reading of the keys of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyReading {
    /// False to only read.
    pub enrol: bool,
    /// The division before the conversion.
    pub before: Division,
    /// The keys that the shard owns before the conversion.
    pub owned: KeySet,
    /// An empty set of the strategy to which the map is converted.
    pub empty: KeySet,
}

/// The result of a task of a conversion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvertedShard {
    /// Keys with rows on the shard: all after [`ConversionPhase::Read`], the refused ones after
    /// [`ConversionPhase::Close`].
    pub keys: Option<KeySet>,
    /// The number of these keys.
    pub count: u64,
}
