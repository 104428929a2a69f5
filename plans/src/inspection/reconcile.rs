//! The reconciler: whether the shards and the control store still say the same, and what follows where not.
//!
//! `proofs` reads from the shards which flips happened; `compare` finds what contradicts; `forward` moves
//! a map that lost flips to where the shards are. A store that is older than the fleet, a shard that is
//! older than the map: registers are closed first, and nothing is opened without a witness (R1, R6, R9).

mod compare;
mod forward;
mod older;
mod proofs;

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

/// What contradicts.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ContradictionKind {
    /// The shards prove more than the control store knows: it was restored from an older state.
    StoreOlder,
    /// A shard takes writes for keys that another shard owns.
    KeysOpen,
    /// The owner of keys was set back to before it took them: rows are missing there.
    DataMissing,
    /// The owner of keys refuses them.
    KeysRefused,
    /// Another server answers for the shard.
    OtherServer,
    /// A standby of the shard was promoted.
    FailedOver,
    /// The server's log ends before the place where it had ended: it was restored from a copy.
    WentBack,
}

impl ContradictionKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::StoreOlder,
        Self::KeysOpen,
        Self::DataMissing,
        Self::KeysRefused,
        Self::OtherServer,
        Self::FailedOver,
        Self::WentBack,
    ];

    /// The name in JSON, metrics and on screens.
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

    /// True where only an operator's word, by `reconcile --accept`, says that the server is the right one.
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

/// One contradiction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    /// What it is.
    pub kind: ContradictionKind,
    /// The shard that shows it.
    pub shard: ShardName,
    /// The migration, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<MigrationId>,
    /// The map, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapName>,
    /// What was seen and what was expected.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// The keys that are closed at once, without a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Closing>,
}

impl Contradiction {
    /// True for the same contradiction, seen at another time.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.shard, &self.migration, &self.map)
            == (other.kind, &other.shard, &other.migration, &other.map)
    }
}

/// Keys that a shard must refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Closing {
    /// The migration that took them away, or that is to bring them.
    pub migration: MigrationId,
    /// Its epoch, under which the shard is closed (I7).
    pub epoch: i64,
    /// `source` or `target`.
    pub role: String,
    /// The map.
    pub map: MapName,
    /// The map's version that took them.
    pub version: i64,
    /// The keys.
    pub keys: KeySet,
    /// The tables to guard.
    pub tables: Vec<MovingTable>,
    /// The migration has ended: the refusal is permanent.
    pub for_good: bool,
    /// The shard that took the keys is open: this one is told of the version, as after every flip (C10).
    #[serde(rename = "tell", default)]
    pub notify: bool,
}

/// Closes keys on a shard; also done again it only refuses what it refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseTask {
    /// The shard.
    pub shard: ShardRef,
    /// What to close.
    pub closing: Closing,
}

#[cfg(test)]
mod tests;
