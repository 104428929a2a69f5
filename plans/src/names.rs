//! Names of everything that a migration creates on a shard; nothing of ours has a name from elsewhere.
//!
//! An orphan sweep recognises our objects by these names alone.

use crate::id::{MapName, MigrationId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The schema on each shard that holds our tables, registers and guard functions.
pub const SCHEMA: &str = "shardwright";
/// Prefix of replication slots, publications and origins.
pub const REPLICATION_PREFIX: &str = "shardwright_";
/// Prefix of the publication that exists while a shard's log is watched for its load.
pub const LOAD_PREFIX: &str = "shardwright_load_";
/// Prefix of guard triggers on the user's tables.
pub const TRIGGER_PREFIX: &str = "shardwright_guard_";
/// Prefix of event triggers that refuse changes of the moving tables.
pub const DDL_PREFIX: &str = "shardwright_ddl_";
/// Setting that marks a transaction of ours, so that guards let it pass.
pub const BYPASS_SETTING: &str = "shardwright.bypass";
/// Prefix of the logical messages that mark points in a change stream.
pub const MARKER_PREFIX: &str = "shardwright";
/// Prefix of the logical messages whose commit is timed; they say nothing.
pub const PROBE_PREFIX: &str = "shardwright.probe";
/// SQLSTATE raised for a write to a key this shard no longer owns, or does not own for the moment.
pub const SQLSTATE_NOT_OWNER: &str = "SM001";
/// SQLSTATE raised for a write to a key this shard does not own yet.
pub const SQLSTATE_NOT_OPEN: &str = "SM002";
/// SQLSTATE raised for TRUNCATE while a migration is under way.
pub const SQLSTATE_REFUSED: &str = "SM003";

/// Setting that holds the identity of the database that a session of ours must be in.
pub const IDENTITY_SETTING: &str = "shardwright.identity";
/// SQLSTATE raised to a session of ours that is in another database than the one that was registered.
pub const SQLSTATE_OTHER_DATABASE: &str = "SM008";
/// SQLSTATE raised to a process of ours whose epoch is no longer the newest.
pub const SQLSTATE_SUPERSEDED: &str = "SM009";

/// Which way a change stream runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From source to target: before the flip.
    Forward,
    /// From target to source: after the flip, while a roll back is possible.
    Reverse,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        })
    }
}

impl MigrationId {
    /// Replication slot of one direction; it lives on the shard that the stream comes from.
    #[must_use]
    pub fn slot(&self, direction: Direction) -> String {
        format!("{REPLICATION_PREFIX}{self}_{}", suffix(direction))
    }

    /// Publication of one direction, beside its slot.
    #[must_use]
    pub fn publication(&self, direction: Direction) -> String {
        format!("{REPLICATION_PREFIX}{self}_{}", suffix(direction))
    }

    /// The register: the sequence in [`SCHEMA`] whose value opens or closes this migration's keys.
    #[must_use]
    pub fn register(&self) -> String {
        format!("own_{self}")
    }

    /// The sequence in [`SCHEMA`] that counts the writes that this migration's guard refused.
    #[must_use]
    pub fn refusals(&self) -> String {
        format!("refused_{self}")
    }

    /// The row guard's function in [`SCHEMA`].
    #[must_use]
    pub fn guard_function(&self) -> String {
        format!("guard_{self}")
    }

    /// The row guard's function in [`SCHEMA`] for a table without the key, by its place among the tables.
    #[must_use]
    pub fn through_function(&self, table: usize) -> String {
        format!("guard_{self}_{table}")
    }

    /// The TRUNCATE guard's function in [`SCHEMA`].
    #[must_use]
    pub fn truncate_function(&self) -> String {
        format!("guard_truncate_{self}")
    }

    /// The function in [`SCHEMA`] by which the row guard tells others' statements from ours.
    #[must_use]
    pub fn foreign_function(&self) -> String {
        format!("guard_foreign_{self}")
    }

    /// The function in [`SCHEMA`] that keeps cascades from the rows of a shard that does not own them.
    #[must_use]
    pub fn cascade_function(&self) -> String {
        format!("guard_cascade_{self}")
    }

    /// The sequence in [`SCHEMA`] that tells whether cascades skip this migration's rows.
    #[must_use]
    pub fn skips(&self) -> String {
        format!("skips_{self}")
    }

    /// The sequence in [`SCHEMA`] that counts the rows that cascades have skipped.
    #[must_use]
    pub fn skipped(&self) -> String {
        format!("skipped_{self}")
    }

    /// The event trigger that refuses changes of the moving tables, and its function in [`SCHEMA`]; `event` = end or drop.
    #[must_use]
    pub fn ddl_guard(&self, event: &str) -> String {
        format!("{DDL_PREFIX}{self}_{event}")
    }

    /// A guard trigger on a moving table, for `event` = insert, update, delete, truncate or cascade.
    #[must_use]
    pub fn trigger(&self, event: &str) -> String {
        format!("{TRIGGER_PREFIX}{self}_{event}")
    }

    /// `application_name` of our sessions, by what they do.
    #[must_use]
    pub fn application_name(&self, role: &str) -> String {
        format!("shardwright/{self}/{role}")
    }
}

/// The guard's function of a map on a shard, for keys that the shard gave away, in [`SCHEMA`].
#[must_use]
pub fn released_keys_function(map: &MapName) -> String {
    format!("guard_away_{}", short(map))
}

/// A guard trigger for keys that were given away, for `event` = insert, update or delete.
#[must_use]
pub fn released_keys_trigger(map: &MapName, event: &str) -> String {
    format!("{TRIGGER_PREFIX}away_{}_{event}", short(map))
}

/// Twelve digits that stand for a map's name, which may be too long or hold any character.
fn short(map: &MapName) -> String {
    let digest = Sha256::digest(map.as_str().as_bytes());
    digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn suffix(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "fwd",
        Direction::Reverse => "rev",
    }
}
