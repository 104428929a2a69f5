//! Mappings from CSV, JSON, YAML or the rows of a directory table.
//!
//! Order: the text becomes entries that know their place, each entry keys of the map's types, then all are
//! held against each other. What is wrong is said all at once, with its place.
//! Absent: reading files and running queries; whether the shards exist.

mod document;
mod table;

pub(super) use table::header;

use super::{Mapping, MappingState, ShardMap, Strategy};
use crate::id::ShardName;
use crate::key::Key;
use crate::key_set::{KeySet, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportForm {
    /// A header `from,to,shard` (range), `bucket_from,bucket_to,shard` (hash) or `key,shard` (list).
    ///
    /// An empty bound has no bound. A composite key is a JSON array, or has columns `from_1,from_2,to_1,to_2`.
    /// An apostrophe in front of what a spreadsheet would take for a formula is no part of the key.
    Csv,
    /// A list of `{"keys": …, "shard": …}`; keys are written as in a request.
    Json,
    /// The same in YAML.
    Yaml,
}

/// Where in the input something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputPosition {
    /// Nowhere in particular.
    Whole,
    /// A line of a file, from 1.
    Line(u64),
    /// An entry of a document, from 1.
    Entry(u64),
    /// A row of a query's result, from 1.
    Row(u64),
}

impl fmt::Display for InputPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the input"),
            Self::Line(number) => write!(f, "line {number}"),
            Self::Entry(number) => write!(f, "entry {number}"),
            Self::Row(number) => write!(f, "row {number}"),
        }
    }
}

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProblem {
    /// Where.
    pub place: InputPosition,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.reason)
    }
}

/// How many problems are told.
pub const MOST_PROBLEMS: usize = 20;

/// Why nothing is imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the mappings cannot be imported: {}{}", joined(problems), more_text(*more))]
pub struct ImportError {
    /// The first problems, in the order of the input; at most [`MOST_PROBLEMS`].
    pub problems: Vec<ImportProblem>,
    /// How many there are beside these.
    pub more: usize,
}

fn joined(problems: &[ImportProblem]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn more_text(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!("; and {more} more"),
    }
}

impl ImportError {
    fn of(mut problems: Vec<ImportProblem>) -> Self {
        problems.sort_by_key(|problem| problem.place);
        let more = problems.len().saturating_sub(MOST_PROBLEMS);
        problems.truncate(MOST_PROBLEMS);
        Self { problems, more }
    }

    fn one(place: InputPosition, reason: String) -> Self {
        Self::of(vec![ImportProblem { place, reason }])
    }
}

/// One entry of the input, or what is wrong with it.
struct ImportEntry {
    place: InputPosition,
    read: Result<(KeySet, ShardName), String>,
}

/// Reads the mappings of a map like `shape`: its strategy, key types and number of virtual shards count,
/// its own mappings do not.
///
/// The mappings come in key order. Neighbours of one shard stay apart, as they were written; the keys of
/// a list map are gathered by shard.
///
/// # Errors
/// [`ImportError`] with the line of each problem.
pub fn import(text: &str, form: ImportForm, shape: &ShardMap) -> Result<Vec<Mapping>, ImportError> {
    let entries = match form {
        ImportForm::Csv => table::read_csv(text, shape)?,
        ImportForm::Json | ImportForm::Yaml => document::read(text, form, shape)?,
    };
    collect(entries, shape).map_err(|error| match form {
        ImportForm::Csv => error,
        ImportForm::Json | ImportForm::Yaml => document::with_lines(error, text),
    })
}

/// Reads mappings from the rows of a query on a directory table.
///
/// The shard is the column of that name, or the last one. The other columns are the key of a list map, the
/// virtual shard or the first and the one after the last of a hash map, the bounds of a range map (null: no
/// bound; of a composite key, as a JSON array each or column by column). Keys in a row stay single keys.
///
/// # Errors
/// [`ImportError`] with the number of the row of each problem.
pub fn import_rows(
    columns: &[String],
    rows: &[Vec<Option<String>>],
    shape: &ShardMap,
) -> Result<Vec<Mapping>, ImportError> {
    collect(table::read_rows(columns, rows, shape)?, shape)
}

