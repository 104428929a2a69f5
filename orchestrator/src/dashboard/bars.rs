//! Draws the keys of a map as one bar. Positions are in percent of the width of the bar. In the bar of a list map the
//! widths are proportional to the numbers of keys.

pub(super) use super::palette::Palette;
use crate::controller::MarkedMap;
use crate::view::figures::count;
use askama::Template;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, ShardMap};
use std::collections::BTreeMap;

/// The width of a range that has no lower or no upper bound, in percent.
const OPEN_END: f64 = 12.0;
/// The smallest width in percent at which a part has room for a name.
const MIN_LABEL_WIDTH: f64 = 16.0;
/// The maximum number of parts in a bar. If there are more, this many slots of equal width are drawn.
const MAX_PARTS: u32 = 160;
/// The maximum number of parts that the description names one by one.
const MAX_NAMED: usize = 12;

/// A part of the bar.
#[derive(Debug, Clone, PartialEq)]
struct BarPart {
    /// The left edge, in percent.
    x: f64,
    /// The width, in percent.
    width: f64,
    /// The CSS classes of the colour; `None`: the keys belong to no shard.
    colour: Option<String>,
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
    /// Returns a part for keys that belong to no shard.
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
        if self.width < MIN_LABEL_WIDTH {
            ""
        } else {
            &self.shard
        }
    }

    /// Returns the horizontal position of the name, in percent.
    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    /// Returns the CSS class of the colour.
    fn class(&self) -> String {
        let colour = self.colour.as_deref().unwrap_or("none");
        format!("part {colour}")
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
            parts: parts(&without_moving_keys(&map.mappings), palette),
        }
    }

    /// Does the same as [`Bar::new`], and also draws the keys that migrations are moving.
    pub(super) fn with_moving_keys(map: &MarkedMap, palette: &Palette) -> Self {
        Self {
            parts: parts(&map.moving_keys().collect::<Vec<_>>(), palette),
        }
    }

    /// Does the same as [`Bar::new`], and also marks `keys`.
    pub(super) fn with_marked_keys(map: &ShardMap, keys: &[KeySet], palette: &Palette) -> Self {
        let marked = map.mappings.iter().map(|mapping| {
            let common = keys.iter().map(|keys| mapping.keys.intersection(keys));
            let common = common.filter(|keys| !keys.is_empty());
            common.reduce(|all, keys| all.union(&keys))
        });
        let marked: Vec<Option<KeySet>> = marked.collect();
        let mappings = map.mappings.iter().zip(marked.iter().map(Option::as_ref));
        Self {
            parts: parts(&mappings.collect::<Vec<_>>(), palette),
        }
    }

    /// Returns a description of the drawing.
    fn label(&self) -> String {
        if self.parts.len() <= MAX_NAMED {
            let titles: Vec<String> = self.parts.iter().map(BarPart::title).collect();
            return titles.join("; ");
        }
        let mut widths: BTreeMap<&str, f64> = BTreeMap::new();
        for part in &self.parts {
            *widths.entry(&part.shard).or_default() += part.width;
        }
        let mut widths: Vec<(&str, f64)> = widths.into_iter().collect();
        widths.sort_by(|a, b| b.1.total_cmp(&a.1));
        let named_shards = widths.iter().take(MAX_NAMED);
        let named_shards: Vec<String> = named_shards
            .map(|(shard, width)| format!("{shard} {width:.0} %"))
            .collect();
        let hidden = widths.len().saturating_sub(MAX_NAMED);
        let rest = if hidden > 0 {
            format!(" and {hidden} more shards")
        } else {
            String::new()
        };
        format!("{}{rest}", named_shards.join(", "))
    }
}

/// Pairs each mapping with `None`: no keys of it are moving.
fn without_moving_keys(mappings: &[Mapping]) -> Vec<(&Mapping, Option<&KeySet>)> {
    let mappings = mappings.iter();
    mappings.map(|mapping| (mapping, None)).collect()
}

/// Keys at a place of the bar. A map can have a million of them, so this has no text of its own.
struct PlacedKeys<'a> {
    x: f64,
    width: f64,
    /// `None`: the keys belong to no shard.
    mapping: Option<&'a Mapping>,
    moving: Option<&'a KeySet>,
}

impl PlacedKeys<'_> {
    fn end(&self) -> f64 {
        self.x + self.width
    }

    fn part(&self, scale: &BarScale<'_>, palette: &Palette) -> BarPart {
        let Some(mapping) = self.mapping else {
            return BarPart::gap(self.x, self.end());
        };
        BarPart {
            x: self.x,
            width: self.width,
            colour: Some(palette.class(&mapping.shard)),
            shard: mapping.shard.to_string(),
            keys: keys_text(&mapping.keys),
            moving: self
                .moving
                .map_or_else(Vec::new, |keys| scale.spans(keys, self.x)),
            moving_keys: self.moving.map(keys_text),
        }
    }
}

/// Returns the parts of a bar: one for each mapping, with its moving keys, and one for each gap. If there are more than
/// [`MAX_PARTS`], returns this many equal slots.
fn parts(mappings: &[(&Mapping, Option<&KeySet>)], palette: &Palette) -> Vec<BarPart> {
    let scale = BarScale::of(mappings);
    let placed = scale.place(mappings);
    if placed.len() <= usize::try_from(MAX_PARTS).unwrap_or(usize::MAX) {
        return placed
            .iter()
            .map(|keys| keys.part(&scale, palette))
            .collect();
    }
    slots(&placed, |keys| keys.part(&scale, palette))
}

