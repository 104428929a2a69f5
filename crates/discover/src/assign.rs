//! Builds mappings that describe where the keys already are. No I/O.
//!
//! If the keys of each shard form an interval that no other shard's keys touch, the result is a range map. If this
//! holds for their hashes, it is a hash map. If the keys are few, it is a list map. A mapping that contradicts any key
//! is never returned.

use crate::extent::{KeyExtent, MAX_KEYS, ShardKeys};
use plans::id::ShardName;
use plans::key::Key;
use plans::key_set::{KeySet, bucket_of};
use plans::shard_map::{DEFAULT_BUCKETS, Mapping, MappingState};
use std::collections::BTreeMap;

/// With fewer keys on a shard, separate hash intervals could be a coincidence.
const MIN_KEYS_FOR_HASH: usize = 16;

/// The mappings with the reason for them, or the reason why there are none.
pub(crate) type Assigned = Result<(Vec<Mapping>, String), String>;

/// Creates a mapping.
pub(crate) fn active_mapping(keys: KeySet, shard: &ShardName) -> Mapping {
    Mapping {
        keys,
        shard: shard.clone(),
        state: MappingState::Active,
    }
}

/// Returns ranges if the extents do not overlap. A key between two extents belongs to the lower range.
pub(crate) fn by_range(mut extents: Vec<KeyExtent>) -> Assigned {
    extents.sort_by(|a, b| a.least.cmp(&b.least));
    for pair in extents.windows(2) {
        let [low, high] = pair else { continue };
        if low.greatest >= high.least {
            return Err(format!(
                "ranges overlap: shard {} has keys from {} to {}, shard {} from {} to {}",
                low.shard, low.least, low.greatest, high.shard, high.least, high.greatest
            ));
        }
    }
    let starts = extents
        .iter()
        .skip(1)
        .map(|extent| Some(extent.least.clone()));
    let ends: Vec<Option<Key>> = starts.chain([None]).collect();
    let mut from = None;
    let mut mappings = Vec::with_capacity(extents.len());
    for (extent, to) in extents.iter().zip(ends) {
        mappings.push(active_mapping(
            KeySet::range(from, to.clone()),
            &extent.shard,
        ));
        from = to;
    }
    let bounds = extents
        .iter()
        .map(|e| format!("{} has {} to {}", e.shard, e.least, e.greatest));
    let bounds: Vec<String> = bounds.collect();
    let why = format!(
        "a range map: {}; a new key between two ranges belongs to the lower shard, a key below or above all ranges to the first or last shard: change the bounds if your application uses others",
        bounds.join(", ")
    );
    Ok((mappings, why))
}

/// Returns ranges of virtual shards if the hash intervals of the shards' keys do not overlap.
pub(crate) fn by_hash(all: &[ShardKeys]) -> Assigned {
    if let Some(few) = all.iter().find(|keys| keys.keys.len() < MIN_KEYS_FOR_HASH) {
        return Err(format!(
            "hashes: shard {} has {} key(s), too few to recognize hash intervals",
            few.shard,
            few.keys.len()
        ));
    }
    let buckets = |keys: &ShardKeys| {
        let buckets = keys.keys.iter().map(|key| bucket_of(key, DEFAULT_BUCKETS));
        let (least, greatest) = (buckets.clone().min(), buckets.max());
        (
            least.unwrap_or(0),
            greatest.unwrap_or(0),
            keys.shard.clone(),
        )
    };
    let mut intervals: Vec<(u32, u32, ShardName)> = all.iter().map(buckets).collect();
    intervals.sort();
    let mut mappings = Vec::with_capacity(intervals.len());
    let mut from = 0;
    for (place, (_, greatest, shard)) in intervals.iter().enumerate() {
        let to = match intervals.get(place + 1) {
            None => DEFAULT_BUCKETS,
            Some((next, _, other)) if next <= greatest => {
                return Err(format!(
                    "hashes: those of shards {shard} and {other} overlap"
                ));
            }
            Some((next, ..)) => {
                let even = start_of_equal_part(place + 1, intervals.len());
                if (greatest + 1..=*next).contains(&even) {
                    even
                } else {
                    *next
                }
            }
        };
        mappings.push(active_mapping(
            KeySet::buckets(DEFAULT_BUCKETS, from, to),
            shard,
        ));
        from = to;
    }
    let why = format!(
        "a hash map: PostgreSQL's hashes of the keys of each shard form a separate interval of the {DEFAULT_BUCKETS} virtual shards"
    );
    Ok((mappings, why))
}

