//! The legend of a map's picture: each shard with its colour, what it owns, and its part of the chosen measure.

use super::figures::BarMeasure;
use super::owned::{OwnedByShard, OwnedKeys};
use super::query::MapSight;
use crate::dashboard::bars::Palette;
use crate::view::figures::{bytes, count};
use plans::id::ShardName;

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
    /// False if no key of the map is on the shard.
    pub(super) owns_keys: bool,
    pub(super) is_chosen: bool,
    /// The URL that emphasizes the shard, or that ends the emphasis.
    pub(super) href: String,
}

/// Returns the entries, the shards with the most first, and the number of shards that are not listed. Shards of
/// `fleet` that own nothing come last.
pub(super) fn entries(
    owned: &OwnedByShard<'_>,
    fleet: &[ShardName],
    palette: &Palette,
    sight: &MapSight,
    buckets: u32,
) -> (Vec<MapLegendEntry>, usize) {
    let amount = |owned: &OwnedKeys| match sight.by {
        BarMeasure::Keys => owned.number(),
        measure @ (BarMeasure::Rows | BarMeasure::Bytes | BarMeasure::Writes) => {
            owned.figures.of(measure)
        }
    };
    let total: u64 = owned.values().map(amount).sum();
    let mut shards: Vec<(&ShardName, OwnedKeys)> = owned
        .iter()
        .map(|(shard, owned)| (*shard, *owned))
        .collect();
    shards.sort_by(|a, b| amount(&b.1).cmp(&amount(&a.1)).then_with(|| a.0.cmp(b.0)));
    let without = fleet.iter().filter(|shard| !owned.contains_key(*shard));
    shards.extend(without.map(|shard| (shard, OwnedKeys::default())));
    let hidden = shards.len().saturating_sub(MAX_ENTRIES);
    let entry = |(shard, owned): (&ShardName, OwnedKeys)| {
        let is_chosen = sight.shard.as_deref() == Some(shard.as_str());
        let has_parts = sight.by != BarMeasure::Keys || buckets == 0 && owned.ranges == 0;
        let percent = amount(&owned) as f64 * 100.0 / total.max(1) as f64;
        MapLegendEntry {
            shard: shard.to_string(),
            class: palette.class(shard),
            amount: amount_text(buckets, sight.by, &owned),
            percent: match has_parts && total > 0 && owned.number() > 0 {
                true => format!("{percent:.1} %"),
                false => String::new(),
            },
            owns_keys: owned.number() > 0,
            is_chosen,
            href: sight
                .of_shard((!is_chosen).then(|| shard.to_string()))
                .href(),
        }
    };
    let listed = shards.into_iter().take(MAX_ENTRIES).map(entry);
    (listed.collect(), hidden)
}

fn amount_text(buckets: u32, by: BarMeasure, owned: &OwnedKeys) -> String {
    let signed = |number: u64| count(i64::try_from(number).unwrap_or(i64::MAX));
    if owned.number() == 0 {
        return String::new();
    }
    match by {
        BarMeasure::Rows => format!("{} rows", signed(owned.figures.rows)),
        BarMeasure::Bytes => bytes(i64::try_from(owned.figures.bytes).unwrap_or(i64::MAX)),
        BarMeasure::Writes => format!("{} writes counted", signed(owned.figures.writes)),
        BarMeasure::Keys => owned.text(buckets),
    }
}
