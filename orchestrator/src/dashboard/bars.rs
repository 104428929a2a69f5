//! Draws the keys of a map as one bar, in percent of its width. For a list map the widths show numbers of keys.

use crate::controller::MarkedMap;
use crate::view::figures::count;
use askama::Template;
use plans::id::ShardName;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, ShardMap};
use std::collections::BTreeMap;

/// The width of a range that has no lower or no upper bound, in percent.
const OPEN_END: f64 = 12.0;
/// The smallest width in percent at which a part has room for a name.
const ROOM: f64 = 16.0;
/// The number of colours.
const COLOURS: usize = 6;
/// The maximum number of parts in a bar. If there are more, this many equal slots are drawn.
const MOST: u32 = 160;
/// The maximum number of parts that the description names one by one.
const NAMED: usize = 12;

/// The colours of shards, so that all bars of a page use the same ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Palette(Vec<ShardName>);

impl Palette {
    /// Creates a palette for these shards.
    pub(super) fn of(shards: impl IntoIterator<Item = ShardName>) -> Self {
        let mut names: Vec<ShardName> = shards.into_iter().collect();
        names.sort();
        names.dedup();
        Self(names)
    }

    /// Returns the number of a shard's colour.
    pub(super) fn colour(&self, shard: &ShardName) -> usize {
        let place = self.0.binary_search(shard);
        place.unwrap_or_else(|before| before) % COLOURS
    }
}

/// A part of the bar.
#[derive(Debug, Clone, PartialEq)]
struct BarPart {
    /// The left edge, in percent.
    x: f64,
    /// The width, in percent.
    width: f64,
    /// The number of the colour; `None`: the keys belong to no shard.
    colour: Option<usize>,
    /// The name of the shard.
    shard: String,
    /// The keys as text.
    keys: String,
    /// The spans of this part that migrations are moving.
    moving: Vec<BarSpan>,
    /// The moving keys as text.
    moving_keys: Option<String>,
}

/// A span of the bar, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BarSpan {
    x: f64,
    width: f64,
}

impl BarPart {
    fn end(&self) -> f64 {
        self.x + self.width
    }

    fn gap(from: f64, to: f64) -> Self {
        Self {
            x: from,
            width: to - from,
            colour: None,
            shard: "no shard".to_owned(),
            keys: "other keys".to_owned(),
            moving: Vec::new(),
            moving_keys: None,
        }
    }

    /// Returns the name, if the part has room for it.
    fn label(&self) -> &str {
        if self.width < ROOM { "" } else { &self.shard }
    }

    /// Returns the horizontal position of the name, in percent.
    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    /// Returns the CSS class of the colour.
    fn class(&self) -> String {
        self.colour
            .map_or_else(|| "part none".to_owned(), |n| format!("part s{n}"))
    }

    /// Returns the description of the part.
    fn title(&self) -> String {
        let moving = match &self.moving_keys {
            Some(keys) if *keys == self.keys => ", moving".to_owned(),
            Some(keys) => format!(", {keys} moving"),
            None => String::new(),
        };
        format!("{}: {}{moving}", self.keys, self.shard)
    }
}

/// The drawing of a map.
#[derive(Debug, Clone, Template)]
#[template(path = "bar.html")]
pub(super) struct Bar {
    parts: Vec<BarPart>,
}

impl Bar {
    /// Draws the mappings of `map` in key order. For a list map it draws one part for each shard; the width is
    /// proportional to the number of keys.
    pub(super) fn new(map: &ShardMap, palette: &Palette) -> Self {
        Self {
            parts: thinned(parts(&at_rest(&map.mappings), palette)),
        }
    }

    /// Does the same as [`Bar::new`], and also draws the keys that migrations are moving.
    pub(super) fn marked(map: &MarkedMap, palette: &Palette) -> Self {
        Self {
            parts: thinned(parts(&map.moving_keys().collect::<Vec<_>>(), palette)),
        }
    }

