//! The ranges of a map as one bar, in percent of its width.

use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::{Mapping, MappingState};
use std::collections::BTreeSet;

/// Share of the width that an end without a bound gets.
const OPEN_END: f64 = 12.0;
/// Narrowest part that still has room for a name.
const ROOM: f64 = 16.0;
/// How many colours there are.
const COLOURS: usize = 6;

/// A part of the bar.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// Where it begins, per cent.
    pub(super) x: f64,
    /// How wide it is, per cent.
    pub(super) width: f64,
    /// Number of its colour; `None`: keys without a shard.
    pub(super) colour: Option<usize>,
    /// Its shard.
    pub(super) shard: String,
    /// The keys.
    pub(super) keys: String,
    /// A migration is moving some of it.
    pub(super) moving: bool,
}

impl Part {
    /// The name, where there is room for it.
    pub(super) fn label(&self) -> &str {
        if self.width < ROOM { "" } else { &self.shard }
    }

    /// Where the name stands, per cent.
    pub(super) fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    /// The class of the colour.
    pub(super) fn class(&self) -> String {
        self.colour
            .map_or_else(|| "part none".to_owned(), |n| format!("part s{n}"))
    }

    /// What it is, in words.
    pub(super) fn title(&self) -> String {
        let moving = if self.moving { ", moving" } else { "" };
        format!("{}: {}{moving}", self.keys, self.shard)
    }
}

/// The bar of `mappings`, which are in key order; the shards of a list map side by side, by their number of keys.
pub(super) fn parts(mappings: &[Mapping]) -> Vec<Part> {
    let scale = Scale::of(mappings);
    let names: BTreeSet<&str> = mappings.iter().map(|m| m.shard.as_str()).collect();
    let mut parts: Vec<Part> = Vec::with_capacity(mappings.len());
    for mapping in mappings {
        let before = parts.last().map_or(0.0, |part| part.x + part.width);
        let (x, end) = match &mapping.keys {
            KeySet::Range(ranges) => (
                scale.at(ranges.first().and_then(|range| range.from.as_ref()), 0.0),
                scale.at(ranges.last().and_then(|range| range.to.as_ref()), 100.0),
            ),
            KeySet::Hash(buckets) => {
                let at = |bucket: u32| f64::from(bucket) * 100.0 / f64::from(buckets.of.max(1));
                let ranges = &buckets.ranges;
                (
                    ranges.first().map_or(before, |range| at(range.from)),
                    ranges.last().map_or(before, |range| at(range.to)),
                )
            }
            KeySet::List(keys) => (before, before + keys.len() as f64 * 100.0 / scale.keys),
        };
        if x - before > 0.01 {
            parts.push(gap(before, x));
        }
        parts.push(Part {
            x,
            width: end - x,
            colour: names
                .iter()
                .position(|name| *name == mapping.shard.as_str())
                .map(|index| index % COLOURS),
            shard: mapping.shard.to_string(),
            keys: mapping.keys.to_string(),
            moving: mapping.state == MappingState::Moving,
        });
    }
    let end = parts.last().map_or(0.0, |part| part.x + part.width);
    if end < 99.99 {
        parts.push(gap(end, 100.0));
    }
    parts
}

fn gap(from: f64, to: f64) -> Part {
    Part {
        x: from,
        width: to - from,
        colour: None,
        shard: "no shard".to_owned(),
        keys: "other keys".to_owned(),
        moving: false,
    }
}

/// From keys to per cent: bounded keys lie between the two open ends.
struct Scale {
    /// Every bound, in key order; bounds that are no numbers are drawn at even distances.
    bounds: Vec<Key>,
    /// Keys of a list map.
    keys: f64,
}

impl Scale {
    fn of(mappings: &[Mapping]) -> Self {
        let mut bounds = Vec::new();
        let mut keys = 0;
        for mapping in mappings {
            match &mapping.keys {
                KeySet::Range(ranges) => {
                    let ends = ranges.iter().flat_map(|range| [&range.from, &range.to]);
                    bounds.extend(ends.flatten().cloned());
                }
                KeySet::Hash(_) => {}
                KeySet::List(listed) => keys += listed.len(),
            }
        }
        bounds.sort();
        bounds.dedup();
        Self {
            bounds,
            keys: keys.max(1) as f64,
        }
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

    /// Exact enough for a drawing.
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
    use plans::id::ShardName;

    fn mapping(from: Option<i64>, to: Option<i64>, shard: &str) -> Mapping {
        Mapping {
            keys: KeySet::range(from.map(Key::Int), to.map(Key::Int)),
            shard: ShardName::from(shard),
            state: MappingState::Active,
        }
    }

    fn widths(mappings: &[Mapping]) -> Vec<(String, i64)> {
        let parts = parts(mappings).into_iter();
        parts
            .map(|part| (part.shard.clone(), part.width.round() as i64))
            .collect()
    }

    #[test]
    fn a_map_of_one_shard_is_one_part() {
        assert_eq!(widths(&[mapping(None, None, "a")]), [("a".to_owned(), 100)]);
    }

    #[test]
    fn parts_fill_the_bar_and_gaps_are_shown() {
        let seen = widths(&[mapping(None, Some(10), "a"), mapping(Some(20), None, "b")]);
        let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "no shard", "b"]);
        assert_eq!(seen.iter().map(|(_, width)| width).sum::<i64>(), 100);
    }

    #[test]
    fn one_bound_is_in_the_middle() {
        let seen = widths(&[mapping(None, Some(501), "a"), mapping(Some(501), None, "b")]);
        assert_eq!(seen, [("a".to_owned(), 50), ("b".to_owned(), 50)]);
    }
}
