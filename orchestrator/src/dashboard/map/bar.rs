//! The picture of a map: one bar whose pieces are links to their details, with labels, bounds, a strip of writes and
//! the hottest keys. It is drawn on the server; positions are in percent of the width, heights in pixels.

use super::cuts::cuts;
use super::figures::{BarMeasure, KeyFigures, end_key};
use super::key_column::{key_column, named_keys};
use super::labels::{BarLabel, place_labels};
use super::piece::{href, split_fields};
use super::pieces::{PicturePiece, PieceInput, pieces};
use super::pins::pins;
use super::query::MapSight;
use crate::controller::{MapLoad, MarkedMap};
use crate::dashboard::bars::{Palette, key_count_text};
use crate::view::figures::{bytes, count};
use askama::Template;
use plans::key_set::{KeySet, bucket_of};
use plans::shard_map::ShardMap;

/// The maximum number of bounds that are written below the bar.
const MAX_BOUNDS: usize = 12;
/// The maximum number of pieces that can be dragged.
const MAX_GESTURES: usize = 32;
/// The maximum number of exceptions of a hash map that are marked on the bar.
const MAX_EXCEPTIONS: usize = 40;
/// The height of the bar, and of the row of labels above it, in pixels.
const BAR: u32 = 52;
const LABELS: u32 = 36;

/// The picture.
#[derive(Template)]
#[template(path = "map/bar.html")]
pub(super) struct MapBarView {
    label: String,
    parts: Vec<MapBarPart>,
    labels: Vec<BarLabel>,
    bounds: Vec<BarLabel>,
    pins: Vec<BarLabel>,
    exceptions: Vec<BarException>,
    pub(super) has_heat: bool,
    pub(super) has_pins: bool,
    /// The vertical positions of the bar, the bounds, the strip and the pins, and the whole height.
    top: u32,
    bounds_at: u32,
    heat_at: u32,
    pins_at: u32,
    height: u32,
    /// The number of pieces that are drawn together with others.
    pub(super) together: usize,
    /// The number of pieces.
    pub(super) pieces: usize,
    /// Whether ranges without a bound are drawn.
    pub(super) has_open_ends: bool,
}

/// A piece as it is drawn.
struct MapBarPart {
    x: String,
    width: String,
    middle: String,
    class: String,
    href: String,
    title: String,
    name: String,
    /// The CSS class of the name: whether it fits at every width, or only on wide screens.
    fit: &'static str,
    is_moving: bool,
    has_changed: bool,
    /// How many of the writes it has: `heat-0` to `heat-4`.
    heat: Option<&'static str>,
    shard: String,
    place: usize,
    /// The URL of a request about its keys, and the keys at which it can be split, for gestures.
    request: String,
    cuts: String,
}

/// A key of a hash map with another owner than its virtual shard.
struct BarException {
    x: String,
    class: String,
    title: String,
    href: String,
}

/// What the picture is made of.
pub(super) struct BarInput<'a> {
    pub(super) marked: &'a MarkedMap,
    pub(super) sight: &'a MapSight,
    pub(super) palette: &'a Palette,
    pub(super) load: Option<&'a MapLoad>,
    pub(super) figures: &'a [KeyFigures],
    /// For each mapping index: since which version its owner has it, if that is known.
    pub(super) since: &'a dyn Fn(&KeySet) -> Option<String>,
    /// The keys whose owner the drawn version changed.
    pub(super) changed: &'a [KeySet],
    /// Whether the caller may plan migrations of this version.
    pub(super) may_plan: bool,
}

