//! The details of one piece of a map, and requests that begin there: each one leads to the form of a new migration, and
//! none changes anything.

use super::bar::load_lines;
use super::cuts::{PieceCut, cuts, middle};
use super::figures::{BarMeasure, KeyFigures, end_key, first_key};
use super::key_column::named_keys;
use super::pieces::PicturePiece;
use super::query::MapSight;
use crate::controller::MapLoad;
use crate::dashboard::bars::{Palette, key_count_text};
use crate::dashboard::request::key_input;
use askama::Template;
use form_urlencoded::Serializer;
use plans::id::ShardName;
use plans::key_set::KeySet;
use plans::shard_map::ShardMap;
use std::ops::Range;

/// The maximum number of mappings, keys and shards to choose from.
const MAX_CHOICES: usize = 200;
const MAX_KEYS: usize = 100;

/// The panel with the details of a piece.
#[derive(Template)]
#[template(path = "map/piece.html")]
pub(super) struct MapPieceView {
    keys: String,
    shard: String,
    class: String,
    facts: Vec<String>,
    /// Keys of a list, and how many more there are.
    named: Vec<String>,
    hidden: usize,
    close: String,
    /// The requests; `None`: the caller may not plan, or the version is not in force.
    requests: Option<PieceRequests>,
    no_requests: &'static str,
}

/// The forms of the panel.
struct PieceRequests {
    /// The parameters that name the piece.
    split: Vec<(&'static str, String)>,
    moves: Vec<(&'static str, String)>,
    isolate: Vec<(&'static str, String)>,
    /// The name of what the form splits at: a key or a virtual shard; empty if it cannot be split.
    splits_at: &'static str,
    at: String,
    cuts: Vec<PieceCut>,
    /// Links that split in the middle: the text and the URL.
    middles: Vec<(String, String)>,
    targets: Vec<String>,
    hottest: Vec<String>,
    takes_keys: bool,
}

/// What the panel is made of.
pub(super) struct PieceInputs<'a> {
    pub(super) map: &'a ShardMap,
    pub(super) sight: &'a MapSight,
    pub(super) palette: &'a Palette,
    pub(super) fleet: &'a [ShardName],
    pub(super) load: Option<&'a MapLoad>,
    pub(super) since: Option<String>,
    /// Whether the caller may plan migrations.
    pub(super) may_plan: bool,
}

impl MapPieceView {
    /// Shows the piece to which the mapping with the index `place` belongs, with the load of its mappings.
    pub(super) fn new(
        input: PieceInputs<'_>,
        place: usize,
        figures: &[KeyFigures],
    ) -> Option<Self> {
        let map = input.map;
        let piece = piece_around(map, place, figures)?;
        let (keys, shard) = (piece.keys(map)?, piece.shard?);
        let mut facts = match input.load {
            Some(load) => load_lines(piece.figures, load),
            None => vec!["rows, bytes and writes not measured".to_owned()],
        };
        facts.extend(input.since.clone());
        let (named, hidden) = match &keys {
            KeySet::List(keys) => (
                keys.iter()
                    .take(MAX_KEYS)
                    .map(ToString::to_string)
                    .collect(),
                keys.len().saturating_sub(MAX_KEYS),
            ),
            KeySet::Range(_) | KeySet::Hash(_) => (Vec::new(), 0),
        };
        let is_in_force = input.sight.version.is_none();
        let requests =
            (input.may_plan && is_in_force).then(|| requests(&input, &piece, &keys, shard));
        Some(Self {
            keys: match &keys {
                KeySet::List(keys) => key_count_text(keys.len()),
                KeySet::Range(_) | KeySet::Hash(_) => named_keys(map, &keys),
            },
            shard: shard.to_string(),
            class: input.palette.class(shard),
            facts,
            named,
            hidden,
            close: input.sight.with_piece(None).href(),
            requests,
            no_requests: match (is_in_force, input.may_plan) {
                (false, _) => "This version is not in force, so its pieces cannot be moved.",
                (true, false) => "Your role may not plan migrations.",
                (true, true) => "",
            },
        })
    }
}

/// Returns the piece of adjacent mappings of one shard around a mapping.
fn piece_around<'a>(
    map: &'a ShardMap,
    place: usize,
    figures: &[KeyFigures],
) -> Option<PicturePiece<'a>> {
    let mapping = map.mappings.get(place)?;
    let joins = |a: usize, b: usize| {
        let (a, b) = (&map.mappings[a], &map.mappings[b]);
        a.shard == b.shard
            && match (&a.keys, &b.keys) {
                (KeySet::Range(_), KeySet::Range(_)) => {
                    end_key(&a.keys).is_some_and(|end| first_key(&b.keys) == Some(end))
                }
                (KeySet::Hash(a), KeySet::Hash(b)) => a
                    .ranges
                    .last()
                    .is_some_and(|a| b.ranges.first().is_some_and(|b| a.to == b.from)),
                (_, _) => false,
            }
    };
    let mut around: Range<usize> = place..place + 1;
    while around.start > 0 && joins(around.start - 1, around.start) {
        around.start -= 1;
    }
    while around.end < map.mappings.len() && joins(around.end - 1, around.end) {
        around.end += 1;
    }
    let mut sum = KeyFigures::default();
    for figures in figures.get(around.clone()).unwrap_or_default() {
        sum += *figures;
    }
    Some(PicturePiece::single(around, &mapping.shard, sum))
}

