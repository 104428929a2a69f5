//! The measured load of each mapping: the items of the last measurement, assigned to the mappings of the drawn version.

use crate::controller::{MapLoad, ShardItem};
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, ShardMap};
use std::collections::HashMap;
use std::ops::AddAssign;

/// What decides the width of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BarMeasure {
    /// The number of keys, as far as it is known.
    Keys,
    /// The estimated rows.
    Rows,
    /// The estimated bytes.
    Bytes,
    /// The row changes that were counted.
    Writes,
}

impl BarMeasure {
    /// All measures, in the order of the choice.
    pub(super) const ALL: [Self; 4] = [Self::Keys, Self::Rows, Self::Bytes, Self::Writes];

    /// Returns the name in the URL and on the page.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Rows => "rows",
            Self::Bytes => "bytes",
            Self::Writes => "writes",
        }
    }

    /// Returns the measure with this name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.name() == name)
    }
}

/// The load of some keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KeyFigures {
    pub(super) rows: u64,
    pub(super) bytes: u64,
    pub(super) writes: u64,
}

impl KeyFigures {
    /// Returns the figure of a measure; 0 for the number of keys, which is not measured.
    pub(super) fn of(self, measure: BarMeasure) -> u64 {
        match measure {
            BarMeasure::Keys => 0,
            BarMeasure::Rows => self.rows,
            BarMeasure::Bytes => self.bytes,
            BarMeasure::Writes => self.writes,
        }
    }

    /// Returns one of `parts` equal parts.
    fn divided(self, parts: u64) -> Self {
        Self {
            rows: self.rows / parts,
            bytes: self.bytes / parts,
            writes: self.writes / parts,
        }
    }
}

impl AddAssign for KeyFigures {
    fn add_assign(&mut self, other: Self) {
        self.rows = self.rows.saturating_add(other.rows);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.writes = self.writes.saturating_add(other.writes);
    }
}

/// Returns the figures of an item.
pub(super) fn of_item(item: &ShardItem) -> KeyFigures {
    KeyFigures {
        rows: item.item.rows,
        bytes: item.item.bytes,
        writes: item.item.writes,
    }
}

/// Returns the load of each mapping, in the order of the mappings. An item whose keys are in several mappings counts
/// for each of them in equal parts: how its load is distributed was not measured.
pub(super) fn of_mappings(map: &ShardMap, load: &MapLoad) -> Vec<KeyFigures> {
    let mut all = vec![KeyFigures::default(); map.mappings.len()];
    let index = MappingIndex::new(map);
    for item in &load.items {
        let places = index.places(&item.item.keys);
        let parts = u64::try_from(places.len()).unwrap_or(u64::MAX).max(1);
        for place in places {
            if let Some(figures) = all.get_mut(place) {
                *figures += of_item(item).divided(parts);
            }
        }
    }
    all
}

/// Finds the mapping of a key set without a scan of all mappings.
pub(super) struct MappingIndex<'a> {
    mappings: &'a [Mapping],
    /// The number of exceptions of a hash map, which come first.
    exceptions: usize,
    /// The mapping of each key of a list map.
    listed: HashMap<&'a Key, usize>,
}

impl<'a> MappingIndex<'a> {
    pub(super) fn new(map: &'a ShardMap) -> Self {
        let mappings = map.mappings.as_slice();
        let listed = mappings.iter().enumerate().flat_map(|(place, mapping)| {
            let keys = match &mapping.keys {
                KeySet::List(keys) => Some(keys),
                KeySet::Range(_) | KeySet::Hash(_) => None,
            };
            keys.into_iter().flatten().map(move |key| (key, place))
        });
        Self {
            mappings,
            exceptions: mappings.partition_point(|mapping| mapping.keys.exception().is_some()),
            listed: listed.collect(),
        }
    }

    /// Returns the mapping in which each piece of `keys` begins.
    pub(super) fn places(&self, keys: &KeySet) -> Vec<usize> {
        let mut places: Vec<usize> = match keys {
            KeySet::Range(ranges) => {
                let starts = ranges.iter().map(|range| range.from.as_ref());
                starts.filter_map(|key| self.of_range(key)).collect()
            }
            KeySet::Hash(buckets) if buckets.ranges.is_empty() => {
                let keys = buckets.except.iter();
                keys.filter_map(|key| self.of_exception(key)).collect()
            }
            KeySet::Hash(buckets) => {
                let starts = buckets.ranges.iter().map(|range| range.from);
                starts.filter_map(|bucket| self.of_bucket(bucket)).collect()
            }
            KeySet::List(keys) => {
                let keys = keys.iter();
                keys.filter_map(|key| self.listed.get(key).copied())
                    .collect()
            }
        };
        places.dedup();
        places
    }

    fn of_range(&self, from: Option<&Key>) -> Option<usize> {
        let Some(key) = from else { return Some(0) };
        let after = self
            .mappings
            .partition_point(|mapping| first_key(&mapping.keys).is_none_or(|first| first <= key));
        after.checked_sub(1)
    }

    fn of_exception(&self, key: &Key) -> Option<usize> {
        let exceptions = &self.mappings[..self.exceptions];
        let found = exceptions.binary_search_by(|mapping| mapping.keys.exception().cmp(&Some(key)));
        found.ok()
    }

    fn of_bucket(&self, bucket: u32) -> Option<usize> {
        let ranges = &self.mappings[self.exceptions..];
        let after = ranges.partition_point(|mapping| {
            matches!(&mapping.keys, KeySet::Hash(keys) if keys.ranges.first().is_some_and(|range| range.from <= bucket))
        });
        after.checked_sub(1).map(|place| place + self.exceptions)
    }
}

/// Returns the lower bound of a range; `None` if there is none.
pub(super) fn first_key(keys: &KeySet) -> Option<&Key> {
    match keys {
        KeySet::Range(ranges) => ranges.first().and_then(|range| range.from.as_ref()),
        KeySet::Hash(_) | KeySet::List(_) => None,
    }
}

/// Returns the upper bound of a range; `None` if there is none.
pub(super) fn end_key(keys: &KeySet) -> Option<&Key> {
    match keys {
        KeySet::Range(ranges) => ranges.last().and_then(|range| range.to.as_ref()),
        KeySet::Hash(_) | KeySet::List(_) => None,
    }
}
