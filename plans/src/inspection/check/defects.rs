//! Finds defects of a map itself: gaps, overlaps, and shards that are not registered.
//!
//! Mappings are checked in their original form, so that an imported map can be checked before it is accepted. Keys
//! before the first range and after the last one are no gap, because a map may end there intentionally.

use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::inspection::check::{Defect, DefectKind};
use crate::key_set::KeySet;
use crate::shard_map::{Mapping, ShardMap, Strategy};
use std::collections::BTreeSet;

/// Returns gaps, overlaps and unknown shards of a map whose mappings may not have been validated.
///
/// A sweep over all pieces finds the overlaps, in `O(n log n)`.
#[must_use]
pub fn defects(map: &ShardMap, fleet: &[ShardInfo]) -> Vec<Defect> {
    let mut found: Vec<Defect> = map
        .gaps()
        .pieces()
        .into_iter()
        .map(|keys| gap_defect(map, &keys))
        .collect();
    found.extend(overlap_defects(map));
    let known: BTreeSet<&ShardName> = fleet.iter().map(|shard| &shard.name).collect();
    for shard in map.shards() {
        if !known.contains(&shard) {
            found.push(Defect {
                kind: DefectKind::UnknownShard,
                shards: vec![shard.clone()],
                object: format!("shard {shard}"),
                detail: format!("it owns {} and is not registered", map.owned_by(&shard)),
                count: 1,
                sample: Vec::new(),
                repair: None,
            });
        }
    }
    found
}

/// Returns the defect of keys that no shard owns.
fn gap_defect(map: &ShardMap, keys: &KeySet) -> Defect {
    let count = match keys {
        KeySet::Hash(buckets) => buckets
            .ranges
            .iter()
            .map(|range| u64::from(range.to.saturating_sub(range.from)))
            .sum(),
        KeySet::Range(_) | KeySet::List(_) => 1,
    };
    Defect {
        kind: DefectKind::Gap,
        shards: Vec::new(),
        object: keys.to_string(),
        detail: format!("no shard of map {} owns these keys", map.name),
        count,
        sample: Vec::new(),
        repair: None,
    }
}

/// Returns a defect for each pair of mappings that have keys in common.
fn overlap_defects(map: &ShardMap) -> Vec<Defect> {
    let mut spans: Vec<_> = map
        .mappings
        .iter()
        .enumerate()
        .filter(|(_, mapping)| !mapping.keys.is_empty())
        .flat_map(|(index, m)| m.keys.spans().into_iter().map(move |span| (span, index)))
        .collect();
    spans.sort();
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    // The greatest end of the earlier spans, and the index of its mapping.
    let mut furthest: Option<(Option<Vec<u8>>, usize)> = None;
    for ((start, end), index) in spans {
        if let Some((greatest_end, other)) = &furthest {
            let is_apart =
                matches!((greatest_end, &start), (Some(end), Some(start)) if end <= start);
            if !is_apart {
                pairs.insert((*other.min(&index), *other.max(&index)));
            }
            let is_further = match (&end, greatest_end) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(end), Some(greatest_end)) => end > greatest_end,
            };
            if !is_further {
                continue;
            }
        }
        furthest = Some((end, index));
    }
    pairs
        .into_iter()
        .map(|(a, b)| overlap_defect(map, &map.mappings[a], &map.mappings[b]))
        .collect()
}

/// Returns the defect of two mappings that have keys in common.
fn overlap_defect(map: &ShardMap, first: &Mapping, second: &Mapping) -> Defect {
    let common = first.keys.intersection(&second.keys);
    let sample = match (&common, map.strategy) {
        (KeySet::List(keys), Strategy::List) => keys.iter().take(20).cloned().collect(),
        (_, _) => Vec::new(),
    };
    Defect {
        kind: DefectKind::Overlap,
        shards: vec![first.shard.clone(), second.shard.clone()],
        object: common.to_string(),
        detail: format!("{} and {} name these keys", first.keys, second.keys),
        count: 1,
        sample,
        repair: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{MapName, MapVersion};
    use crate::key::{Key, KeyType};
    use crate::shard_map::{MapSettings, MappingState};

    fn found(strategy: Strategy, mappings: Vec<(KeySet, &str)>) -> Vec<(DefectKind, String)> {
        let map = ShardMap {
            name: MapName::from("m"),
            strategy,
            key: vec![KeyType::Bigint],
            buckets: if strategy == Strategy::Hash { 16 } else { 0 },
            version: MapVersion(1),
            incarnation: String::new(),
            migration: None,
            settings: MapSettings::default(),
            mappings: mappings
                .into_iter()
                .map(|(keys, shard)| Mapping {
                    keys,
                    shard: shard.into(),
                    state: MappingState::Active,
                })
                .collect(),
        };
        let fleet = ["a", "b"].map(|name| ShardInfo {
            name: name.into(),
            number: 1,
            labels: [].into(),
            capacity: 100,
            space: None,
        });
        let defects = defects(&map, &fleet).into_iter();
        defects.map(|defect| (defect.kind, defect.object)).collect()
    }

    #[test]
    fn virtual_shards_without_an_owner_are_gaps_also_at_the_ends() {
        let buckets = |from, to| KeySet::buckets(16, from, to);
        let complete = vec![(buckets(0, 8), "a"), (buckets(8, 16), "b")];
        assert_eq!(found(Strategy::Hash, complete), []);
        let with_gaps = vec![(buckets(0, 8), "a"), (buckets(9, 15), "b")];
        let gap = |text: &str| (DefectKind::Gap, text.to_owned());
        assert_eq!(
            found(Strategy::Hash, with_gaps),
            [gap("buckets [8, 9)"), gap("buckets [15, 16)")]
        );
    }

    #[test]
    fn a_mapping_within_an_earlier_mapping_overlaps_it() {
        let range = |from, to| KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)));
        let mappings = vec![
            (range(0, 100), "a"),
            (range(10, 20), "b"),
            (range(50, 60), "a"),
        ];
        let overlap = |text: &str| (DefectKind::Overlap, text.to_owned());
        assert_eq!(
            found(Strategy::Range, mappings),
            [overlap("[10, 20)"), overlap("[50, 60)")]
        );
    }

    #[test]
    fn a_key_in_two_lists_overlaps_and_lists_have_no_gaps() {
        let list = |keys: &[i64]| KeySet::list(keys.iter().map(|key| Key::Int(*key)));
        let mappings = vec![(list(&[1, 5]), "a"), (list(&[5, 9]), "b")];
        assert_eq!(
            found(Strategy::List, mappings),
            [(DefectKind::Overlap, "keys 5".to_owned())]
        );
    }
}
