//! Keys in the syntax of a request, with one form for each strategy.

use super::{MapError, ShardMap, Strategy};
use crate::key::{Key, KeyError};
use crate::key_set::{BucketRange, Buckets, KeyRange, KeySet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A key set: `from` and `to` (or `ranges`) for a range map, `buckets` for a hash map, `values` for a list map.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Selection {
    /// The first key of a range. Without it the range has no lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Key>,
    /// The first key after a range. Without it the range has no upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Key>,
    /// Several ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Vec<KeyRange>>,
    /// Ranges of virtual shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Vec<BucketRange>>,
    /// Single keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Key>>,
}

/// Why a selection does not fit a map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// The form belongs to another strategy.
    #[error("map {map} divides keys by {strategy}: name them by {expected}", map = .map, strategy = .strategy)]
    Form {
        /// The map.
        map: String,
        /// How the map divides keys.
        strategy: Strategy,
        /// The form for this strategy.
        expected: &'static str,
    },
    /// The keys do not fit the map.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A key has the wrong type for the map.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Selection {
    /// Returns the selection of exactly `keys`.
    #[must_use]
    pub fn of(keys: &KeySet) -> Self {
        match keys {
            KeySet::Range(ranges) => match ranges.as_slice() {
                [KeyRange { from, to }] => Self {
                    from: from.clone(),
                    to: to.clone(),
                    ..Self::default()
                },
                several => Self {
                    ranges: Some(several.to_vec()),
                    ..Self::default()
                },
            },
            KeySet::Hash(buckets) => Self {
                buckets: Some(buckets.ranges.clone()),
                ..Self::default()
            },
            KeySet::List(keys) => Self {
                values: Some(keys.iter().cloned().collect()),
                ..Self::default()
            },
        }
    }

    /// Returns the key set, with the strategy and the key types of `map`.
    ///
    /// # Errors
    /// [`SelectionError`] if the form or a key does not fit the map.
    pub fn resolve(&self, map: &ShardMap) -> Result<KeySet, SelectionError> {
        let has_bounds = self.from.is_some() || self.to.is_some();
        let form_error = |expected: &'static str| SelectionError::Form {
            map: map.name.to_string(),
            strategy: map.strategy,
            expected,
        };
        let keys = match (map.strategy, &self.ranges, &self.buckets, &self.values) {
            (Strategy::Range, None, None, None) => KeySet::Range(vec![KeyRange {
                from: self.from.clone(),
                to: self.to.clone(),
            }]),
            (Strategy::Range, Some(ranges), None, None) if !has_bounds => {
                KeySet::Range(ranges.clone())
            }
            (Strategy::Range, ..) => return Err(form_error("`from` and `to`, or by `ranges`")),
            (Strategy::Hash, None, Some(ranges), None) if !has_bounds => KeySet::Hash(Buckets {
                of: map.buckets,
                ranges: ranges.clone(),
            }),
            (Strategy::Hash, ..) => return Err(form_error("`buckets`")),
            (Strategy::List, None, None, Some(values)) if !has_bounds => {
                KeySet::list(values.iter().cloned())
            }
            (Strategy::List, ..) => return Err(form_error("`values`")),
        };
        Ok(map.accepted(keys)?)
    }
}
