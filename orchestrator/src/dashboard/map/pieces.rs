//! The pieces of a map's bar. Adjacent mappings of one shard are one piece, and pieces that are too thin to be drawn are
//! drawn together, so the number of drawn pieces is bounded for a map of any size.

use super::figures::{BarMeasure, KeyFigures, end_key, first_key};
use crate::controller::MarkedMap;
use plans::id::ShardName;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, MappingState, ShardMap, Strategy};
use std::ops::Range;

/// Pieces below this width, in percent, are drawn together.
const MIN_WIDTH: f64 = 0.25;
/// The width of a range without a bound, relative to all ranges with two bounds: how many keys it has is not known.
const OPEN_END: f64 = 0.16;

/// A drawn piece: one mapping, adjacent mappings of one shard, or several thin pieces together.
#[derive(Debug, Clone)]
pub(super) struct PicturePiece<'a> {
    /// The left edge, in percent.
    pub(super) x: f64,
    /// The width, in percent.
    pub(super) width: f64,
    /// The indexes of its mappings.
    pub(super) mappings: Range<usize>,
    /// The owner; `None`: no shard owns the keys, or several do.
    pub(super) shard: Option<&'a ShardName>,
    /// The number of pieces that are drawn together; 1 for an ordinary piece.
    pub(super) together: usize,
    /// The width and the owner of the widest of them.
    heaviest: f64,
    main: Option<&'a ShardName>,
    /// Whether a migration moves some of the keys.
    pub(super) is_moving: bool,
    /// Whether no shard owns the keys.
    pub(super) is_gap: bool,
    /// The load, if it was measured.
    pub(super) figures: KeyFigures,
}

/// Where the widths come from.
pub(super) struct PieceInput<'a> {
    pub(super) marked: &'a MarkedMap,
    pub(super) measure: BarMeasure,
    /// The load of each mapping; empty if none was measured.
    pub(super) figures: &'a [KeyFigures],
    /// The indexes of the mappings to draw.
    pub(super) shown: Range<usize>,
}

/// A mapping or a gap with its weight.
struct WeighedKeys<'a> {
    place: usize,
    shard: Option<&'a ShardName>,
    is_moving: bool,
    weight: f64,
    figures: KeyFigures,
}

/// Returns the pieces from left to right. Exceptions of a hash map have no width and are not among them.
pub(super) fn pieces<'a>(input: &PieceInput<'a>) -> Vec<PicturePiece<'a>> {
    let mut weights = Vec::with_capacity(input.shown.len() + 1);
    weigh(input, &mut |place, weight, is_gap| {
        weights.push((place, weight, is_gap))
    });
    let total: f64 = weights.iter().map(|(_, weight, _)| weight).sum();
    if total <= 0.0 {
        return Vec::new();
    }
    let mut row = PieceRow {
        scale: 100.0 / total,
        drawn: Vec::new(),
        open: None,
        x: 0.0,
    };
    for (place, weight, is_gap) in weights {
        row.add(weighed(input, place, weight, is_gap));
    }
    row.finish()
}

/// Calls `each` with the index, the weight, and whether it is a gap, for every mapping and every gap in key order. The
/// index of a gap is that of the mapping after it.
fn weigh(input: &PieceInput<'_>, each: &mut dyn FnMut(usize, f64, bool)) {
    let map = input.marked.bare();
    let mappings = &map.mappings[input.shown.clone()];
    let ruler = KeyRuler::new(map, mappings);
    let all = &map.mappings;
    let exceptions = all.partition_point(|mapping| mapping.keys.exception().is_some());
    let mut before: Option<&Mapping> = None;
    for (mapping, place) in mappings.iter().zip(input.shown.clone()) {
        if mapping.keys.exception().is_some() {
            continue;
        }
        if input.measure == BarMeasure::Keys {
            let is_cut_off = before.is_none() && place > exceptions;
            let gap = ruler.gap(before, mapping);
            if gap > 0.0 && !is_cut_off {
                each(place, gap, true);
            }
            each(place, ruler.width(&mapping.keys), false);
        } else {
            let figures = input.figures.get(place).copied().unwrap_or_default();
            each(place, figures.of(input.measure) as f64, false);
        }
        before = Some(mapping);
    }
    let rest = before.map_or(0.0, |last| ruler.rest(last));
    if input.measure == BarMeasure::Keys && rest > 0.0 && input.shown.end == all.len() {
        each(input.shown.end, rest, true);
    }
}

