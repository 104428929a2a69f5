//! What a conversion is asked to do, and what it did.

use super::super::ControlError;
use super::super::maps::{NewMapping, active_mapping, check_shards, settings_after};
use super::super::shards::invalid_error;
use plans::id::{MapName, MapVersion, MigrationId, ShardName};
use plans::key::KeyType;
use plans::shard_map::{DEFAULT_BUCKETS, KeptKeys, ShardMap, Strategy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Another strategy or another key for a map.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConvertRequest {
    /// How the keys are divided afterwards: by range or hash.
    pub strategy: Strategy,
    /// The types of the key columns afterwards. Default: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Vec<KeyType>>,
    /// The number of virtual shards of a hash map. Default: 4096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u32>,
    /// Changes of the settings, as a JSON merge patch: other key columns of the tables, rules with other keys.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub settings: Value,
    /// The owner of each key that does not exist yet. Each possible key must have one.
    pub mappings: Vec<NewMapping>,
    /// True to only read the keys, and to return what the conversion would do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// What a conversion did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversionReport {
    /// The map.
    pub map: MapName,
    /// The conversion; without a value nothing was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<MigrationId>,
    /// The version that it created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<MapVersion>,
    /// The number of keys that exist on the shards. A key on two tables counts once.
    pub keys: u64,
    /// The number of mappings of the version.
    pub mappings: usize,
    /// Existing keys that keep their shard although the mappings of the request name another one.
    pub kept: Vec<KeptKeys>,
    /// For how many milliseconds new keys with another owner than before were refused. Without a conversion: how long the
    /// keys were read.
    pub milliseconds: u64,
}

impl ConversionReport {
    pub(super) fn new(wanted: &ShardMap, map: &ShardMap, keys: u64, took: Duration) -> Self {
        Self {
            map: map.name.clone(),
            conversion: None,
            version: None,
            keys,
            mappings: map.mappings.len(),
            kept: wanted.kept_in(map),
            milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl ConvertRequest {
    /// Returns the map as the request wants it, with the version number of `before`. `known` are the registered shards.
    ///
    /// # Errors
    /// An unknown shard, keys with two owners, contradictory settings, or a map whose keys are schemas or groups.
    pub(super) fn wanted(
        &self,
        before: &ShardMap,
        known: &[ShardName],
    ) -> Result<ShardMap, ControlError> {
        if !before.settings.keyed_by.is_column() {
            return Err(invalid_error(&format!(
                "the keys of map {} are {}s, which only a list map can have",
                before.name,
                before.settings.keyed_by.name()
            )));
        }
        check_shards(&self.mappings, known)?;
        let hash = self.strategy == Strategy::Hash;
        let map = ShardMap {
            strategy: self.strategy,
            key: self.key.clone().unwrap_or_else(|| before.key.clone()),
            buckets: self
                .buckets
                .unwrap_or(if hash { DEFAULT_BUCKETS } else { 0 }),
            mappings: self.mappings.iter().cloned().map(active_mapping).collect(),
            migration: None,
            ..before.clone()
        };
        let mut map = map.validated()?;
        let change = if self.settings.is_null() {
            Value::Object(serde_json::Map::new())
        } else {
            self.settings.clone()
        };
        map.settings = settings_after(&map, &change)?;
        Ok(map.joined())
    }
}