/// Returns keys as text; for keys of a list only their number.
pub(super) fn keys_text(keys: &KeySet) -> String {
    match keys {
        KeySet::List(keys) => key_count_text(keys.len()),
        KeySet::Range(_) | KeySet::Hash(_) => keys.to_string(),
    }
}

/// Returns a number of keys as text.
pub(super) fn key_count_text(keys: usize) -> String {
    let number = count(i64::try_from(keys).unwrap_or(i64::MAX));
    format!("{number} key{}", if keys == 1 { "" } else { "s" })
}

/// Returns [`MAX_PARTS`] equal slots. Each slot shows the keys at its middle.
fn slots<'a>(
    placed: &[PlacedKeys<'a>],
    part_of: impl Fn(&PlacedKeys<'a>) -> BarPart,
) -> Vec<BarPart> {
    let width = 100.0 / f64::from(MAX_PARTS);
    let mut slots: Vec<BarPart> = Vec::new();
    for slot in 0..MAX_PARTS {
        let x = f64::from(slot) * width;
        let first = placed.partition_point(|keys| keys.end() < x + width / 2.0);
        let Some(part) = placed.get(first).map(&part_of) else {
            break;
        };
        let middle = x + width / 2.0;
        let mut spans = part.moving.iter();
        let is_moving = spans.any(|span| span.x <= middle && middle < span.x + span.width);
        match slots.last_mut() {
            Some(last) if last.shard == part.shard && last.moving.is_empty() != is_moving => {
                last.width += width;
                "some keys".clone_into(&mut last.keys);
                last.moving.iter_mut().for_each(|span| span.width += width);
            }
            Some(_) | None => slots.push(BarPart {
                x,
                width,
                moving: is_moving
                    .then_some(BarSpan { x, width })
                    .into_iter()
                    .collect(),
                ..part
            }),
        }
    }
    slots
}

/// Converts keys to percent. Ranges with two bounds are drawn between the two ranges with an open end.
struct BarScale<'a> {
    /// Every bound, in key order. Bounds that are not numbers are drawn at equal distances.
    bounds: Vec<&'a Key>,
    /// The number of keys in a list map.
    keys: f64,
}

impl<'a> BarScale<'a> {
    fn of(mappings: &[(&'a Mapping, Option<&'a KeySet>)]) -> Self {
        let mut bounds = Vec::new();
        let mut keys = 0;
        for (mapping, moving) in mappings {
            for set in [&mapping.keys].into_iter().chain(*moving) {
                if let KeySet::Range(ranges) = set {
                    let ends = ranges.iter().flat_map(|range| [&range.from, &range.to]);
                    bounds.extend(ends.flatten());
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

    /// Returns the mappings and the gaps between them, each at its place. An exception of a hash map is too small to be
    /// drawn.
    fn place(&self, mappings: &[(&'a Mapping, Option<&'a KeySet>)]) -> Vec<PlacedKeys<'a>> {
        let gap = |x: f64, end: f64| PlacedKeys {
            x,
            width: end - x,
            mapping: None,
            moving: None,
        };
        let mut placed: Vec<PlacedKeys<'a>> = Vec::with_capacity(mappings.len());
        let drawn = mappings
            .iter()
            .filter(|(mapping, _)| mapping.keys.exception().is_none());
        for (mapping, moving) in drawn {
            let before = placed.last().map_or(0.0, PlacedKeys::end);
            let (x, end) = self.edges(&mapping.keys, before);
            if x - before > 0.01 {
                placed.push(gap(before, x));
            }
            placed.push(PlacedKeys {
                x,
                width: end - x,
                mapping: Some(mapping),
                moving: *moving,
            });
        }
        let end = placed.last().map_or(0.0, PlacedKeys::end);
        if end < 99.99 {
            placed.push(gap(end, 100.0));
        }
        placed
    }

    /// Returns the left and the right edge of `keys`. Keys of a list begin at `before`.
    fn edges(&self, keys: &KeySet, before: f64) -> (f64, f64) {
        match keys {
            KeySet::Range(ranges) => (
                self.position(ranges.first().and_then(|range| range.from.as_ref()), 0.0),
                self.position(ranges.last().and_then(|range| range.to.as_ref()), 100.0),
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
        let ends = pieces.iter().map(|piece| self.edges(piece, x));
        ends.map(|(x, end)| BarSpan { x, width: end - x }).collect()
    }

    /// Returns the position of a bound; without a bound it is `open_end`.
    fn position(&self, key: Option<&Key>, open_end: f64) -> f64 {
        let Some(key) = key else { return open_end };
        let (Some(low), Some(high)) = (self.bounds.first(), self.bounds.last()) else {
            return 50.0;
        };
        let (low, high) = (self.number(low), self.number(high));
        if high <= low {
            return 50.0;
        }
        let fraction = (self.number(key) - low) / (high - low);
        OPEN_END + fraction * (100.0 - 2.0 * OPEN_END)
    }

    /// Converts a key to a number that is exact enough for a drawing.
    fn number(&self, key: &Key) -> f64 {
        match key {
            Key::Int(value) | Key::Timestamp(value) => *value as f64,
            Key::Date(days) => f64::from(*days),
            Key::Text(_) | Key::Uuid(_) | Key::Bytes(_) | Key::Row(_) => {
                self.bounds.partition_point(|bound| *bound < key) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests;
