//! The check of a map. It consists of tasks, which agents execute on the shards; then the results are combined. The
//! check writes nothing.
//!
//! [`first_tasks`] returns the first tasks for every shard, [`follow_up`] further tasks for keys that were found on the
//! wrong shard, and [`combine`] the defects. Each task is independent and can be repeated, so a check can be resumed.
//! [`RepairRequest`] contains the repairs, and an agent carries them out with a [`RepairTask`].

mod combine;
mod defect;
pub mod defects;
mod drift;
mod repair;
mod schema;
mod sequences;
mod shared;
mod tasks;

pub use combine::{combine, not_examined, surplus_rows};
pub use defect::{Defect, DefectKind};
pub use repair::{Repair, RepairError, RepairRequest, RepairResult, RepairTask};
pub use schema::{SchemaFact, schema_differences};
pub use sequences::{ObservedSequence, overlap};
pub use tasks::{UnfinishedMoves, first_tasks, follow_up};

use crate::fleet::ShardRef;
use crate::id::{MapName, ShardName};
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::shard_map::MapSettings;
use crate::table::TableName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The maximum number of keys that the result of a task or a defect names.
pub const MAX_SAMPLE_KEYS: usize = 100;

/// One task of a check: one subject on one shard. In JSON the field `look` contains the subject, an object whose tag
/// has the same name, `look`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckTask {
    /// The map.
    pub map: MapName,
    /// The shard that is checked.
    pub shard: ShardRef,
    /// The types of the key's columns.
    pub key: Vec<KeyType>,
    /// The settings of the map.
    pub settings: MapSettings,
    /// The keys that the shard owns.
    pub owned: KeySet,
    /// The keys that any shard owns.
    pub mapped: KeySet,
    /// The moving keys of unfinished migrations. Their rows are intentionally on two shards.
    #[serde(rename = "under_way")]
    pub moving_keys: KeySet,
    /// True if the shard is the target of an unfinished migration that is seeded from a standby: it still has rows whose
    /// keys other shards own, and `drop_surplus` will delete them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_surplus: bool,
    /// What is checked.
    #[serde(rename = "look")]
    pub subject: CheckSubject,
}

/// The subject of a task of a check. In JSON the tag `look` contains the variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "look", rename_all = "snake_case")]
pub enum CheckSubject {
    /// Rows of a table whose key the shard does not own.
    Rows {
        /// The table.
        table: TableName,
    },
    /// Rows of schemas or groups of tables that the shard does not own.
    WholeTables,
    /// The definitions of all tables of the map.
    Schema,
    /// The rows of the reference tables.
    Reference,
    /// The guards of released keys.
    Guards,
    /// The sequences of the map's tables.
    Sequences,
    /// Which of these keys have rows on the shard. Rows of each key were found on another shard.
    Present {
        /// The keys.
        keys: Vec<Key>,
    },
}

impl fmt::Display for CheckSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { table } => write!(f, "rows of {table}"),
            Self::WholeTables => f.write_str("rows of schemas and groups"),
            Self::Schema => f.write_str("definitions of the tables"),
            Self::Reference => f.write_str("rows of the reference tables"),
            Self::Guards => f.write_str("guards"),
            Self::Sequences => f.write_str("sequences"),
            Self::Present { keys } => write!(f, "rows of {} key(s)", keys.len()),
        }
    }
}

/// The result of one task. In JSON the field `seen` contains it, an object whose tag has the same name, `seen`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckTaskResult {
    /// The shard.
    pub shard: ShardName,
    /// The result for the subject.
    #[serde(rename = "seen")]
    pub result: SubjectResult,
}

/// What a task of a check found, also if the shard has no defect. In JSON the tag `seen` contains the variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum SubjectResult {
    /// The result for [`CheckSubject::Rows`].
    Rows(StrayRows),
    /// The result for [`CheckSubject::WholeTables`].
    WholeTables {
        /// The tables with rows that the shard does not own.
        tables: Vec<StrayRows>,
    },
    /// The result for [`CheckSubject::Schema`].
    Schema {
        /// Every table that the map lists.
        tables: Vec<ObservedTable>,
    },
    /// The result for [`CheckSubject::Reference`].
    Reference {
        /// Every reference table that exists.
        tables: Vec<ObservedReference>,
    },
    /// The result for [`CheckSubject::Guards`].
    Guards {
        /// Every guard that is missing or altered.
        broken: Vec<ObservedGuard>,
    },
    /// The result for [`CheckSubject::Sequences`].
    Sequences {
        /// Every sequence that supplies values for a column of the map's tables.
        sequences: Vec<ObservedSequence>,
    },
    /// The result for [`CheckSubject::Present`].
    Present {
        /// Those keys of which any table has rows.
        keys: Vec<KeyRows>,
    },
}

impl SubjectResult {
    /// Returns the rows that do not belong to their shard, by table.
    pub(crate) fn stray_rows(&self) -> &[StrayRows] {
        match self {
            Self::Rows(rows) => std::slice::from_ref(rows),
            Self::WholeTables { tables } => tables,
            Self::Schema { .. }
            | Self::Reference { .. }
            | Self::Guards { .. }
            | Self::Sequences { .. }
            | Self::Present { .. } => &[],
        }
    }
}

/// Rows of a table that do not belong to the shard.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StrayRows {
    /// `schema.name`.
    pub table: String,
    /// The number of rows whose key another shard owns.
    pub stray: u64,
    /// Keys of these rows, at most [`MAX_SAMPLE_KEYS`].
    pub stray_keys: Vec<KeyRows>,
    /// The number of rows whose key no shard owns.
    pub unmapped: u64,
    /// Keys of these rows, at most [`MAX_SAMPLE_KEYS`].
    pub unmapped_keys: Vec<KeyRows>,
    /// The number of rows without a parent, and therefore without a key.
    pub orphans: u64,
    /// The number of rows whose key another shard owns and that `drop_surplus` will delete. They are no stray rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub surplus: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Rows of a table on the target of an unfinished migration that is seeded from a standby. Other shards own their keys,
/// and the step `drop_surplus` deletes them. They are no defect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SurplusRows {
    /// The shard.
    pub shard: ShardName,
    /// `schema.name`.
    pub table: String,
    /// The number of rows.
    pub rows: u64,
}

/// A key and the number of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRows {
    /// The key.
    pub key: Key,
    /// The number of rows.
    pub rows: u64,
}

/// A table's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedTable {
    /// `schema.name`.
    pub table: String,
    /// All parts of the definition; empty: the table does not exist.
    pub facts: Vec<SchemaFact>,
}

/// The rows of a reference table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedReference {
    /// `schema.name`.
    pub table: String,
    /// The number of rows.
    pub rows: u64,
    /// A digest of all rows, which does not depend on their order.
    pub digest: String,
}

/// A table whose guard of released keys is missing or altered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedGuard {
    /// The table.
    pub table: TableName,
    /// For each trigger: missing, disabled or altered.
    pub problem: String,
    /// The keys that the guard must refuse.
    pub keys: KeySet,
}
