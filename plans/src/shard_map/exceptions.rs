//! Exceptions of a hash map: single keys whose owner is not that of their virtual shard.

use super::{MapError, Mapping, MappingState, ShardMap};
use crate::id::ShardName;
use crate::key::Key;
use crate::key_set::{BucketRange, Buckets, KeySet, bucket_of};
use std::collections::BTreeMap;

impl ShardMap {
    /// Returns the single keys of a hash map that have an owner of their own, in key order, each with this owner.
    pub fn exceptions(&self) -> impl Iterator<Item = (&Key, &ShardName)> {
        self.mappings.iter().map_while(|mapping| {
            let key = mapping.keys.exception()?;
            Some((key, &mapping.shard))
        })
    }

    /// Returns the keys of a request that names whole virtual shards. Exceptions that another shard than `source` owns are
    /// left out, except for `named` ones.
    #[must_use]
    pub(crate) fn without_exceptions_of_others(
        &self,
        keys: &KeySet,
        source: &ShardName,
        named: &[Key],
    ) -> KeySet {
        let others = self
            .exceptions()
            .filter(|(key, owner)| *owner != source && !named.contains(key));
        let others: Vec<Key> = others.map(|(key, _)| key.clone()).collect();
        match others.as_slice() {
            [] => keys.clone(),
            _ => keys.minus(&KeySet::single_keys(self.buckets, others)),
        }
    }

    /// Returns the mappings of a hash map in their only form: the exceptions in key order, then the ranges of virtual
    /// shards. A single key takes precedence over its virtual shard. It is no exception if both have the same owner.
    pub(super) fn with_exceptions_settled(
        &self,
        mappings: Vec<Mapping>,
    ) -> Result<Vec<Mapping>, MapError> {
        let mut parts = HashParts::default();
        for mapping in mappings {
            self.divide(mapping, &mut parts)?;
        }
        let HashParts {
            mut ranges,
            mut single,
            missing,
        } = parts;
        ranges.sort_by_key(|(range, _)| *range);
        self.check_ranges(&ranges)?;
        if let Some(key) = missing.iter().find(|key| !single.contains_key(key)) {
            return Err(MapError::Shape {
                map: self.name.clone(),
                problem: format!("its virtual shards except key {key}, which has no owner"),
            });
        }
        let range_of = |key: &Key| {
            let bucket = bucket_of(key, self.buckets);
            let after = ranges.partition_point(|(range, _)| range.from <= bucket);
            let index = after.checked_sub(1)?;
            (bucket < ranges[index].0.to).then_some(index)
        };
        single.retain(|key, owner| {
            range_of(key).is_none_or(|index| ranges[index].1.shard != owner.shard)
        });
        let mut settled: Vec<Mapping> = Vec::with_capacity(single.len() + ranges.len());
        let mut missing: Vec<Vec<Key>> = vec![Vec::new(); ranges.len()];
        for (key, owner) in single {
            if let Some(index) = range_of(&key) {
                missing[index].push(key.clone());
            }
            settled.push(owner.mapping(KeySet::single_keys(self.buckets, [key])));
        }
        let with_missing = ranges.into_iter().zip(missing);
        settled.extend(with_missing.map(|((range, owner), missing)| {
            owner.mapping(KeySet::Hash(Buckets {
                of: self.buckets,
                ranges: vec![range],
                except: missing.into_iter().collect(),
            }))
        }));
        Ok(settled)
    }

    /// Adds the ranges and the single keys of a mapping to `parts`.
    fn divide(&self, mapping: Mapping, parts: &mut HashParts) -> Result<(), MapError> {
        let KeySet::Hash(buckets) = &mapping.keys else {
            return Ok(());
        };
        let owner = PartOwner {
            shard: mapping.shard,
            state: mapping.state,
        };
        let (missing, single) = buckets.exceptions();
        parts.missing.extend(missing.into_iter().cloned());
        for key in single {
            let other = parts.single.insert(key.clone(), owner.clone());
            if other.is_some_and(|other| other.shard != owner.shard) {
                let keys = KeySet::single_keys(self.buckets, [key.clone()]);
                return Err(self.overlap_error(keys.clone(), keys));
            }
        }
        let ranges = buckets.ranges.iter();
        parts
            .ranges
            .extend(ranges.map(|range| (*range, owner.clone())));
        Ok(())
    }

    fn check_ranges(&self, ranges: &[(BucketRange, PartOwner)]) -> Result<(), MapError> {
        let keys = |range: BucketRange| KeySet::buckets(self.buckets, range.from, range.to);
        for pair in ranges.windows(2) {
            let (first, second) = (pair[0].0, pair[1].0);
            if second.from < first.to {
                return Err(self.overlap_error(keys(first), keys(second)));
            }
        }
        Ok(())
    }

    pub(super) fn overlap_error(&self, first: KeySet, second: KeySet) -> MapError {
        MapError::Overlap {
            map: self.name.clone(),
            first: Box::new(first),
            second: Box::new(second),
        }
    }
}

/// The parts of the mappings of a hash map.
#[derive(Default)]
struct HashParts {
    ranges: Vec<(BucketRange, PartOwner)>,
    single: BTreeMap<Key, PartOwner>,
    /// Keys that a range of virtual shards leaves out.
    missing: Vec<Key>,
}

/// The owner of a part, and whether the part moves.
#[derive(Clone)]
struct PartOwner {
    shard: ShardName,
    state: MappingState,
}

impl PartOwner {
    fn mapping(self, keys: KeySet) -> Mapping {
        Mapping {
            keys,
            shard: self.shard,
            state: self.state,
        }
    }
}
