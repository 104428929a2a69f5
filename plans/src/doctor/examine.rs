//! What an agent is asked to examine on one shard outside of any move, and what it answers.

use crate::doctor::Finding;
use crate::failure::Severity;
use crate::fleet::ShardRef;
use crate::id::{MapName, ShardName};
use crate::identity::DatabaseIdentity;
use crate::key::KeyType;
use crate::request::Mode;
use crate::shard_map::MapSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which shard, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorTask {
    /// The shard.
    pub shard: ShardRef,
    /// The maps whose tables it has; of a shard without one only the server and the role are examined.
    #[serde(default)]
    pub maps: Vec<MapTables>,
    /// Whether its keys are to move while the application writes.
    #[serde(default)]
    pub mode: Mode,
}

/// The tables of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapTables {
    /// The map.
    pub map: MapName,
    /// Its tables and rules.
    pub settings: MapSettings,
    /// The types that the key columns must have.
    pub key: Vec<KeyType>,
}

/// What was found on a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Examined {
    /// The shard.
    pub shard: ShardName,
    /// Its database; none where it was not registered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<DatabaseIdentity>,
    /// How many tables were examined.
    pub tables: u64,
    /// Everything that stands in the way of a move or is worth knowing, the gravest first.
    pub findings: Vec<Finding>,
    /// How long it took, milliseconds.
    pub took_ms: u64,
}

/// Puts the gravest first, and what has the same number together.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let grave = b.severity.cmp(&a.severity);
        grave
            .then_with(|| a.sw.cmp(&b.sw))
            .then_with(|| a.object.cmp(&b.object))
    });
}

/// How many findings are this grave.
#[must_use]
pub fn count(findings: &[Finding], severity: Severity) -> usize {
    let same = findings.iter().filter(|f| f.severity == severity);
    same.count()
}
