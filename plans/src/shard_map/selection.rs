//! Keys as a request names them: one form for each strategy.

use super::{MapError, ShardMap, Strategy};
use crate::key::{Key, KeyError};
use crate::key_set::{BucketRange, Buckets, KeyRange, KeySet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys: `from` and `to` (or `ranges`) on a range map, `buckets` on a hash map, `values` on a list map.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Selection {
    /// First key of a range; without it the range has no lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Key>,
    /// First key after a range; without it the range has no upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Key>,
    /// Several ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<Vec<KeyRange>>,
    /// Ranges of virtual shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Vec<BucketRange>>,
    /// Keys one by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Key>>,
}

/// Why a selection says nothing about a map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// The form belongs to another strategy.
    #[error("map {map} divides keys by {strategy}: name them by {expected}", map = .map, strategy = .strategy)]
    Form {
        /// The map.
        map: String,
        /// How it divides keys.
        strategy: Strategy,
        /// The form that fits.
        expected: &'static str,
    },
    /// The keys are none of the map's.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A key is none of the map's.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl Selection {
    /// The selection that names exactly `keys`.
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

    /// The keys as `map` has them.
    ///
    /// # Errors
    /// [`SelectionError`] when the form or a key does not fit the map.
    pub fn resolve(&self, map: &ShardMap) -> Result<KeySet, SelectionError> {
        let open = self.from.is_some() || self.to.is_some();
        let form = |expected: &'static str| SelectionError::Form {
            map: map.name.to_string(),
            strategy: map.strategy,
            expected,
        };
        let keys = match (map.strategy, &self.ranges, &self.buckets, &self.values) {
            (Strategy::Range, None, None, None) => KeySet::Range(vec![KeyRange {
                from: self.from.clone(),
                to: self.to.clone(),
            }]),
            (Strategy::Range, Some(ranges), None, None) if !open => KeySet::Range(ranges.clone()),
            (Strategy::Range, ..) => return Err(form("`from` and `to`, or by `ranges`")),
            (Strategy::Hash, None, Some(ranges), None) if !open => KeySet::Hash(Buckets {
                of: map.buckets,
                ranges: ranges.clone(),
            }),
            (Strategy::Hash, ..) => return Err(form("`buckets`")),
            (Strategy::List, None, None, Some(values)) if !open => {
                KeySet::list(values.iter().cloned())
            }
            (Strategy::List, ..) => return Err(form("`values`")),
        };
        Ok(map.accepted(keys)?)
    }
}
