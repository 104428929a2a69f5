//! A defect of a map, as the operator reads it.

use super::repair::Repair;
use crate::id::ShardName;
use crate::key::Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of a defect.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DefectKind {
    /// Keys between mappings that no shard owns.
    Gap,
    /// Keys that two mappings contain.
    Overlap,
    /// A mapping names a shard that is not registered.
    UnknownShard,
    /// Rows whose key another shard owns, which has no rows of it.
    StrayRow,
    /// Rows whose key no shard owns.
    UnmappedKey,
    /// A reference table whose rows differ between shards.
    ReferenceDrift,
    /// A table whose definition differs between shards.
    SchemaDrift,
    /// The guard of released keys is missing, disabled or altered.
    GuardMissing,
    /// One key has rows on two shards.
    KeyOnTwoShards,
    /// Two shards would issue the same values from a sequence.
    SequenceOverlap,
    /// A part of the check could not be carried out.
    NotExamined,
}

impl DefectKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Gap,
        Self::Overlap,
        Self::UnknownShard,
        Self::StrayRow,
        Self::UnmappedKey,
        Self::ReferenceDrift,
        Self::SchemaDrift,
        Self::GuardMissing,
        Self::KeyOnTwoShards,
        Self::SequenceOverlap,
        Self::NotExamined,
    ];

    /// Returns the name in reports and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Overlap => "overlap",
            Self::UnknownShard => "unknown_shard",
            Self::StrayRow => "stray_row",
            Self::UnmappedKey => "unmapped_key",
            Self::ReferenceDrift => "reference_drift",
            Self::SchemaDrift => "schema_drift",
            Self::GuardMissing => "guard_missing",
            Self::KeyOnTwoShards => "key_on_two_shards",
            Self::SequenceOverlap => "sequence_overlap",
            Self::NotExamined => "not_examined",
        }
    }
}

impl fmt::Display for DefectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A defect of a map or its shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Defect {
    /// The kind of the defect.
    pub kind: DefectKind,
    /// The shards. For a key on two shards, the first one is the one that should not have it.
    pub shards: Vec<ShardName>,
    /// The key set, table, trigger or sequence.
    pub object: String,
    /// A description for people.
    pub detail: String,
    /// The number of rows, values or places; 1 if nothing is counted.
    pub count: u64,
    /// Some of the affected keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample: Vec<Key>,
    /// The repair, if one is known.
    #[serde(rename = "mend", default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
}
