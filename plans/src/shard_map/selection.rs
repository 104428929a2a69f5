//! Keys in the syntax of a request, with one form for each strategy.

use super::{MapError, ShardMap, Strategy};
use crate::key::{Key, KeyError};
use crate::key_set::{BucketRange, Buckets, KeyRange, KeySet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A key set: `from` and `to` (or `ranges`) for a range map, `buckets` or `values` or both for a hash map, `values`
/// for a list map.
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
    /// Keys of the ranges of virtual shards that do not belong to the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub except: Option<Vec<Key>>,
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
            KeySet::Hash(buckets) => {
                let (missing, single) = buckets.exceptions();
                let keys = |keys: Vec<&Key>| {
                    let keys: Vec<Key> = keys.into_iter().cloned().collect();
                    Some(keys).filter(|keys| !keys.is_empty())
                };
                let has_ranges = single.is_empty() || !buckets.ranges.is_empty();
                Self {
                    buckets: has_ranges.then(|| buckets.ranges.clone()),
                    except: keys(missing),
                    values: keys(single),
                    ..Self::default()
                }
            }
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
        if self.except.is_some() && self.buckets.is_none() {
            return Err(form_error("`except` only together with `buckets`"));
        }
        let keys = match (map.strategy, &self.ranges, &self.buckets, &self.values) {
            (Strategy::Range, None, None, None) => KeySet::Range(vec![KeyRange {
                from: self.from.clone(),
                to: self.to.clone(),
            }]),
            (Strategy::Range, Some(ranges), None, None) if !has_bounds => {
                KeySet::Range(ranges.clone())
            }
            (Strategy::Range, ..) => return Err(form_error("`from` and `to`, or by `ranges`")),
            (Strategy::Hash, None, None, None) => {
                return Err(form_error("`buckets`, `values` or both"));
            }
            (Strategy::Hash, None, ranges, values) if !has_bounds => {
                return self.resolve_hash(map, ranges.as_deref(), values.as_deref());
            }
            (Strategy::Hash, ..) => return Err(form_error("`buckets`, `values` or both")),
            (Strategy::List, None, None, Some(values)) if !has_bounds => {
                KeySet::list(values.iter().cloned())
            }
            (Strategy::List, ..) => return Err(form_error("`values`")),
        };
        Ok(map.accepted(keys)?)
    }

    /// Returns the virtual shards of `ranges` without the keys of `except`, and `values`.
    fn resolve_hash(
        &self,
        map: &ShardMap,
        ranges: Option<&[BucketRange]>,
        values: Option<&[Key]>,
    ) -> Result<KeySet, SelectionError> {
        let single = |keys: Option<&[Key]>| {
            let keys = keys.into_iter().flatten().cloned();
            map.accepted(KeySet::single_keys(map.buckets, keys))
        };
        let ranges = map.accepted(KeySet::Hash(Buckets {
            of: map.buckets,
            ranges: ranges.unwrap_or_default().to_vec(),
            except: BTreeSet::new(),
        }))?;
        let ranges = ranges.minus(&single(self.except.as_deref())?);
        Ok(ranges.union(&single(values)?))
    }
}