    /// Returns a description of the drawing.
    fn label(&self) -> String {
        if self.parts.len() <= NAMED {
            let titles: Vec<String> = self.parts.iter().map(BarPart::title).collect();
            return titles.join("; ");
        }
        let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
        for part in &self.parts {
            *shares.entry(&part.shard).or_default() += part.width;
        }
        let mut shares: Vec<(&str, f64)> = shares.into_iter().collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let named_shards = shares.iter().take(NAMED);
        let named_shards: Vec<String> = named_shards
            .map(|(shard, share)| format!("{shard} {share:.0} %"))
            .collect();
        let more = shares.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more shards")
        } else {
            String::new()
        };
        format!("{}{more}", named_shards.join(", "))
    }
}

/// Combines the mappings of a version with no moving keys.
fn at_rest(mappings: &[Mapping]) -> Vec<(&Mapping, Option<&KeySet>)> {
    let mappings = mappings.iter();
    mappings.map(|mapping| (mapping, None)).collect()
}

fn parts(mappings: &[(&Mapping, Option<&KeySet>)], palette: &Palette) -> Vec<BarPart> {
    let scale = BarScale::of(mappings);
    let mut parts: Vec<BarPart> = Vec::with_capacity(mappings.len());
    for (mapping, moving) in mappings {
        let before = parts.last().map_or(0.0, BarPart::end);
        let (x, end) = scale.ends(&mapping.keys, before);
        if x - before > 0.01 {
            parts.push(BarPart::gap(before, x));
        }
        parts.push(BarPart {
            x,
            width: end - x,
            colour: Some(palette.colour(&mapping.shard)),
            shard: mapping.shard.to_string(),
            keys: named(&mapping.keys),
            moving: moving.map_or_else(Vec::new, |keys| scale.spans(keys, x)),
            moving_keys: moving.map(named),
        });
    }
    let end = parts.last().map_or(0.0, BarPart::end);
    if end < 99.99 {
        parts.push(BarPart::gap(end, 100.0));
    }
    parts
}

/// Returns keys as text.
pub(super) fn named(keys: &KeySet) -> String {
    match keys {
        KeySet::List(keys) => listed(keys.len()),
        KeySet::Range(_) | KeySet::Hash(_) => keys.to_string(),
    }
}

/// Returns a number of keys as text.
pub(super) fn listed(keys: usize) -> String {
    let number = count(i64::try_from(keys).unwrap_or(i64::MAX));
    format!("{number} key{}", if keys == 1 { "" } else { "s" })
}

/// If there are more parts than [`MOST`], returns this many equal slots. Each slot shows the part at its middle.
fn thinned(parts: Vec<BarPart>) -> Vec<BarPart> {
    if parts.len() <= usize::try_from(MOST).unwrap_or(usize::MAX) {
        return parts;
    }
    let width = 100.0 / f64::from(MOST);
    let mut slots: Vec<BarPart> = Vec::new();
    let mut rest = parts.iter().peekable();
    for slot in 0..MOST {
        let x = f64::from(slot) * width;
        while rest.next_if(|part| part.end() < x + width / 2.0).is_some() {}
        let Some(part) = rest.peek() else { break };
        let middle = x + width / 2.0;
        let mut spans = part.moving.iter();
        let moves = spans.any(|span| span.x <= middle && middle < span.x + span.width);
        match slots.last_mut() {
            Some(last) if last.shard == part.shard && last.moving.is_empty() != moves => {
                last.width += width;
                "some keys".clone_into(&mut last.keys);
                last.moving.iter_mut().for_each(|span| span.width += width);
            }
            Some(_) | None => slots.push(BarPart {
                x,
                width,
                moving: moves.then_some(BarSpan { x, width }).into_iter().collect(),
                ..(*part).clone()
            }),
        }
    }
    slots
}

/// Converts keys to percent. Ranges with two bounds are drawn between the two ranges with an open end.
struct BarScale {
    /// Every bound, in key order. Bounds that are not numbers are drawn at equal distances.
    bounds: Vec<Key>,
    /// The number of keys in a list map.
    keys: f64,
}

