//! The names of all objects that a migration creates on a shard. Shardwright creates no object with any other name.
//!
//! The search for leftover objects recognises them only by these names.

use crate::id::{MapName, MigrationId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The schema on each shard with Shardwright's tables, registers and guard functions.
pub const SCHEMA: &str = "shardwright";
/// The prefix of replication slots, publications and replication origins.
pub const REPLICATION_PREFIX: &str = "shardwright_";
/// The prefix of the publication that exists while the load of a shard is measured from its log.
pub const LOAD_PREFIX: &str = "shardwright_load_";
/// The prefix of the physical replication slots from which standbys stream that `standby create` creates.
pub const STANDBY_SLOT_PREFIX: &str = "shardwright_standby_";
/// The prefix of guard triggers on the application's tables.
pub const TRIGGER_PREFIX: &str = "shardwright_guard_";
/// The prefix of event triggers that refuse changes of the moving tables' definitions.
pub const DDL_PREFIX: &str = "shardwright_ddl_";
/// The setting that marks a transaction of Shardwright, so that the guards accept its writes.
pub const BYPASS_SETTING: &str = "shardwright.bypass";
/// The prefix of the logical messages that mark points in a change stream.
pub const MARKER_PREFIX: &str = "shardwright";
/// The prefix of the logical messages with which the duration of a commit is measured. They have no content.
pub const PROBE_PREFIX: &str = "shardwright.probe";
/// The SQLSTATE for a write to a key that this shard does not own any more, or for which writes are refused at the
/// moment.
pub const SQLSTATE_NOT_OWNER: &str = "SM001";
/// The SQLSTATE for a write to a key that this shard does not own yet.
pub const SQLSTATE_NOT_OPEN: &str = "SM002";
/// The SQLSTATE for a TRUNCATE during a migration.
pub const SQLSTATE_REFUSED: &str = "SM003";

/// The setting with the identity of the database that a session of Shardwright expects.
pub const IDENTITY_SETTING: &str = "shardwright.identity";
/// The SQLSTATE for the opening of a shard whose state is older than its ownership of the keys.
pub const SQLSTATE_OUTDATED: &str = "SM007";
/// The SQLSTATE for a session of Shardwright that is in another database than the registered one.
pub const SQLSTATE_OTHER_DATABASE: &str = "SM008";
/// The SQLSTATE for a process of Shardwright with an outdated epoch.
pub const SQLSTATE_SUPERSEDED: &str = "SM009";

/// The direction of a change stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From source to target, before the flip.
    Forward,
    /// From target to source, after the flip, while a rollback is possible.
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
    /// Returns the name of the replication slot of one direction. It is on the upstream shard.
    #[must_use]
    pub fn slot(&self, direction: Direction) -> String {
        format!("{REPLICATION_PREFIX}{self}_{}", suffix(direction))
    }

    /// Returns the name of the publication of one direction. It is on the same shard as the slot.
    #[must_use]
    pub fn publication(&self, direction: Direction) -> String {
        format!("{REPLICATION_PREFIX}{self}_{}", suffix(direction))
    }

    /// Returns the name of the register: the sequence in [`SCHEMA`] whose value opens or closes this migration's keys.
    #[must_use]
    pub fn register(&self) -> String {
        format!("own_{self}")
    }

    /// Returns the name of the sequence in [`SCHEMA`] that counts the writes that this migration's guard has refused.
    #[must_use]
    pub fn refusals(&self) -> String {
        format!("refused_{self}")
    }

    /// Returns the name of the row guard's function in [`SCHEMA`].
    #[must_use]
    pub fn guard_function(&self) -> String {
        format!("guard_{self}")
    }

    /// Returns the name of the function in [`SCHEMA`] that evaluates a large set of moving keys.
    #[must_use]
    pub fn key_set_function(&self) -> String {
        format!("guard_keys_{self}")
    }

    /// Returns the name of the row guard's function in [`SCHEMA`] for a table without the key. `table` is its index in
    /// the plan's tables.
    #[must_use]
    pub fn through_function(&self, table: usize) -> String {
        format!("guard_{self}_{table}")
    }

    /// Returns the name of the function in [`SCHEMA`] that refuses an UPDATE which gives a row with dependents another
    /// owner. `table` is the index of the row's table in the plan's tables.
    #[must_use]
    pub fn owner_function(&self, table: usize) -> String {
        format!("guard_owner_{self}_{table}")
    }

    /// Returns the name of the function in [`SCHEMA`] that refuses a row which replaces another one and keeps its
    /// dependents. `table` is the index of the row's table in the plan's tables.
    #[must_use]
    pub fn replacement_function(&self, table: usize) -> String {
        format!("guard_replaced_{self}_{table}")
    }

    /// Returns the name of the TRUNCATE guard's function in [`SCHEMA`].
    #[must_use]
    pub fn truncate_function(&self) -> String {
        format!("guard_truncate_{self}")
    }

    /// Returns the name of the function in [`SCHEMA`] with which the row guard distinguishes statements of Shardwright
    /// from others.
    #[must_use]
    pub fn foreign_function(&self) -> String {
        format!("guard_foreign_{self}")
    }

    /// Returns the name of the clone guard's function in [`SCHEMA`].
    #[must_use]
    pub fn clone_function(&self) -> String {
        format!("guard_clone_{self}")
    }

    /// Returns the name of the function in [`SCHEMA`] that returns whether the clone guard refuses a statement.
    #[must_use]
    pub fn closed_function(&self) -> String {
        format!("guard_closed_{self}")
    }

    /// Returns the name of the function in [`SCHEMA`] that prevents cascades from changing rows on a shard that does
    /// not own them.
    #[must_use]
    pub fn cascade_function(&self) -> String {
        format!("guard_cascade_{self}")
    }

    /// Returns the name of the function as [`MigrationId::cascade_function`], for a table without the key. `table` is its
    /// index in the plan's tables.
    #[must_use]
    pub fn dependent_cascade_function(&self, table: usize) -> String {
        format!("guard_cascade_{self}_{table}")
    }

    /// Returns the name of the sequence in [`SCHEMA`] that determines whether cascades skip this migration's rows.
    #[must_use]
    pub fn skips(&self) -> String {
        format!("skips_{self}")
    }

    /// Returns the name of the sequence in [`SCHEMA`] that counts the rows that cascades have skipped.
    #[must_use]
    pub fn skipped(&self) -> String {
        format!("skipped_{self}")
    }

    /// Returns the name of the event trigger that refuses changes of the moving tables' definitions, and of its
    /// function in [`SCHEMA`]. `event` is end or drop.
    #[must_use]
    pub fn ddl_guard(&self, event: &str) -> String {
        format!("{DDL_PREFIX}{self}_{event}")
    }

    /// Returns the name of a guard trigger on a moving table. `event` is insert, update, delete, truncate,
    /// cascade, update_owner, cascade_owner, insert_parent, update_parent or delete_parent; with the prefix `clone_`, it is a trigger of the clone guard.
    #[must_use]
    pub fn trigger(&self, event: &str) -> String {
        format!("{TRIGGER_PREFIX}{self}_{event}")
    }

    /// Returns the `application_name` of Shardwright's sessions with this role.
    #[must_use]
    pub fn application_name(&self, role: &str) -> String {
        format!("shardwright/{self}/{role}")
    }
}