/// Returns the fields of a request about the keys of a piece. A split needs the keys of one mapping, or all keys of the
/// shard; other pieces are moved.
pub(super) fn split_fields(
    map: &ShardMap,
    piece: &PicturePiece<'_>,
    keys: &KeySet,
    shard: &ShardName,
) -> Vec<(&'static str, String)> {
    let operation = match piece.mappings.len() {
        1 => "split",
        _ => "move",
    };
    fields_of(operation, map, keys, shard)
}

fn fields_of(
    operation: &str,
    map: &ShardMap,
    keys: &KeySet,
    shard: &ShardName,
) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("operation", operation.to_owned()),
        ("map", map.name.to_string()),
        ("source", shard.to_string()),
    ];
    fields.extend(key_fields(keys));
    fields
}

fn requests(
    input: &PieceInputs<'_>,
    piece: &PicturePiece<'_>,
    keys: &KeySet,
    shard: &ShardName,
) -> PieceRequests {
    let split = split_fields(input.map, piece, keys, shard);
    let cuts = cuts(input.map, piece, input.load, BarMeasure::Keys);
    let targets: Vec<String> = input
        .fleet
        .iter()
        .filter(|name| *name != shard)
        .take(MAX_CHOICES)
        .map(ToString::to_string)
        .collect();
    // With several shards a person chooses.
    let only_target = targets.first().filter(|_| targets.len() == 1);
    let measures = [
        (BarMeasure::Rows, "the median of the rows"),
        (BarMeasure::Writes, "the middle of the writes"),
    ];
    let middles = measures.iter().filter_map(|(by, what)| {
        let cut = middle(&cuts, piece.figures, *by)?;
        let fields = split
            .iter()
            .cloned()
            .chain([("at", cut.at.clone()), ("side", "upper".to_owned())]);
        let target = only_target.map(|target| ("target", target.clone()));
        let href = href(fields.chain(target));
        Some((format!("at {what}, {}", cut.at), href))
    });
    let mut middles: Vec<(String, String)> = middles.collect();
    if middles.is_empty() && !splits_at(keys).is_empty() {
        let fields = fields_of("split", input.map, &input.map.empty_key_set(), shard);
        let parts = [shard.to_string(), only_target.cloned().unwrap_or_default()];
        let parts = ["shard.0", "shard.1"].into_iter().zip(parts);
        let even = [("even", "rows".to_owned())];
        middles.push((
            format!("all keys of {shard} evenly by rows, at a key that the planner finds"),
            href(fields.into_iter().chain(even).chain(parts)),
        ));
    }
    let hottest = input.load.into_iter().flat_map(|load| &load.hottest);
    PieceRequests {
        splits_at: splits_at(keys),
        at: middle(&cuts, piece.figures, BarMeasure::Rows)
            .or_else(|| cuts.get(cuts.len() / 2))
            .map_or_else(String::new, |cut| cut.at.clone()),
        middles,
        hottest: hottest
            .filter(|hot| keys.contains(&hot.key))
            .map(|hot| key_input(&hot.key))
            .collect(),
        takes_keys: keys.exception().is_none(),
        split,
        moves: fields_of("move", input.map, keys, shard),
        isolate: vec![
            ("operation", "isolate".to_owned()),
            ("map", input.map.name.to_string()),
        ],
        cuts,
        targets,
    }
}

fn splits_at(keys: &KeySet) -> &'static str {
    match keys {
        KeySet::Range(_) => "Key",
        KeySet::Hash(set) if !set.ranges.is_empty() => "Virtual shard",
        KeySet::Hash(_) | KeySet::List(_) => "",
    }
}

/// Returns the fields of the request's form that name `keys`. A long list of keys is not named: all keys of the shard
/// move.
pub(super) fn key_fields(keys: &KeySet) -> Vec<(&'static str, String)> {
    match keys {
        KeySet::Range(_) => [("from", first_key(keys)), ("to", end_key(keys))]
            .into_iter()
            .filter_map(|(name, key)| Some((name, key_input(key?))))
            .collect(),
        KeySet::Hash(set) => match keys.exception() {
            Some(key) => vec![("values", key_input(key))],
            None => set
                .ranges
                .first()
                .map(|range| ("buckets", format!("{}-{}", range.from, range.to)))
                .into_iter()
                .collect(),
        },
        KeySet::List(_) => Vec::new(),
    }
}

/// Returns the URL of the form of a new migration with these fields.
pub(super) fn href(fields: impl Iterator<Item = (&'static str, String)>) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in fields {
        query.append_pair(name, &value);
    }
    format!("/migrations/new?{}", query.finish())
}
