//! Rules of a map: pins and exclusions that every plan keeps, by hand or computed.

use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::key_set::KeySet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Where some keys must live, or must not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementRule {
    /// Its name, by which a plan that breaks it is refused.
    pub name: String,
    /// Whether the keys must live there, or must not.
    pub effect: Effect,
    /// The keys; without it all keys of the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeySet>,
    /// The shard that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardName>,
    /// Or the shards with all of these labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What a rule demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The keys live on a shard that matches.
    Pin,
    /// The keys live on no shard that matches.
    Exclude,
}

impl PlacementRule {
    /// Whether the rule allows `keys` on `shard`.
    #[must_use]
    pub fn allows(&self, keys: &KeySet, shard: &ShardInfo) -> bool {
        if self.keys.as_ref().is_some_and(|own| !own.overlaps(keys)) {
            return true;
        }
        let named = self.shard.as_ref().is_none_or(|name| name == &shard.name);
        let labelled = self
            .labels
            .iter()
            .all(|(label, value)| shard.labels.get(label) == Some(value));
        let matches = named && labelled;
        match self.effect {
            Effect::Pin => matches,
            Effect::Exclude => !matches,
        }
    }
}

/// A rule that a move would break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleBreak {
    /// The rule's name.
    pub rule: String,
    /// The keys that would move.
    pub keys: KeySet,
    /// Where they would go.
    pub shard: ShardName,
}

impl fmt::Display for RuleBreak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rule {} does not allow {} on shard {}",
            self.rule, self.keys, self.shard
        )
    }
}