impl BarScale {
    fn of(mappings: &[(&Mapping, Option<&KeySet>)]) -> Self {
        let mut bounds = Vec::new();
        let mut keys = 0;
        for (mapping, moving) in mappings {
            for set in [&mapping.keys].into_iter().chain(*moving) {
                if let KeySet::Range(ranges) = set {
                    let ends = ranges.iter().flat_map(|range| [&range.from, &range.to]);
                    bounds.extend(ends.flatten().cloned());
                }
            }
            if let KeySet::List(listed) = &mapping.keys {
                keys += listed.len();
            }
        }
        bounds.sort();
        bounds.dedup();
        Self {
            bounds,
            keys: keys.max(1) as f64,
        }
    }

    /// Returns the left and the right edge of `keys`. Keys of a list begin at `before`.
    fn ends(&self, keys: &KeySet, before: f64) -> (f64, f64) {
        match keys {
            KeySet::Range(ranges) => (
                self.at(ranges.first().and_then(|range| range.from.as_ref()), 0.0),
                self.at(ranges.last().and_then(|range| range.to.as_ref()), 100.0),
            ),
            KeySet::Hash(buckets) => {
                let at = |bucket: u32| f64::from(bucket) * 100.0 / f64::from(buckets.of.max(1));
                let ranges = &buckets.ranges;
                (
                    ranges.first().map_or(before, |range| at(range.from)),
                    ranges.last().map_or(before, |range| at(range.to)),
                )
            }
            KeySet::List(keys) => (before, before + keys.len() as f64 * 100.0 / self.keys),
        }
    }

    /// Returns a span for each piece of `keys`, which belong to the part that begins at `x`.
    fn spans(&self, keys: &KeySet, x: f64) -> Vec<BarSpan> {
        let pieces: Vec<KeySet> = match keys {
            KeySet::Range(ranges) => {
                let ranges = ranges.iter();
                ranges
                    .map(|range| KeySet::Range(vec![range.clone()]))
                    .collect()
            }
            KeySet::Hash(buckets) => {
                let ranges = buckets.ranges.iter();
                ranges
                    .map(|range| KeySet::buckets(buckets.of, range.from, range.to))
                    .collect()
            }
            KeySet::List(_) => vec![keys.clone()],
        };
        let ends = pieces.iter().map(|piece| self.ends(piece, x));
        ends.map(|(x, end)| BarSpan { x, width: end - x }).collect()
    }

    fn at(&self, key: Option<&Key>, open: f64) -> f64 {
        let Some(key) = key else { return open };
        let (Some(low), Some(high)) = (self.bounds.first(), self.bounds.last()) else {
            return 50.0;
        };
        let (low, high) = (self.number(low), self.number(high));
        if high <= low {
            return 50.0;
        }
        let share = (self.number(key) - low) / (high - low);
        OPEN_END + share * (100.0 - 2.0 * OPEN_END)
    }

