//! The legend of a map's picture: each shard with its colour, what it owns, and its part of the chosen measure.

use super::figures::{BarMeasure, KeyFigures};
use super::query::MapSight;
use crate::dashboard::bars::Palette;
use crate::view::figures::{bytes, count};
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::collections::HashMap;

/// The maximum number of listed shards.
const MAX_ENTRIES: usize = 24;

/// A shard in the legend.
pub(super) struct MapLegendEntry {
    pub(super) shard: String,
    pub(super) class: String,
    /// What the shard owns in the chosen measure.
    pub(super) amount: String,
    /// The part of the whole, if the measure has one.
    pub(super) percent: String,
    pub(super) is_chosen: bool,
    /// The URL that emphasizes the shard, or that ends the emphasis.
    pub(super) href: String,
}

/// What a shard owns.
#[derive(Default, Clone, Copy)]
struct OwnedPieces {
    pieces: usize,
    keys: u64,
    figures: KeyFigures,
}

/// Returns the entries, the shards with the most first, and the number of shards that are not listed. Shards of
/// `fleet` that own nothing come last.
pub(super) fn entries(
    map: &ShardMap,
    fleet: &[ShardName],
    palette: &Palette,
    sight: &MapSight,
    figures: &[KeyFigures],
) -> (Vec<MapLegendEntry>, usize) {
    let owned = owned(map, figures);
    let amount = |owned: &OwnedPieces| match sight.by {
        BarMeasure::Keys if owned.keys > 0 => owned.keys,
        BarMeasure::Keys => u64::try_from(owned.pieces).unwrap_or(u64::MAX),
        measure => owned.figures.of(measure),
    };
    let total: u64 = owned.values().map(amount).sum();
    let mut shards: Vec<(&ShardName, OwnedPieces)> = owned
        .iter()
        .map(|(shard, owned)| (*shard, *owned))
        .collect();
    shards.sort_by(|a, b| amount(&b.1).cmp(&amount(&a.1)).then_with(|| a.0.cmp(b.0)));
    let without = fleet.iter().filter(|shard| !owned.contains_key(*shard));
    shards.extend(without.map(|shard| (shard, OwnedPieces::default())));
    let hidden = shards.len().saturating_sub(MAX_ENTRIES);
    let entry = |(shard, owned): (&ShardName, OwnedPieces)| {
        let is_chosen = sight.shard.as_deref() == Some(shard.as_str());
        let has_parts = sight.by != BarMeasure::Keys || owned.keys > 0;
        let percent = amount(&owned) as f64 * 100.0 / total.max(1) as f64;
        MapLegendEntry {
            shard: shard.to_string(),
            class: palette.class(shard),
            amount: amount_text(map, sight.by, &owned),
            percent: match has_parts && total > 0 && owned.pieces > 0 {
                true => format!("{percent:.1} %"),
                false => String::new(),
            },
            is_chosen,
            href: sight
                .of_shard((!is_chosen).then(|| shard.to_string()))
                .href(),
        }
    };
    let listed = shards.into_iter().take(MAX_ENTRIES).map(entry);
    (listed.collect(), hidden)
}

fn owned<'a>(map: &'a ShardMap, figures: &[KeyFigures]) -> HashMap<&'a ShardName, OwnedPieces> {
    let mut owned: HashMap<&ShardName, OwnedPieces> = HashMap::new();
    for (place, mapping) in map.mappings.iter().enumerate() {
        let sum = owned.entry(&mapping.shard).or_default();
        sum.pieces += 1;
        sum.keys += match &mapping.keys {
            KeySet::Range(_) => 0,
            KeySet::Hash(set) => {
                let sizes = set.ranges.iter().map(|range| range.to - range.from);
                u64::from(sizes.sum::<u32>())
            }
            KeySet::List(keys) => u64::try_from(keys.len()).unwrap_or(u64::MAX),
        };
        if let Some(figures) = figures.get(place) {
            sum.figures += *figures;
        }
    }
    owned
}

fn amount_text(map: &ShardMap, by: BarMeasure, owned: &OwnedPieces) -> String {
    let signed = |number: u64| count(i64::try_from(number).unwrap_or(i64::MAX));
    if owned.pieces == 0 {
        return "owns nothing".to_owned();
    }
    match by {
        BarMeasure::Rows => format!("{} rows", signed(owned.figures.rows)),
        BarMeasure::Bytes => bytes(i64::try_from(owned.figures.bytes).unwrap_or(i64::MAX)),
        BarMeasure::Writes => format!("{} writes counted", signed(owned.figures.writes)),
        BarMeasure::Keys if map.buckets > 0 => format!("{} virtual shards", signed(owned.keys)),
        BarMeasure::Keys if owned.keys > 0 => format!("{} keys", signed(owned.keys)),
        BarMeasure::Keys => match owned.pieces {
            1 => "1 range".to_owned(),
            several => format!(
                "{} ranges",
                count(i64::try_from(several).unwrap_or(i64::MAX))
            ),
        },
    }
}
