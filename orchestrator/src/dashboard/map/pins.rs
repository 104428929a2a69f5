//! The hottest keys of a map, named below its bar.

use super::figures::{KeyFigures, MappingIndex};
use super::pieces::PicturePiece;
use crate::controller::{HotKeyLoad, MapLoad};
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;

/// The maximum number of named keys, and of characters of a name.
const MAX_PINS: usize = 6;
const MAX_PIN_NAME: usize = 18;

/// Returns the hottest keys with their positions, the hottest first.
pub(super) fn pins(
    map: &ShardMap,
    drawn: &[PicturePiece<'_>],
    load: Option<&MapLoad>,
    figures: &[KeyFigures],
) -> Vec<(f64, String)> {
    let Some(load) = load else {
        return Vec::new();
    };
    let index = MappingIndex::new(map);
    let position = |hot: &HotKeyLoad| {
        let keys = match map.buckets {
            0 => map.empty_key_set().only(&hot.key),
            buckets => KeySet::virtual_shard_of(&hot.key, buckets),
        };
        let place = index.places(&keys).first().copied()?;
        let piece = drawn.iter().find(|piece| piece.mappings.contains(&place))?;
        Some(piece.middle())
    };
    let pins = load
        .hottest
        .iter()
        .filter_map(|hot| Some((position(hot)?, hot)));
    let pins = pins.take(MAX_PINS).enumerate();
    pins.map(|(rank, (x, hot))| (x, pin_text(load, figures, rank, hot)))
        .collect()
}

/// Returns the text of a pin: the key, and its part of the writes if they were counted, otherwise of the rows. The first
/// one says what the pins are.
fn pin_text(load: &MapLoad, figures: &[KeyFigures], rank: usize, hot: &HotKeyLoad) -> String {
    let name = hot.key.to_string();
    let name: String = match name.chars().count() > MAX_PIN_NAME {
        true => name.chars().take(MAX_PIN_NAME - 1).chain(['…']).collect(),
        false => name,
    };
    let (title, of, part, whole) = if load.watched_ms > 0 {
        let whole: u64 = figures.iter().map(|figures| figures.writes).sum();
        ("Hottest key", "writes", hot.writes, whole)
    } else {
        let whole: u64 = figures.iter().map(|figures| figures.rows).sum();
        ("Key with the most rows", "rows", hot.rows, whole)
    };
    let part = match whole {
        0 => String::new(),
        whole => format!(", {:.1} % of {of}", part as f64 * 100.0 / whole as f64),
    };
    match rank {
        0 => format!("{title}: {name}{part}"),
        _ => format!("{name}{part}"),
    }
}