    /// Converts a key to a number that is exact enough for a drawing.
    fn number(&self, key: &Key) -> f64 {
        match key {
            Key::Int(value) | Key::Timestamp(value) => *value as f64,
            Key::Date(days) => f64::from(*days),
            Key::Text(_) | Key::Uuid(_) | Key::Bytes(_) | Key::Row(_) => {
                self.bounds.partition_point(|bound| bound < key) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::shard_map::MappingState;

    fn mapping(keys: KeySet, shard: &str) -> Mapping {
        Mapping {
            keys,
            shard: ShardName::from(shard),
            state: MappingState::Active,
        }
    }

    fn range(from: Option<i64>, to: Option<i64>, shard: &str) -> Mapping {
        mapping(KeySet::range(from.map(Key::Int), to.map(Key::Int)), shard)
    }

    fn widths(mappings: &[Mapping]) -> Vec<(String, i64)> {
        let parts = parts(&at_rest(mappings), &Palette::default()).into_iter();
        parts
            .map(|part| (part.shard.clone(), part.width.round() as i64))
            .collect()
    }

    #[test]
    fn a_map_of_one_shard_is_one_part() {
        assert_eq!(widths(&[range(None, None, "a")]), [("a".to_owned(), 100)]);
    }

    #[test]
    fn parts_fill_the_bar_and_gaps_are_shown() {
        let found = widths(&[range(None, Some(10), "a"), range(Some(20), None, "b")]);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "no shard", "b"]);
        assert_eq!(found.iter().map(|(_, width)| width).sum::<i64>(), 100);
    }

    #[test]
    fn one_bound_is_in_the_middle() {
        let found = widths(&[range(None, Some(501), "a"), range(Some(501), None, "b")]);
        assert_eq!(found, [("a".to_owned(), 50), ("b".to_owned(), 50)]);
    }

    #[test]
    fn bounds_without_a_size_are_at_even_distances() {
        let text = |from: Option<&str>, to: Option<&str>| {
            KeySet::range(from.map(Key::from), to.map(Key::from))
        };
        let found = widths(&[
            mapping(text(None, Some("b")), "a"),
            mapping(text(Some("b"), Some("c")), "b"),
            mapping(text(Some("c"), Some("z")), "a"),
            mapping(text(Some("z"), None), "b"),
        ]);
        let widths: Vec<i64> = found.iter().map(|(_, width)| *width).collect();
        assert_eq!(widths, [12, 38, 38, 12]);
    }

    #[test]
    fn buckets_and_lists_have_their_share() {
        let buckets = |from, to| KeySet::buckets(8, from, to);
        let found = widths(&[mapping(buckets(0, 2), "a"), mapping(buckets(2, 8), "b")]);
        assert_eq!(found, [("a".to_owned(), 25), ("b".to_owned(), 75)]);
        let keys = |keys: &[&str]| KeySet::list(keys.iter().map(|key| Key::from(*key)));
        let found = widths(&[
            mapping(keys(&["x"]), "a"),
            mapping(keys(&["y", "z", "ä"]), "b"),
        ]);
        assert_eq!(found, [("a".to_owned(), 25), ("b".to_owned(), 75)]);
    }

    #[test]
    fn of_a_part_only_the_keys_that_move_are_marked() {
        let text = |from: Option<&str>, to: Option<&str>| {
            KeySet::range(from.map(Key::from), to.map(Key::from))
        };
        let (owned, kept) = (
            mapping(text(None, Some("f")), "s1"),
            mapping(text(Some("f"), None), "s2"),
        );
        let moving = text(Some("echo"), Some("f"));
        let parts = parts(
            &[(&owned, Some(&moving)), (&kept, None)],
            &Palette::default(),
        );
        let [part, rest] = parts.as_slice() else {
            panic!("{parts:?}");
        };
        let [span] = part.moving.as_slice() else {
            panic!("{part:?}");
        };
        assert!(span.x > part.x && span.width < part.width, "{part:?}");
        assert!((span.x + span.width - part.end()).abs() < 0.01, "{part:?}");
        assert_eq!(part.title(), "(-∞, \"f\"): s1, [\"echo\", \"f\") moving");
        assert!(rest.moving.is_empty());
    }

    #[test]
    fn a_bar_of_very_many_parts_is_thinned_and_stays_full() {
        let bucket = |at: u32| {
            let shard = if at.is_multiple_of(2) { "a" } else { "b" };
            mapping(KeySet::buckets(4096, at, at + 1), shard)
        };
        let all: Vec<Mapping> = (0..4096).map(bucket).collect();
        let thin = thinned(parts(&at_rest(&all), &Palette::default()));
        assert!(thin.len() <= 160, "{}", thin.len());
        let width: f64 = thin.iter().map(|part| part.width).sum();
        assert!((width - 100.0).abs() < 0.01, "{width}");
    }
}