impl MapBarView {
    /// Draws a map.
    pub(super) fn new(input: &BarInput<'_>) -> Self {
        let map = input.marked.bare();
        let part = input.sight.part.clone().unwrap_or(0..map.mappings.len());
        let end = part.end.min(map.mappings.len());
        let drawn = pieces(&PieceInput {
            marked: input.marked,
            measure: input.sight.by,
            figures: input.figures,
            shown: part.start.min(end)..end,
        });
        let has_writes = input.load.is_some_and(|load| load.watched_ms > 0);
        let most = drawn.iter().map(|piece| piece.figures.writes).max();
        let most = most.filter(|_| has_writes).unwrap_or(0);
        let mut parts: Vec<MapBarPart> = drawn
            .iter()
            .map(|piece| drawn_part(input, map, piece))
            .collect();
        let takes_gestures = input.may_plan && drawn.len() <= MAX_GESTURES;
        for (part, piece) in parts.iter_mut().zip(&drawn) {
            if takes_gestures {
                part.add_gestures(input, map, piece);
            }
            part.heat = has_writes.then(|| heat(piece.figures.writes, most));
        }
        let names = drawn
            .iter()
            .filter(|piece| piece.shard.is_some() && piece.together == 1);
        let outside: Vec<(f64, String)> = names
            .filter(|piece| fit(&shard_name(piece), piece.width).is_empty())
            .map(|piece| (piece.middle(), shard_name(piece)))
            .collect();
        let labels = place_labels(&outside, 2);
        let pins = place_labels(&pins(map, &drawn, input.load, input.figures), 1);
        let bounds = bounds(map, &drawn);
        let top = if labels.is_empty() { 2 } else { LABELS };
        let bounds_at = top + BAR + 16;
        let heat_at = top + BAR + if bounds.is_empty() { 6 } else { 24 };
        let pins_at = heat_at + if has_writes { 16 } else { 2 };
        let pin_rows = pins.iter().map(|pin| pin.row + 1).max().unwrap_or(0);
        let pin_rows = u32::try_from(pin_rows).unwrap_or(0) * 15;
        Self {
            label: description(map, &drawn),
            together: drawn
                .iter()
                .filter(|p| p.together > 1)
                .map(|p| p.together)
                .sum(),
            pieces: drawn.iter().map(|piece| piece.together).sum(),
            has_open_ends: input.sight.by == BarMeasure::Keys && has_open_ends(map),
            exceptions: exceptions(input, map),
            parts,
            labels,
            bounds,
            pins,
            has_heat: has_writes,
            top,
            bounds_at,
            heat_at,
            pins_at,
            height: pins_at + pin_rows + if pin_rows > 0 { 8 } else { 0 },
            has_pins: pin_rows > 0,
        }
    }

    /// Returns the height of the bar in pixels.
    fn bar(&self) -> u32 {
        BAR
    }
}

fn percent(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn shard_name(piece: &PicturePiece<'_>) -> String {
    piece.shard.map_or_else(String::new, ToString::to_string)
}

/// Returns where a name fits into a piece of this width: everywhere, only on wide screens, or nowhere.
fn fit(name: &str, width: f64) -> &'static str {
    let needed = name.chars().count() as f64 * 7.8 + 14.0;
    match width {
        width if width * 3.3 >= needed => "fits",
        width if width * 11.5 >= needed => "fits-wide",
        _ => "",
    }
}

fn drawn_part(input: &BarInput<'_>, map: &ShardMap, piece: &PicturePiece<'_>) -> MapBarPart {
    let keys = piece.keys(map);
    let changed = keys.as_ref().is_some_and(|keys| {
        piece.together == 1 && input.changed.iter().any(|other| other.overlaps(keys))
    });
    let is_dimmed = input
        .sight
        .shard
        .as_ref()
        .is_some_and(|shard| piece.shard.is_none_or(|own| own.as_str() != shard));
    let colour = match piece.shard {
        Some(shard) => input.palette.class(shard),
        None if piece.is_gap => "none".to_owned(),
        None => "mixed".to_owned(),
    };
    let chosen = input
        .sight
        .piece
        .is_some_and(|place| piece.mappings.contains(&place));
    let name = match piece.together {
        1 => shard_name(piece),
        _ => String::new(),
    };
    let fit = fit(&name, piece.width);
    MapBarPart {
        x: percent(piece.x),
        width: percent(piece.width),
        middle: percent(piece.middle()),
        class: [
            colour.as_str(),
            if is_dimmed { " dimmed" } else { "" },
            if chosen { " chosen" } else { "" },
        ]
        .concat(),
        href: match piece.together {
            1 if piece.is_gap => String::new(),
            1 => format!(
                "{}#piece",
                input.sight.with_piece(Some(piece.mappings.start)).href()
            ),
            _ => input.sight.within(Some(piece.mappings.clone())).href(),
        },
        title: title(input, map, piece, keys.as_ref()),
        name: if fit.is_empty() { String::new() } else { name },
        fit,
        is_moving: piece.is_moving,
        has_changed: changed,
        heat: None,
        shard: shard_name(piece),
        place: piece.mappings.start,
        request: String::new(),
        cuts: String::new(),
    }
}

impl MapBarPart {
    /// Adds what a script needs to offer the piece to be dragged.
    fn add_gestures(&mut self, input: &BarInput<'_>, map: &ShardMap, piece: &PicturePiece<'_>) {
        let (Some(keys), Some(shard), 1) = (piece.keys(map), piece.shard, piece.together) else {
            return;
        };
        self.request = href(split_fields(map, piece, &keys, shard).into_iter());
        let cuts = cuts(map, piece, input.load, input.sight.by);
        self.cuts = serde_json::to_string(&cuts).unwrap_or_default();
    }
}

