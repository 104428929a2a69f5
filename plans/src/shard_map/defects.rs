//! What is wrong with a map by itself: gaps, overlaps, shards that nobody registered.
//!
//! Mappings are looked at as they are given, so that an imported map can be checked before it is accepted.
//! Keys before the first range and after the last one are no gap: a map may end there on purpose.

use super::{Mapping, ShardMap, Strategy};
use crate::fleet::ShardInfo;
use crate::id::ShardName;
use crate::inspection::check::{Defect, DefectKind};
use crate::key_set::{Buckets, KeySet};
use std::collections::BTreeSet;

impl ShardMap {
    /// Everything that some shard owns.
    #[must_use]
    pub fn mapped(&self) -> KeySet {
        let all = self.mappings.iter();
        all.fold(self.no_keys(), |all, mapping| all.union(&mapping.keys))
    }

    /// Keys that no shard owns although shards own keys before and after them; none in a list map.
    #[must_use]
    pub fn gaps(&self) -> KeySet {
        let mapped = self.mapped().normal();
        let whole = match &mapped {
            KeySet::Range(ranges) => match (ranges.first(), ranges.last()) {
                (Some(first), Some(last)) => KeySet::range(first.from.clone(), last.to.clone()),
                (_, _) => return mapped,
            },
            KeySet::Hash(Buckets { of, .. }) => KeySet::buckets(*of, 0, *of),
            KeySet::List(_) => return mapped.none(),
        };
        whole.minus(&mapped)
    }
}

/// Gaps, overlaps and unknown shards of a map whose mappings may not have been validated.
///
/// Overlaps are found by a sweep over all pieces, `O(n log n)`.
#[must_use]
pub fn defects(map: &ShardMap, fleet: &[ShardInfo]) -> Vec<Defect> {
    let mut found: Vec<Defect> = map
        .gaps()
        .pieces()
        .into_iter()
        .map(|keys| gap(map, &keys))
        .collect();
    found.extend(overlaps(map));
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
                mend: None,
            });
        }
    }
    found
}

fn gap(map: &ShardMap, keys: &KeySet) -> Defect {
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
        mend: None,
    }
}

fn overlaps(map: &ShardMap) -> Vec<Defect> {
    let mut spans: Vec<_> = map
        .mappings
        .iter()
        .enumerate()
        .filter(|(_, mapping)| !mapping.keys.is_empty())
        .flat_map(|(index, m)| m.keys.spans().into_iter().map(move |span| (span, index)))
        .collect();
    spans.sort();
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    // The span that reaches furthest of all that began before.
    let mut furthest: Option<(Option<Vec<u8>>, usize)> = None;
    for ((start, end), index) in spans {
        if let Some((reach, other)) = &furthest {
            let apart = matches!((reach, &start), (Some(reach), Some(start)) if reach <= start);
            if !apart {
                pairs.insert((*other.min(&index), *other.max(&index)));
            }
            let further = match (&end, reach) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(end), Some(reach)) => end > reach,
            };
            if !further {
                continue;
            }
        }
        furthest = Some((end, index));
    }
    pairs
        .into_iter()
        .map(|(a, b)| overlap(map, &map.mappings[a], &map.mappings[b]))
        .collect()
}

fn overlap(map: &ShardMap, first: &Mapping, second: &Mapping) -> Defect {
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
        mend: None,
    }
}
