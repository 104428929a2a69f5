//! Rules of a map: where keys must be or must not be. Every plan obeys them.

use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::key_set::KeySet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A rule about where keys must be or must not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementRule {
    /// The name, which the error contains if a plan violates the rule.
    pub name: String,
    /// Whether the keys must be on the shard, or must not.
    pub effect: Effect,
    /// The keys. Without a value the rule applies to all keys of the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeySet>,
    /// The shard to which the rule refers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardName>,
    /// In place of a shard: the rule refers to all shards with these labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The effect of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The keys must be on a matching shard.
    Pin,
    /// The keys must not be on a matching shard.
    Exclude,
}

impl PlacementRule {
    /// Returns whether the rule allows `keys` on `shard`.
    #[must_use]
    pub fn allows(&self, keys: &KeySet, shard: &ShardInfo) -> bool {
        if self
            .keys
            .as_ref()
            .is_some_and(|rule_keys| !rule_keys.overlaps(keys))
        {
            return true;
        }
        let has_name = self.shard.as_ref().is_none_or(|name| name == &shard.name);
        let has_labels = self
            .labels
            .iter()
            .all(|(label, value)| shard.labels.get(label) == Some(value));
        let matches = has_name && has_labels;
        match self.effect {
            Effect::Pin => matches,
            Effect::Exclude => !matches,
        }
    }
}

/// A violation of a rule by a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleViolation {
    /// The name of the rule.
    pub rule: String,
    /// The keys that would move.
    pub keys: KeySet,
    /// The shard to which they would move.
    pub shard: ShardName,
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rule {} does not allow {} on shard {}",
            self.rule, self.keys, self.shard
        )
    }
}