/// What the names of a migration's guard functions in [`SCHEMA`] begin with, before its id. A longer one comes before one with
/// which it begins.
pub const GUARD_FUNCTIONS: [&str; 9] = [
    "guard_truncate_",
    "guard_foreign_",
    "guard_cascade_",
    "guard_clone_",
    "guard_closed_",
    "guard_owner_",
    "guard_replaced_",
    "guard_keys_",
    "guard_",
];

/// Returns the name of the guard's function in [`SCHEMA`] for keys of this map that the shard has released.
#[must_use]
pub fn released_keys_function(map: &MapName) -> String {
    format!("guard_away_{}", map_digits(map))
}

/// Returns the name of the function in [`SCHEMA`] that evaluates a large set of released keys of this map.
#[must_use]
pub fn released_keys_set_function(map: &MapName) -> String {
    format!("guard_away_{}_keys", map_digits(map))
}

/// Returns the name of a guard trigger for released keys. `event` is insert, update or delete.
#[must_use]
pub fn released_keys_trigger(map: &MapName, event: &str) -> String {
    format!("{TRIGGER_PREFIX}away_{}_{event}", map_digits(map))
}

/// Returns twelve digits that identify a map, because its name may be too long or contain any character.
fn map_digits(map: &MapName) -> String {
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
