//! What mends a defect: a request that the operator reads first, and the tasks that agents perform.
//!
//! Nothing is mended by itself. Each mend is idempotent and refuses when the shards are not as the
//! check saw them.

use super::Defect;
use crate::fleet::ShardRef;
use crate::id::{MapName, MapVersion, ShardName};
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::shard_map::{MapSettings, ShardMap};
use crate::table::TableName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mend", rename_all = "snake_case", deny_unknown_fields)]
pub enum Repair {
    /// Give keys that nobody owns to a shard, by a new version of the map.
    MapKeys {
        /// The keys.
        keys: KeySet,
        /// Their owner from then on.
        shard: ShardName,
    },
    /// Put the guard of keys that were given away on a table again.
    RecreateGuard {
        /// The shard.
        shard: ShardName,
        /// The table.
        table: TableName,
    },
    /// Make a sequence issue values of its shard's own again, beyond what any shard has issued.
    Restride {
        /// The shard.
        shard: ShardName,
        /// The sequence, quoted, with its schema.
        sequence: String,
        /// Its step when it was checked.
        increment: i64,
        /// The furthest value that a shard had issued.
        past: i64,
    },
    /// Make a reference table's rows those of another shard.
    CopyReference {
        /// The table.
        table: TableName,
        /// The shard whose rows are right.
        from: ShardName,
        /// The shard whose rows are replaced.
        to: ShardName,
        /// Digest of the right rows when they were checked.
        from_digest: String,
        /// Digest of the wrong rows when they were checked.
        to_digest: String,
    },
    /// Delete rows that their key's owner has too, after a comparison row by row.
    DeleteStray {
        /// The shard that should not have them.
        shard: ShardName,
        /// The owner of the keys.
        owner: ShardName,
        /// The keys.
        keys: Vec<Key>,
    },
    /// Somebody has to decide.
    ByHand {
        /// What there is to decide.
        advice: String,
    },
}

impl Repair {
    /// The shards that an agent must reach for it; empty for what no agent mends.
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

/// What `map check --request` writes and `map repair` applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepairRequest {
    /// The map.
    pub map: MapName,
    /// The version that was checked.
    pub map_version: MapVersion,
    /// What to mend, in this order; leave out what should stay.
    #[serde(rename = "mends")]
    pub repairs: Vec<Repair>,
}

/// Why a request to mend is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepairError {
    /// Not YAML of this form.
    #[error("the request to mend cannot be read: {message}")]
    Malformed {
        /// The parser's words.
        message: String,
    },
    /// The map is another one, or has changed.
    #[error(
        "the request was made for map {map} version {version}, at hand is {found} version {at}"
    )]
    Stale {
        /// The request's map.
        map: MapName,
        /// The request's version.
        version: MapVersion,
        /// The map at hand.
        found: MapName,
        /// Its version.
        at: MapVersion,
    },
    /// A shard that is not registered, or that only other maps have keys on.
    #[error("shard {shard} is not registered, or only other maps have keys there")]
    UnknownShard {
        /// The shard.
        shard: ShardName,
    },
    /// Rows of keys would be deleted on the shard that owns them, or kept on one that does not.
    #[error("shard {shard} must not own {key}, and shard {owner} must")]
    Owner {
        /// Where rows would be deleted.
        shard: ShardName,
        /// Where they would stay.
        owner: ShardName,
        /// The first key that contradicts.
        key: Key,
    },
}

impl RepairRequest {
    /// Everything that the defects propose, each once.
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

    /// Reads a request from YAML or JSON.
    ///
    /// # Errors
    /// [`RepairError::Malformed`].
    pub fn parse(text: &str) -> Result<Self, RepairError> {
        serde_saphyr::from_str(text).map_err(|error| RepairError::Malformed {
            message: error.to_string(),
        })
    }

    /// The tasks for agents, in order; mappings and decisions are not among them.
    ///
    /// # Errors
    /// [`RepairError`] unless the request is about this version of the map and its shards.
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
            let named = repair.shards();
            if named.is_empty() {
                continue;
            }
            let mut reached = Vec::with_capacity(named.len());
            for name in named {
                let found = shards.iter().find(|shard| &shard.name == name);
                reached.push(found.cloned().ok_or_else(|| RepairError::UnknownShard {
                    shard: name.clone(),
                })?);
            }
            check_owner(repair, map)?;
            tasks.push(RepairTask {
                map: map.name.clone(),
                key: map.key.clone(),
                settings: map.settings.clone(),
                shards: reached,
                repair: repair.clone(),
            });
        }
        Ok(tasks)
    }
}

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

/// A mend for an agent; the caller has seen to it that no migration moves the keys meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairTask {
    /// The map.
    pub map: MapName,
    /// Types of the key's columns.
    pub key: Vec<KeyType>,
    /// What the map says of its tables.
    pub settings: MapSettings,
    /// The shards that [`Repair::shards`] names, in its order.
    pub shards: Vec<ShardRef>,
    /// What to do.
    #[serde(rename = "mend")]
    pub repair: Repair,
}

/// What was mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepairResult {
    /// What was done, for people; also when there was nothing to do any more.
    pub done: String,
    /// Rows that were written or deleted.
    pub rows: u64,
}
