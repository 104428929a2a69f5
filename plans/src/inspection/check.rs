//! The check of a map: part by part on the shards, then put together, without a write anywhere.
//!
//! Order: [`questions`] for every shard, [`follow_up`] for keys that were found on the wrong one,
//! [`combine`] for the defects. Each part can be asked by itself and again, so a check can be resumed.
//! [`RepairRequest`] has what mends them; an agent mends by [`RepairTask`].

mod ask;
mod combine;
mod defect;
pub mod defects;
mod drift;
mod mend;
mod schema;
mod sequences;
mod shared;

pub use ask::{follow_up, questions};
pub use combine::{combine, not_examined};
pub use defect::{Defect, DefectKind};
pub use mend::{Repair, RepairError, RepairRequest, RepairResult, RepairTask};
pub use schema::{SchemaFact, schema_differences};
pub use sequences::{ObservedSequence, overlap};

use crate::fleet::ShardRef;
use crate::id::{MapName, ShardName};
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::shard_map::MapSettings;
use crate::table::TableName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How many keys a part or a defect names.
pub const SAMPLE: usize = 100;

/// One part of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckTask {
    /// The map.
    pub map: MapName,
    /// The shard that is looked at.
    pub shard: ShardRef,
    /// Types of the key's columns.
    pub key: Vec<KeyType>,
    /// What the map says of its tables.
    pub settings: MapSettings,
    /// What the shard owns.
    pub owned: KeySet,
    /// What all shards own.
    pub mapped: KeySet,
    /// Keys of migrations that have not ended: their rows are on two shards by intent.
    #[serde(rename = "under_way")]
    pub moving_keys: KeySet,
    /// What to look at.
    #[serde(rename = "look")]
    pub subject: CheckSubject,
}

/// What a part looks at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum CheckSubject {
    /// Rows of a table whose key the shard does not own.
    Rows {
        /// The table.
        table: TableName,
    },
    /// The definition of every table of the map.
    Schema,
    /// The rows of the reference tables.
    Reference,
    /// The guards of keys that the shard gave away.
    Guards,
    /// The sequences of the map's tables.
    Sequences,
    /// Whether there are rows of these keys, which another shard has rows of.
    Present {
        /// The keys.
        keys: Vec<Key>,
    },
}

impl fmt::Display for CheckSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { table } => write!(f, "rows of {table}"),
            Self::Schema => f.write_str("definitions of the tables"),
            Self::Reference => f.write_str("rows of the reference tables"),
            Self::Guards => f.write_str("guards"),
            Self::Sequences => f.write_str("sequences"),
            Self::Present { keys } => write!(f, "rows of {} key(s)", keys.len()),
        }
    }
}

/// Answer to one part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The shard.
    pub shard: ShardName,
    /// What is there.
    #[serde(rename = "seen")]
    pub finding: CheckFinding,
}

/// What a part found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum CheckFinding {
    /// Answer to [`CheckSubject::Rows`].
    Rows(StrayRows),
    /// Answer to [`CheckSubject::Schema`].
    Schema {
        /// Every table that the map lists.
        tables: Vec<ObservedTable>,
    },
    /// Answer to [`CheckSubject::Reference`].
    Reference {
        /// Every reference table that is there.
        tables: Vec<ObservedReference>,
    },
    /// Answer to [`CheckSubject::Guards`].
    Guards {
        /// Every guard that should stand and does not.
        broken: Vec<ObservedGuard>,
    },
    /// Answer to [`CheckSubject::Sequences`].
    Sequences {
        /// Every sequence that feeds a column of the map's tables.
        sequences: Vec<ObservedSequence>,
    },
    /// Answer to [`CheckSubject::Present`].
    Present {
        /// Those keys that have rows in any table.
        keys: Vec<KeyRows>,
    },
}

/// Rows of a table that do not belong on the shard.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StrayRows {
    /// `schema.name`.
    pub table: String,
    /// Rows whose key another shard owns.
    pub stray: u64,
    /// Some of their keys.
    pub stray_keys: Vec<KeyRows>,
    /// Rows whose key nobody owns.
    pub unmapped: u64,
    /// Some of their keys.
    pub unmapped_keys: Vec<KeyRows>,
    /// Rows without a parent, and so without a key.
    pub orphans: u64,
}

/// A key with a number of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRows {
    /// The key.
    pub key: Key,
    /// Its rows.
    pub rows: u64,
}

/// A table's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedTable {
    /// `schema.name`.
    pub table: String,
    /// Everything about it; nothing: it is not there.
    pub facts: Vec<SchemaFact>,
}

/// A reference table's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedReference {
    /// `schema.name`.
    pub table: String,
    /// Its rows.
    pub rows: u64,
    /// Digest over all of them, in no order.
    pub digest: String,
}

/// A table whose guard of keys that were given away is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedGuard {
    /// The table.
    pub table: TableName,
    /// Missing, disabled or altered, trigger by trigger.
    pub problem: String,
    /// The keys that it should refuse.
    pub keys: KeySet,
}