/// Describes a piece: keys, owner, load, and since when it has the owner.
fn title(
    input: &BarInput<'_>,
    map: &ShardMap,
    piece: &PicturePiece<'_>,
    keys: Option<&KeySet>,
) -> String {
    if piece.is_gap && piece.together == 1 {
        return "no shard owns these keys".to_owned();
    }
    let mut lines = vec![match (piece.together, keys) {
        (1, Some(keys)) => keys_text(map, keys),
        (several, _) => format!("{} pieces, drawn together", count_of(several)),
    }];
    match (piece.shard, piece.together) {
        (Some(shard), 1) => lines.push(format!("shard {shard}")),
        (Some(shard), _) => lines.push(format!("most of it on shard {shard}")),
        (None, _) => lines.push("several shards".to_owned()),
    }
    match input.load {
        Some(load) => lines.extend(load_lines(piece.figures, load)),
        None => lines.push("load not measured".to_owned()),
    }
    if piece.is_moving {
        lines.push("a migration moves keys of it".to_owned());
    }
    let since = keys.filter(|_| piece.together == 1);
    lines.extend(since.and_then(|keys| (input.since)(keys)));
    lines.join("\n")
}

/// Describes the load of some keys.
pub(super) fn load_lines(figures: KeyFigures, load: &MapLoad) -> Vec<String> {
    let about = if load.sampled { "about " } else { "" };
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    vec![
        format!("{about}{} rows", count(signed(figures.rows))),
        format!("{about}{}", bytes(signed(figures.bytes))),
        match load.watched_ms {
            0 => "writes not measured".to_owned(),
            ms => {
                let rate = figures.writes as f64 * 1000.0 / ms as f64;
                format!("{rate:.1} writes per second")
            }
        },
    ]
}

/// Returns keys as text; for keys of a list only their number.
fn keys_text(map: &ShardMap, keys: &KeySet) -> String {
    match keys {
        KeySet::List(keys) => key_count_text(keys.len()),
        KeySet::Range(_) | KeySet::Hash(_) => named_keys(map, keys),
    }
}

fn count_of(number: usize) -> String {
    count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns the class of the colour for a number of writes: 0 only if there were none.
fn heat(writes: u64, most: u64) -> &'static str {
    const CLASSES: [&str; 5] = ["heat-0", "heat-1", "heat-2", "heat-3", "heat-4"];
    let class = match writes {
        0 => 0,
        some => 1 + u128::from(some.saturating_sub(1)) * 4 / u128::from(most.max(1)),
    };
    CLASSES[usize::try_from(class).unwrap_or(4).min(4)]
}

/// Returns the bounds between the pieces, if they are few enough to be read.
fn bounds(map: &ShardMap, drawn: &[PicturePiece<'_>]) -> Vec<BarLabel> {
    if drawn.len() > MAX_BOUNDS + 1 || drawn.iter().any(|piece| piece.together > 1) {
        return Vec::new();
    }
    let ends = drawn.iter().filter(|piece| !piece.is_gap);
    let ends = ends.filter_map(|piece| {
        let last = map.mappings.get(piece.mappings.end.checked_sub(1)?)?;
        let text = match &last.keys {
            KeySet::Range(_) => end_key(&last.keys)?.to_string(),
            KeySet::Hash(set) => set.ranges.last().map(|range| range.to.to_string())?,
            KeySet::List(_) => return None,
        };
        Some((piece.x + piece.width, text))
    });
    let mut ends: Vec<(f64, String)> = ends.filter(|(x, _)| *x < 99.9).collect();
    // The first bound names the column.
    if let Some((_, first)) = ends.first_mut().filter(|_| map.buckets == 0) {
        *first = format!("{} {first}", key_column(map));
    }
    place_labels(&ends, 1)
}

fn has_open_ends(map: &ShardMap) -> bool {
    let first = map.mappings.first().map(|mapping| &mapping.keys);
    let is_range = matches!(first, Some(KeySet::Range(_)));
    is_range && map.mappings.len() > 1
}

/// Returns the keys of a hash map that are exceptions, at the position of their virtual shard.
fn exceptions(input: &BarInput<'_>, map: &ShardMap) -> Vec<BarException> {
    let mappings = map.mappings.iter().enumerate();
    let single = mappings.map_while(|(place, mapping)| {
        let key = mapping.keys.exception()?;
        let x = f64::from(bucket_of(key, map.buckets)) * 100.0 / f64::from(map.buckets.max(1));
        Some(BarException {
            x: percent(x),
            class: input.palette.class(&mapping.shard),
            title: format!(
                "key {key}: shard {}, an exception of its virtual shard",
                mapping.shard
            ),
            href: format!("{}#piece", input.sight.with_piece(Some(place)).href()),
        })
    });
    let is_whole = input.sight.part.is_none() && input.sight.by == BarMeasure::Keys;
    single
        .take(if is_whole { MAX_EXCEPTIONS } else { 0 })
        .collect()
}

/// Describes the picture for readers who do not see it.
fn description(map: &ShardMap, drawn: &[PicturePiece<'_>]) -> String {
    let pieces: usize = drawn.iter().map(|piece| piece.together).sum();
    format!(
        "Map {}, {} pieces in key order; the table below has the same",
        map.name,
        count_of(pieces)
    )
}