/// Returns a mapping or a gap with its weight.
fn weighed<'a>(input: &PieceInput<'a>, place: usize, weight: f64, is_gap: bool) -> WeighedKeys<'a> {
    let mapping = input.marked.bare().mappings.get(place).filter(|_| !is_gap);
    let figures = input.figures.get(place).copied().filter(|_| !is_gap);
    WeighedKeys {
        place,
        shard: mapping.map(|mapping| &mapping.shard),
        is_moving: mapping.is_some() && input.marked.state(place) == MappingState::Moving,
        weight,
        figures: figures.unwrap_or_default(),
    }
}

/// Measures key sets without a count of rows: numbers by their distance, other keys at equal distances, virtual shards
/// and listed keys by their number.
struct KeyRuler {
    strategy: Strategy,
    buckets: u32,
    /// The distance between the first and the last bound; `None` if the keys are not numbers.
    span: Option<f64>,
    /// The number of mappings between the first and the last bound.
    bounded: f64,
}

impl KeyRuler {
    fn new(map: &ShardMap, mappings: &[Mapping]) -> Self {
        let (first, last) = (mappings.first(), mappings.last());
        let low = first.and_then(|m| first_key(&m.keys).or(end_key(&m.keys)));
        let high = last.and_then(|m| end_key(&m.keys).or(first_key(&m.keys)));
        let numbers = low.and_then(number).zip(high.and_then(number));
        let open = [
            mappings.first().and_then(|m| first_key(&m.keys)),
            mappings.last().and_then(|m| end_key(&m.keys)),
        ];
        let open = open.iter().filter(|key| key.is_none()).count();
        Self {
            strategy: map.strategy,
            buckets: map.buckets,
            span: numbers.map(|(low, high)| high - low),
            bounded: mappings.len().saturating_sub(open).max(1) as f64,
        }
    }

    /// Returns the width of `keys`. All ranges with two bounds together have about the width 1.
    fn width(&self, keys: &KeySet) -> f64 {
        match keys {
            KeySet::Range(_) => match (first_key(keys), end_key(keys)) {
                (Some(from), Some(to)) => self.distance(from, to),
                (Some(_), None) | (None, Some(_)) => OPEN_END,
                (None, None) => 1.0,
            },
            KeySet::Hash(set) => {
                let sizes = set.ranges.iter().map(|range| range.to - range.from);
                f64::from(sizes.sum::<u32>())
            }
            KeySet::List(keys) => keys.len() as f64,
        }
    }

    fn distance(&self, from: &Key, to: &Key) -> f64 {
        match (self.span, number(from), number(to)) {
            (Some(span), Some(from), Some(to)) if span > 0.0 => (to - from) / span,
            (Some(_), ..) => OPEN_END,
            (None, ..) => 1.0 / self.bounded,
        }
    }

    /// Returns the width of the keys between two mappings, which no shard owns.
    fn gap(&self, before: Option<&Mapping>, mapping: &Mapping) -> f64 {
        match (self.strategy, before) {
            (Strategy::Range, None) => first_key(&mapping.keys).map_or(0.0, |_| OPEN_END),
            (Strategy::Range, Some(before)) => {
                match (end_key(&before.keys), first_key(&mapping.keys)) {
                    (Some(end), Some(from)) if end < from => self.distance(end, from),
                    (_, _) => 0.0,
                }
            }
            (Strategy::Hash, before) => {
                let end = before.map_or(0, |before| bucket_ends(&before.keys).1);
                f64::from(bucket_ends(&mapping.keys).0.saturating_sub(end))
            }
            (Strategy::List, _) => 0.0,
        }
    }

    /// Returns the width of the keys after the last mapping.
    fn rest(&self, last: &Mapping) -> f64 {
        match self.strategy {
            Strategy::Range => end_key(&last.keys).map_or(0.0, |_| OPEN_END),
            Strategy::Hash => f64::from(self.buckets.saturating_sub(bucket_ends(&last.keys).1)),
            Strategy::List => 0.0,
        }
    }
}

/// Returns the first virtual shard, and the one after the last.
fn bucket_ends(keys: &KeySet) -> (u32, u32) {
    match keys {
        KeySet::Hash(set) => (
            set.ranges.first().map_or(0, |range| range.from),
            set.ranges.last().map_or(0, |range| range.to),
        ),
        KeySet::Range(_) | KeySet::List(_) => (0, 0),
    }
}

