//! The examination of one shard outside of any move: the task and its result.

use crate::doctor::Finding;
use crate::failure::Severity;
use crate::fleet::ShardRef;
use crate::id::{MapName, ShardName};
use crate::identity::DatabaseIdentity;
use crate::key::KeyType;
use crate::key_set::KeySet;
use crate::request::Mode;
use crate::shard_map::MapSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The shard, and its tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorTask {
    /// The shard.
    pub shard: ShardRef,
    /// The maps whose tables the shard has. Without a map, only the server and the role are examined.
    #[serde(default)]
    pub maps: Vec<MapTables>,
    /// Whether the application is to continue to write while keys move.
    #[serde(default)]
    pub mode: Mode,
}

/// The tables of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapTables {
    /// The map.
    pub map: MapName,
    /// The tables and rules of the map.
    pub settings: MapSettings,
    /// The types of the key columns.
    pub key: Vec<KeyType>,
    /// For a map with `keyed_by: schema`: all keys that shards own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapped: Option<KeySet>,
}

/// The result for a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Examined {
    /// The shard.
    pub shard: ShardName,
    /// The identity of its database. It has no value if the database is not registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<DatabaseIdentity>,
    /// The number of examined tables.
    pub tables: u64,
    /// Everything that prevents a move or is worth knowing, the most severe first.
    pub findings: Vec<Finding>,
    /// The duration in milliseconds.
    pub took_ms: u64,
}

/// Orders findings by severity, the most severe first, then by number.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let by_severity = b.severity.cmp(&a.severity);
        by_severity
            .then_with(|| a.sw.cmp(&b.sw))
            .then_with(|| a.object.cmp(&b.object))
    });
}

/// Returns the number of findings with this severity.
#[must_use]
pub fn count(findings: &[Finding], severity: Severity) -> usize {
    let same = findings.iter().filter(|f| f.severity == severity);
    same.count()
}
