//! Keys at which a piece can be split: the bounds of measured items, or, without a measurement, keys at equal distances.

use super::figures::{BarMeasure, KeyFigures, MappingIndex, end_key, first_key, of_item};
use super::pieces::{PicturePiece, number};
use crate::controller::MapLoad;
use crate::dashboard::request::key_input;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use serde::Serialize;

/// The number of cuts of a piece without a measurement, and the maximum number of a measured piece.
const EQUAL_CUTS: i64 = 15;
const MAX_CUTS: usize = 64;

/// A key at which a piece can be split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct PieceCut {
    /// The key, or the virtual shard, as the form of a request takes it.
    pub(super) at: String,
    /// The position in the bar, in percent.
    pub(super) x: f64,
    /// The measured rows, bytes and writes before the key; `None`: not measured.
    pub(super) before: Option<[u64; 3]>,
}

/// Returns the cuts of a piece, in key order.
pub(super) fn cuts(
    map: &ShardMap,
    piece: &PicturePiece<'_>,
    load: Option<&MapLoad>,
    by: BarMeasure,
) -> Vec<PieceCut> {
    let measured = load.map_or_else(Vec::new, |load| measured(map, piece, load, by));
    match measured.len() {
        0 => equal(map, piece),
        few if few <= MAX_CUTS => measured,
        many => {
            let step = many.div_ceil(MAX_CUTS);
            measured.into_iter().step_by(step).collect()
        }
    }
}

/// Returns the cuts between measured items.
fn measured(
    map: &ShardMap,
    piece: &PicturePiece<'_>,
    load: &MapLoad,
    by: BarMeasure,
) -> Vec<PieceCut> {
    let Some(shard) = piece.shard else {
        return Vec::new();
    };
    let index = MappingIndex::new(map);
    let own = load.items.iter().filter(|item| &item.shard == shard);
    let mut items: Vec<(&KeySet, KeyFigures)> = own
        .filter(|item| {
            let places = index.places(&item.item.keys);
            matches!(places.as_slice(), [only] if piece.mappings.contains(only))
        })
        .map(|item| (&item.item.keys, of_item(item)))
        .collect();
    items.sort_by(|a, b| a.0.cmp(b.0));
    let count = items.len().max(1) as f64;
    let total = items
        .iter()
        .fold(KeyFigures::default(), |mut sum, (_, figures)| {
            sum += *figures;
            sum
        });
    let mut before = KeyFigures::default();
    let mut cuts = Vec::new();
    for (place, (keys, figures)) in items.into_iter().enumerate() {
        if let Some(at) = start_of(keys).filter(|_| place > 0) {
            let part = match (by, total.of(by)) {
                (BarMeasure::Keys, _) | (_, 0) => {
                    key_fraction(map, piece, keys).unwrap_or(place as f64 / count)
                }
                (_, all) => before.of(by) as f64 / all as f64,
            };
            cuts.push(PieceCut {
                at,
                x: piece.x + piece.width * part,
                before: Some([before.rows, before.bytes, before.writes]),
            });
        }
        before += figures;
    }
    cuts
}

/// Returns the first key or virtual shard of an item.
fn start_of(keys: &KeySet) -> Option<String> {
    match keys {
        KeySet::Range(_) => first_key(keys).map(key_input),
        KeySet::Hash(set) => set.ranges.first().map(|range| range.from.to_string()),
        KeySet::List(_) => None,
    }
}

/// Returns the position of the first key of `keys` within a piece with two numeric bounds.
fn key_fraction(map: &ShardMap, piece: &PicturePiece<'_>, keys: &KeySet) -> Option<f64> {
    let whole = piece.keys(map)?;
    let (from, to) = match (&whole, keys) {
        (KeySet::Hash(whole), KeySet::Hash(keys)) => {
            let range = whole.ranges.first()?;
            let at = f64::from(keys.ranges.first()?.from) - f64::from(range.from);
            return Some(at / f64::from(range.to - range.from));
        }
        (_, _) => (number(first_key(&whole)?)?, number(end_key(&whole)?)?),
    };
    let at = number(first_key(keys)?)?;
    Some((at - from) / (to - from).max(1.0))
}

/// Returns cuts at equal distances, if the bounds of the piece are numbers.
fn equal(map: &ShardMap, piece: &PicturePiece<'_>) -> Vec<PieceCut> {
    let Some(keys) = piece.keys(map) else {
        return Vec::new();
    };
    let ends = match &keys {
        KeySet::Range(_) => match (first_key(&keys), end_key(&keys)) {
            (Some(Key::Int(from)), Some(Key::Int(to))) => Some((*from, *to)),
            (_, _) => None,
        },
        KeySet::Hash(set) => set
            .ranges
            .first()
            .map(|range| (i64::from(range.from), i64::from(range.to))),
        KeySet::List(_) => None,
    };
    let Some((from, to)) = ends else {
        return Vec::new();
    };
    let width = to.saturating_sub(from);
    let step = (width / (EQUAL_CUTS + 1)).max(1);
    let all = (1..=EQUAL_CUTS).map(|place| from.saturating_add(step.saturating_mul(place)));
    all.take_while(|at| *at < to)
        .map(|at| PieceCut {
            at: at.to_string(),
            x: piece.x + piece.width * (at - from) as f64 / width as f64,
            before: None,
        })
        .collect()
}

/// Returns the cut that divides the load of a piece most evenly.
pub(super) fn middle(cuts: &[PieceCut], total: KeyFigures, by: BarMeasure) -> Option<&PieceCut> {
    let figure = |before: &[u64; 3]| match by {
        BarMeasure::Keys => None,
        BarMeasure::Rows => Some(before[0]),
        BarMeasure::Bytes => Some(before[1]),
        BarMeasure::Writes => Some(before[2]),
    };
    let half = total.of(by) / 2;
    let measured = cuts.iter().filter(|_| half > 0);
    let measured = measured.filter_map(|cut| Some((figure(cut.before.as_ref()?)?, cut)));
    let nearest = measured.min_by_key(|(before, _)| before.abs_diff(half));
    nearest.map(|(_, cut)| cut)
}