/// Returns the beginning of part `place`, if the keys are divided into `parts` equal parts.
fn start_of_equal_part(place: usize, parts: usize) -> u32 {
    let cut = u64::from(DEFAULT_BUCKETS) * u64::try_from(place).unwrap_or(u64::MAX);
    let cut = cut / u64::try_from(parts.max(1)).unwrap_or(u64::MAX);
    u32::try_from(cut).unwrap_or(DEFAULT_BUCKETS)
}

/// Returns single keys if they are few and each key is on only one shard.
pub(crate) fn by_list(all: &[ShardKeys]) -> Assigned {
    let mut owners: BTreeMap<&Key, &ShardName> = BTreeMap::new();
    for keys in all {
        for key in &keys.keys {
            if let Some(other) = owners.insert(key, &keys.shard) {
                return Err(format!(
                    "a list: key {key} is on shards {other} and {}",
                    keys.shard
                ));
            }
        }
    }
    if owners.len() > MAX_KEYS || all.iter().any(|keys| !keys.is_complete) {
        return Err(format!("a list: there are more than {MAX_KEYS} keys"));
    }
    let listed = all.iter().filter(|keys| !keys.keys.is_empty());
    let mappings =
        listed.map(|keys| active_mapping(KeySet::list(keys.keys.iter().cloned()), &keys.shard));
    let why = format!(
        "a list map of {} keys; a new key has no owner until `shardwright map assign` gives it one",
        owners.len()
    );
    Ok((mappings.collect(), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(shard: &str, least: i64, greatest: i64) -> KeyExtent {
        KeyExtent {
            shard: ShardName::from(shard),
            least: Key::Int(least),
            greatest: Key::Int(greatest),
        }
    }

    fn keys(shard: &str, keys: impl IntoIterator<Item = i64>) -> ShardKeys {
        ShardKeys {
            shard: ShardName::from(shard),
            keys: keys.into_iter().map(Key::Int).collect(),
            is_complete: true,
        }
    }

    #[test]
    fn the_bound_is_the_least_key_of_the_higher_shard() {
        let (mappings, _) = by_range(vec![extent("b", 600, 900), extent("a", 1, 500)]).unwrap();
        let range = |from: Option<i64>, to: Option<i64>| {
            KeySet::range(from.map(Key::Int), to.map(Key::Int))
        };
        assert_eq!(
            mappings[0],
            active_mapping(range(None, Some(600)), &ShardName::from("a"))
        );
        assert_eq!(
            mappings[1],
            active_mapping(range(Some(600), None), &ShardName::from("b"))
        );
        let overlap = by_range(vec![extent("a", 1, 600), extent("b", 600, 900)]).unwrap_err();
        assert!(overlap.contains("ranges overlap"), "{overlap}");
    }

    #[test]
    fn separate_hash_intervals_become_equal_parts() {
        let half = |upper: bool| {
            (0..500).filter(move |n| (bucket_of(&Key::Int(*n), DEFAULT_BUCKETS) >= 2048) == upper)
        };
        let (mappings, _) = by_hash(&[keys("a", half(true)), keys("b", half(false))]).unwrap();
        assert_eq!(
            mappings[0],
            active_mapping(KeySet::buckets(4096, 0, 2048), &ShardName::from("b"))
        );
        assert_eq!(
            mappings[1],
            active_mapping(KeySet::buckets(4096, 2048, 4096), &ShardName::from("a"))
        );
        let odd = |rest: i64| (0..500).filter(move |n| n % 2 == rest);
        assert!(by_hash(&[keys("a", odd(0)), keys("b", odd(1))]).is_err());
        assert!(by_hash(&[keys("a", [1]), keys("b", [2])]).is_err());
    }

    #[test]
    fn a_key_on_two_shards_prevents_a_list() {
        let (mappings, _) = by_list(&[keys("a", [1, 3]), keys("b", [2])]).unwrap();
        assert_eq!(mappings.len(), 2);
        let twice = by_list(&[keys("a", [1, 3]), keys("b", [3])]).unwrap_err();
        assert!(twice.contains("key 3 is on shards a and b"), "{twice}");
    }
}
