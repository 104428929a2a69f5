//! Repairs of defects: a request that the operator reads first, and the tasks that agents carry out.
//!
//! No repair starts without an operator. Each repair is idempotent, and refuses if the shards have changed since the
//! check.

use super::Defect;
use crate::fleet::ShardRef;
use crate::id::{MapName, MapVersion, ShardName};
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::shard_map::{MapSettings, ShardMap};
use crate::table::TableName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mend", rename_all = "snake_case", deny_unknown_fields)]
pub enum Repair {
    /// Maps keys that no shard owns to a shard, with a new version of the map.
    MapKeys {
        /// The keys.
        keys: KeySet,
        /// The new owner of the keys.
        shard: ShardName,
    },
    /// Creates the guard of released keys on a table again.
    RecreateGuard {
        /// The shard.
        shard: ShardName,
        /// The table.
        table: TableName,
    },
    /// Makes a sequence issue its shard's own values again, beyond all values that any shard has issued.
    Restride {
        /// The shard.
        shard: ShardName,
        /// The quoted name of the sequence, with its schema.
        sequence: String,
        /// The increment of the sequence when it was checked.
        increment: i64,
        /// The greatest value that a shard had issued.
        past: i64,
    },
    /// Replaces a reference table's rows by those of another shard.
    CopyReference {
        /// The table.
        table: TableName,
        /// The shard whose rows are right.
        from: ShardName,
        /// The shard whose rows are replaced.
        to: ShardName,
        /// The digest of the correct rows when they were checked.
        from_digest: String,
        /// The digest of the wrong rows when they were checked.
        to_digest: String,
    },
    /// Deletes rows that the owner of their key has too, after a comparison row by row.
    DeleteStray {
        /// The shard that should not have the rows.
        shard: ShardName,
        /// The owner of the keys.
        owner: ShardName,
        /// The keys.
        keys: Vec<Key>,
    },
    /// A person has to decide.
    ByHand {
        /// The decision, and advice for it.
        advice: String,
    },
}

impl Repair {
    /// Returns the shards that an agent must reach for the repair; empty if no agent carries it out.
    #[must_use]
    pub fn shards(&self) -> Vec<&ShardName> {
        match self {
            Self::MapKeys { .. } | Self::ByHand { .. } => Vec::new(),
            Self::RecreateGuard { shard, .. } | Self::Restride { shard, .. } => vec![shard],
            Self::CopyReference { from, to, .. } => vec![to, from],
            Self::DeleteStray { shard, owner, .. } => vec![shard, owner],
        }
    }
}

/// A list of repairs. The command `map check --request` writes it, and `map repair` applies it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepairRequest {
    /// The map.
    pub map: MapName,
    /// The version of the map that was checked.
    pub map_version: MapVersion,
    /// The repairs, in this order. An operator can remove some of them.
    #[serde(rename = "mends")]
    pub repairs: Vec<Repair>,
}

/// Why a list of repairs is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// The text is not YAML of this form.
    #[error("the list of repairs cannot be read: {message}")]
    Malformed {
        /// The error message of the parser.
        message: String,
    },
    /// The list is for another map, or the map has changed.
    #[error(
        "the list of repairs is for map {map} version {version}, but the current map is {found} version {at}"
    )]
    Stale {
        /// The map of the list.
        map: MapName,
        /// The map version of the list.
        version: MapVersion,
        /// The existing map.
        found: MapName,
        /// The version of the existing map.
        at: MapVersion,
    },
    /// The shard is not registered, or has only keys of other maps.
    #[error("shard {shard} is not registered, or only other maps have keys there")]
    UnknownShard {
        /// The shard.
        shard: ShardName,
    },
    /// The repair would delete rows on the shard that owns their keys, or keep them on a shard that does not.
    #[error(
        "rows of key {key} cannot be deleted on shard {shard}: shard {owner} does not own the key, or is the same shard"
    )]
    Owner {
        /// The shard on which the rows would be deleted.
        shard: ShardName,
        /// The shard on which they would stay.
        owner: ShardName,
        /// The first key for which this is wrong.
        key: Key,
    },
}

impl RepairRequest {
    /// Returns all repairs that the defects propose, each once.
    #[must_use]
    pub fn propose(map: &ShardMap, defects: &[Defect]) -> Self {
        let mut repairs: Vec<Repair> = Vec::new();
        for repair in defects.iter().filter_map(|defect| defect.repair.as_ref()) {
            if !repairs.contains(repair) {
                repairs.push(repair.clone());
            }
        }
        Self {
            map: map.name.clone(),
            map_version: map.version,
            repairs,
        }
    }

    /// Parses a list of repairs from YAML or JSON.
    ///
    /// # Errors
    /// [`RepairError::Malformed`].
    pub fn parse(text: &str) -> Result<Self, RepairError> {
        serde_saphyr::from_str(text).map_err(|error| RepairError::Malformed {
            message: error.to_string(),
        })
    }

    /// Returns the tasks for agents, in order. New mappings and decisions are not among them.
    ///
    /// # Errors
    /// [`RepairError`] unless the list is for this version of the map and its shards.
    pub fn tasks(
        &self,
        map: &ShardMap,
        shards: &[ShardRef],
    ) -> Result<Vec<RepairTask>, RepairError> {
        if (&self.map, self.map_version) != (&map.name, map.version) {
            return Err(RepairError::Stale {
                map: self.map.clone(),
                version: self.map_version,
                found: map.name.clone(),
                at: map.version,
            });
        }
        let mut tasks = Vec::new();
        for repair in &self.repairs {
            let names = repair.shards();
            if names.is_empty() {
                continue;
            }
            let mut refs = Vec::with_capacity(names.len());
            for name in names {
                let found = shards.iter().find(|shard| &shard.name == name);
                refs.push(found.cloned().ok_or_else(|| RepairError::UnknownShard {
                    shard: name.clone(),
                })?);
            }
            check_owner(repair, map)?;
            tasks.push(RepairTask {
                map: map.name.clone(),
                key: map.key.clone(),
                settings: map.settings.clone(),
                shards: refs,
                repair: repair.clone(),
            });
        }
        Ok(tasks)
    }
}

/// Checks that the repair deletes rows only on a shard that does not own their keys.
fn check_owner(repair: &Repair, map: &ShardMap) -> Result<(), RepairError> {
    let Repair::DeleteStray { shard, owner, keys } = repair else {
        return Ok(());
    };
    let owned = |key: &Key| {
        map.locate(key)
            .is_some_and(|mapping| &mapping.shard == owner)
    };
    match keys.iter().find(|key| shard == owner || !owned(key)) {
        None => Ok(()),
        Some(key) => Err(RepairError::Owner {
            shard: shard.clone(),
            owner: owner.clone(),
            key: key.clone(),
        }),
    }
}

/// A repair for an agent. The caller ensures that no migration moves the keys meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairTask {
    /// The map.
    pub map: MapName,
    /// The types of the key's columns.
    pub key: Vec<KeyType>,
    /// The settings of the map.
    pub settings: MapSettings,
    /// The shards of [`Repair::shards`], in the same order.
    pub shards: Vec<ShardRef>,
    /// The repair.
    #[serde(rename = "mend")]
    pub repair: Repair,
}

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepairResult {
    /// What was done, for people; also if nothing had to be done.
    pub done: String,
    /// The number of rows that were written or deleted.
    pub rows: u64,
}
