//! The reconciler: compares the shards with the control store, and determines what follows from contradictions.
//!
//! `proofs` reads from the shards which flips have happened. `compare` finds contradictions. `forward` adds lost flips
//! to a map. If the control store was restored to a state older than the shards, or a shard to a state older than the
//! map, registers are closed first, and none is opened without a witness (R1, R6, R9).

mod by_shard;
mod compare;
mod forward;
mod older;
mod proofs;
mod server;

pub use compare::{KnownMove, StoreKnowledge, compare};
pub use forward::{MissingVersion, forward, with_owner};
pub use proofs::{FlipProof, proofs};

use crate::fleet::ShardRef;
use crate::id::{MapName, MigrationId, ShardName};
use crate::key_set::KeySet;
use crate::table::MovingTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of a contradiction.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ContradictionKind {
    /// The shards prove flips that the control store does not have: it was restored to an older state.
    StoreOlder,
    /// A shard accepts writes to keys that another shard owns.
    KeysOpen,
    /// The owner of keys was restored to a time before it received them, so it lacks their rows.
    DataMissing,
    /// The owner of keys refuses writes to them.
    KeysRefused,
    /// The connection string of the shard leads to another server.
    OtherServer,
    /// A standby of the shard was promoted, or the shard is a standby that no migration has promoted.
    FailedOver,
    /// The server's log ends before an earlier end: it was restored from a copy.
    WentBack,
}

impl ContradictionKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::StoreOlder,
        Self::KeysOpen,
        Self::DataMissing,
        Self::KeysRefused,
        Self::OtherServer,
        Self::FailedOver,
        Self::WentBack,
    ];

    /// Returns the name in JSON, in metrics and on pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::StoreOlder => "store_older",
            Self::KeysOpen => "keys_open",
            Self::DataMissing => "data_missing",
            Self::KeysRefused => "keys_refused",
            Self::OtherServer => "other_server",
            Self::FailedOver => "failed_over",
            Self::WentBack => "went_back",
        }
    }

    /// Returns true if only an operator can decide, with `reconcile --accept`, that the server is the right one.
    #[must_use]
    pub fn is_of_server(self) -> bool {
        match self {
            Self::OtherServer | Self::FailedOver | Self::WentBack => true,
            Self::StoreOlder | Self::KeysOpen | Self::DataMissing | Self::KeysRefused => false,
        }
    }
}

impl fmt::Display for ContradictionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A contradiction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    /// The kind.
    pub kind: ContradictionKind,
    /// The shard on which it was found.
    pub shard: ShardName,
    /// The migration, if the contradiction belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<MigrationId>,
    /// The map, if the contradiction belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapName>,
    /// What was observed and what was expected.
    pub message: String,
    /// What the user can do.
    pub hint: String,
    /// The keys that are closed immediately, without a command of an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Closing>,
}

impl Contradiction {
    /// Returns true if it is the same contradiction, observed at another time.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.shard, &self.migration, &self.map)
            == (other.kind, &other.shard, &other.migration, &other.map)
    }
}

/// Keys that a shard must refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Closing {
    /// The migration that released the keys on this shard, or that is to move them to it.
    pub migration: MigrationId,
    /// The epoch under which the shard is closed (I7).
    pub epoch: i64,
    /// `source` or `target`.
    pub role: String,
    /// The map.
    pub map: MapName,
    /// The map version of the flip that released the keys.
    pub version: i64,
    /// The keys.
    pub keys: KeySet,
    /// The tables that need a guard.
    pub tables: Vec<MovingTable>,
    /// True if the migration has ended: the keys are refused as released keys, permanently.
    pub for_good: bool,
    /// True if the new owner is open: this shard then records the map version, as after every flip (C10).
    #[serde(rename = "tell", default)]
    pub notify: bool,
}

/// The task to close keys on a shard. It can be repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseTask {
    /// The shard.
    pub shard: ShardRef,
    /// The keys to close.
    pub closing: Closing,
}

#[cfg(test)]
mod tests;