/// Converts a key to a number that is exact enough for a drawing; `None` if it is no number.
pub(super) fn number(key: &Key) -> Option<f64> {
    match key {
        Key::Int(value) | Key::Timestamp(value) => Some(*value as f64),
        Key::Date(days) => Some(f64::from(*days)),
        Key::Text(_) | Key::Uuid(_) | Key::Bytes(_) | Key::Row(_) => None,
    }
}

/// Collects pieces from left to right.
struct PieceRow<'a> {
    /// Percent per unit of weight.
    scale: f64,
    drawn: Vec<PicturePiece<'a>>,
    /// The piece that can still grow.
    open: Option<PicturePiece<'a>>,
    x: f64,
}

impl<'a> PieceRow<'a> {
    fn add(&mut self, keys: WeighedKeys<'a>) {
        let width = keys.weight * self.scale;
        if width <= 0.0 && keys.figures == KeyFigures::default() && keys.shard.is_none() {
            return;
        }
        let is_gap = keys.shard.is_none();
        let end = if is_gap { keys.place } else { keys.place + 1 };
        let next = PicturePiece {
            x: self.x,
            width,
            mappings: keys.place..end,
            shard: keys.shard,
            together: 1,
            heaviest: width,
            main: keys.shard,
            is_moving: keys.is_moving,
            is_gap,
            figures: keys.figures,
        };
        self.x += width;
        match &mut self.open {
            Some(open) if open.continues_with(&next) => open.extend(&next),
            open => {
                if let Some(closed) = open.replace(next) {
                    self.close(closed);
                }
            }
        }
    }

    /// Draws a piece that is complete. A thin one is drawn together with a thin one before it.
    fn close(&mut self, piece: PicturePiece<'a>) {
        match self.drawn.last_mut() {
            Some(last) if last.width < MIN_WIDTH && piece.width < MIN_WIDTH => last.join(&piece),
            Some(_) | None => self.drawn.push(piece),
        }
    }

    fn finish(mut self) -> Vec<PicturePiece<'a>> {
        if let Some(open) = self.open.take() {
            self.close(open);
        }
        self.drawn
    }
}

impl<'a> PicturePiece<'a> {
    /// Creates a piece that is the whole bar.
    pub(super) fn single(
        mappings: Range<usize>,
        shard: &'a ShardName,
        figures: KeyFigures,
    ) -> Self {
        Self {
            x: 0.0,
            width: 100.0,
            mappings,
            shard: Some(shard),
            together: 1,
            heaviest: 100.0,
            main: Some(shard),
            is_moving: false,
            is_gap: false,
            figures,
        }
    }

    fn continues_with(&self, next: &Self) -> bool {
        self.shard == next.shard && self.is_moving == next.is_moving && self.is_gap == next.is_gap
    }

    fn extend(&mut self, next: &Self) {
        self.width += next.width;
        if self.together == 1 && next.together == 1 && self.main == next.main {
            self.heaviest = self.width;
        }
        self.mappings.end = self.mappings.end.max(next.mappings.end);
        self.figures += next.figures;
    }

    /// Adds another piece, so that both are drawn together. An owner of at least half of it gives the colour.
    fn join(&mut self, next: &Self) {
        if next.width > self.heaviest {
            (self.heaviest, self.main) = (next.width, next.shard);
        }
        let is_main = self.heaviest * 2.0 >= self.width + next.width;
        self.shard = self.main.filter(|_| is_main);
        self.is_gap &= next.is_gap;
        self.is_moving |= next.is_moving;
        self.together += next.together;
        self.extend(next);
    }

    /// Returns the middle, in percent.
    pub(super) fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    /// Returns the keys of the piece as text.
    pub(super) fn keys(&self, map: &'a ShardMap) -> Option<KeySet> {
        let own = map.mappings.get(self.mappings.clone())?;
        let (first, last) = (own.first()?, own.last()?);
        Some(match (&first.keys, &last.keys) {
            (KeySet::Range(_), KeySet::Range(_)) => KeySet::range(
                first_key(&first.keys).cloned(),
                end_key(&last.keys).cloned(),
            ),
            (KeySet::Hash(set), KeySet::Hash(_)) if !set.ranges.is_empty() => KeySet::buckets(
                set.of,
                bucket_ends(&first.keys).0,
                bucket_ends(&last.keys).1,
            ),
            (_, _) => first.keys.clone(),
        })
    }
}