fn collect(entries: Vec<ImportEntry>, shape: &ShardMap) -> Result<Vec<Mapping>, ImportError> {
    let mut problems = Vec::new();
    let mut places = Vec::with_capacity(entries.len());
    let mut mappings = Vec::with_capacity(entries.len());
    for ImportEntry { place, read } in entries {
        let reason = match read {
            Ok((keys, _)) if keys.is_empty() => format!("{keys} is no range of keys"),
            Ok((_, shard)) if shard.as_str().is_empty() => "the name of the shard is empty".into(),
            Ok((keys, shard)) => {
                places.push(place);
                mappings.push(Mapping {
                    keys,
                    shard,
                    state: MappingState::Active,
                });
                continue;
            }
            Err(reason) => reason,
        };
        problems.push(ImportProblem { place, reason });
    }
    problems.extend(overlaps(&mappings, &places, shape.strategy));
    if !problems.is_empty() {
        return Err(ImportError::of(problems));
    }
    let map = ShardMap {
        mappings: match shape.strategy {
            Strategy::List => by_shard(mappings),
            Strategy::Range | Strategy::Hash => mappings,
        },
        ..shape.clone()
    };
    match map.validated() {
        Ok(map) => Ok(map.mappings),
        Err(error) => Err(ImportError::one(InputPosition::Whole, error.to_string())),
    }
}

/// One mapping for each shard, so that keys that are listed one by one are not joined one by one.
fn by_shard(mappings: Vec<Mapping>) -> Vec<Mapping> {
    let mut lists: BTreeMap<ShardName, BTreeSet<Key>> = BTreeMap::new();
    for Mapping { keys, shard, .. } in mappings {
        if let KeySet::List(keys) = keys {
            lists.entry(shard).or_default().extend(keys);
        }
    }
    let mapping = |(shard, keys)| Mapping {
        keys: KeySet::List(keys),
        shard,
        state: MappingState::Active,
    };
    lists.into_iter().map(mapping).collect()
}

/// Entries that name keys of an earlier one; a key that is listed twice for the same shard does no harm.
fn overlaps(
    mappings: &[Mapping],
    places: &[InputPosition],
    strategy: Strategy,
) -> Vec<ImportProblem> {
    let mut spans: Vec<(Span, usize)> = Vec::with_capacity(mappings.len());
    for (index, mapping) in mappings.iter().enumerate() {
        spans.extend(mapping.keys.spans().into_iter().map(|span| (span, index)));
    }
    spans.sort();
    let mut problems = Vec::new();
    // The end that reaches furthest so far, and whose it is.
    let mut furthest: Option<(Option<Vec<u8>>, usize)> = None;
    for ((start, end), index) in spans {
        if let Some((reached, other)) = &furthest
            && reaches(reached.as_ref(), start.as_ref())
        {
            let (first, second) = (index.min(*other), index.max(*other));
            let (one, two) = (&mappings[first], &mappings[second]);
            if strategy != Strategy::List || one.shard != two.shard {
                problems.push(ImportProblem {
                    place: places[second],
                    reason: format!(
                        "{} of shard {} meets {} of shard {} ({})",
                        two.keys, two.shard, one.keys, one.shard, places[first]
                    ),
                });
            }
        }
        let further = match (&furthest, &end) {
            (None, _) | (Some((Some(_), _)), None) => true,
            (Some((None, _)), _) => false,
            (Some((Some(reached), _)), Some(end)) => end > reached,
        };
        if further {
            furthest = Some((end, index));
        }
    }
    problems
}

/// Whether what ends before `end` has anything of what begins with `start`.
fn reaches(end: Option<&Vec<u8>>, start: Option<&Vec<u8>>) -> bool {
    match (end, start) {
        (Some(end), Some(start)) => start < end,
        (None, _) | (_, None) => true,
    }
}
