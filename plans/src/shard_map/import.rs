//! Reads mappings from CSV, JSON, YAML or the rows of a directory table.
//!
//! The text is split into entries that know their position. Each entry is converted to keys of the map's types. Then
//! all entries are compared with each other. All problems are reported together, with their positions. This module
//! reads no files, runs no queries, and does not check whether the shards exist.

mod document;
mod table;

pub(super) use table::header;

use super::{Mapping, MappingState, ShardMap, Strategy};
use crate::id::ShardName;
use crate::key::Key;
use crate::key_set::{KeySet, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The format of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportForm {
    /// CSV with the header `from,to,shard` (range), `bucket_from,bucket_to,shard` (hash) or `key,shard` (list).
    ///
    /// A hash map with exceptions has the header `bucket_from,bucket_to,key,shard`. Each line has either the numbers of
    /// virtual shards or a key.
    ///
    /// An empty bound is unbounded. A composite key is a JSON array, or has the columns `from_1,from_2,to_1,to_2`. An
    /// apostrophe before a text that a spreadsheet would execute as a formula does not belong to the key.
    Csv,
    /// A list of `{"keys": …, "shard": …}`; keys are written as in a request.
    Json,
    /// The same in YAML.
    Yaml,
}

/// The position of a problem in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InputPosition {
    /// The whole input.
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

/// One problem of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProblem {
    /// The position.
    pub position: InputPosition,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.reason)
    }
}

/// The maximum number of problems in an error.
pub const MAX_PROBLEMS: usize = 20;

/// Why nothing is imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the mappings cannot be imported: {}{}", problems_text(problems), more_text(*more))]
pub struct ImportError {
    /// The first problems in the order of the input, at most [`MAX_PROBLEMS`].
    pub problems: Vec<ImportProblem>,
    /// The number of further problems.
    pub more: usize,
}

fn problems_text(problems: &[ImportProblem]) -> String {
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
        problems.sort_by_key(|problem| problem.position);
        let more = problems.len().saturating_sub(MAX_PROBLEMS);
        problems.truncate(MAX_PROBLEMS);
        Self { problems, more }
    }

    fn of_one(position: InputPosition, reason: String) -> Self {
        Self::of(vec![ImportProblem { position, reason }])
    }
}

/// One entry of the input, or what is wrong with it.
struct ImportEntry {
    position: InputPosition,
    result: Result<(KeySet, ShardName), String>,
}

/// Reads the mappings of a map like `shape`: it uses the strategy, the key types and the number of virtual shards of
/// `shape`, but not its mappings.
///
/// The result is in key order. Adjacent ranges of one shard stay separate, as they were written; the keys of a list map
/// are grouped by shard.
///
/// # Errors
/// [`ImportError`] with the line of each problem.
pub fn import(text: &str, form: ImportForm, shape: &ShardMap) -> Result<Vec<Mapping>, ImportError> {
    let entries = match form {
        ImportForm::Csv => table::read_csv(text, shape)?,
        ImportForm::Json | ImportForm::Yaml => document::read(text, form, shape)?,
    };
    mappings_of(entries, shape).map_err(|error| match form {
        ImportForm::Csv => error,
        ImportForm::Json | ImportForm::Yaml => document::with_lines(error, text),
    })
}

/// Reads mappings from the rows of a query on a directory table.
///
/// The column `shard` contains the shard; without such a column, the last one does. The other columns contain: for a
/// list map the key; for a hash map the virtual shard, or the first virtual shard and the one after the last, or in their
/// place a single key in a third column; for a range map the bounds. A null is a missing bound. A composite key is a JSON array for each bound, or has one column
/// for each of its values.
///
/// # Errors
/// [`ImportError`] with the row number of each problem.
pub fn import_rows(
    columns: &[String],
    rows: &[Vec<Option<String>>],
    shape: &ShardMap,
) -> Result<Vec<Mapping>, ImportError> {
    mappings_of(table::read_rows(columns, rows, shape)?, shape)
}

/// Returns the mappings of all entries, or all problems.
fn mappings_of(entries: Vec<ImportEntry>, shape: &ShardMap) -> Result<Vec<Mapping>, ImportError> {
    let mut problems = Vec::new();
    let mut positions = Vec::with_capacity(entries.len());
    let mut mappings = Vec::with_capacity(entries.len());
    for ImportEntry { position, result } in entries {
        let reason = match result {
            Ok((keys, _)) if keys.is_empty() => format!("{keys} is no range of keys"),
            Ok((_, shard)) if shard.as_str().is_empty() => "the name of the shard is empty".into(),
            Ok((keys, shard)) => {
                positions.push(position);
                mappings.push(Mapping {
                    keys,
                    shard,
                    state: MappingState::Active,
                });
                continue;
            }
            Err(reason) => reason,
        };
        problems.push(ImportProblem { position, reason });
    }
    problems.extend(overlap_problems(&mappings, &positions, shape.strategy));
    if !problems.is_empty() {
        return Err(ImportError::of(problems));
    }
    let map = ShardMap {
        mappings: match shape.strategy {
            Strategy::List => merge_by_shard(mappings),
            Strategy::Range | Strategy::Hash => mappings,
        },
        ..shape.clone()
    };
    match map.validated() {
        Ok(map) => Ok(map.mappings),
        Err(error) => Err(ImportError::of_one(InputPosition::Whole, error.to_string())),
    }
}

/// Combines the mappings of a list map to one for each shard, in one pass. [`ShardMap::validated`] would join them one
/// by one, which takes too long for many single keys.
fn merge_by_shard(mappings: Vec<Mapping>) -> Vec<Mapping> {
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

/// Returns a problem for each entry that has keys of an earlier entry. In a list map a key may be listed twice for the
/// same shard.
fn overlap_problems(
    mappings: &[Mapping],
    positions: &[InputPosition],
    strategy: Strategy,
) -> Vec<ImportProblem> {
    let mut ranges: Vec<(Span, usize)> = Vec::with_capacity(mappings.len());
    let mut exceptions: Vec<(Span, usize)> = Vec::new();
    for (index, mapping) in mappings.iter().enumerate() {
        let spans = |keys: KeySet| keys.spans().into_iter().map(move |span| (span, index));
        let whole = mapping.keys.whole_buckets();
        // A single key takes precedence over its virtual shard, so the two do not overlap.
        exceptions.extend(spans(mapping.keys.minus(&whole)));
        ranges.extend(spans(whole));
    }
    let mut problems = overlaps_among(ranges, mappings, positions, strategy);
    problems.extend(overlaps_among(exceptions, mappings, positions, strategy));
    problems
}

fn overlaps_among(
    mut spans: Vec<(Span, usize)>,
    mappings: &[Mapping],
    positions: &[InputPosition],
    strategy: Strategy,
) -> Vec<ImportProblem> {
    spans.sort();
    let mut problems = Vec::new();
    // The greatest end so far, and the entry to which it belongs.
    let mut furthest: Option<(Option<Vec<u8>>, usize)> = None;
    for ((start, end), index) in spans {
        if let Some((greatest_end, other)) = &furthest
            && is_before_end(start.as_ref(), greatest_end.as_ref())
        {
            let (first, second) = (index.min(*other), index.max(*other));
            let (earlier, later) = (&mappings[first], &mappings[second]);
            if strategy != Strategy::List || earlier.shard != later.shard {
                problems.push(ImportProblem {
                    position: positions[second],
                    reason: format!(
                        "{} of shard {} overlaps {} of shard {} ({})",
                        later.keys, later.shard, earlier.keys, earlier.shard, positions[first]
                    ),
                });
            }
        }
        let is_further = match (&furthest, &end) {
            (None, _) | (Some((Some(_), _)), None) => true,
            (Some((None, _)), _) => false,
            (Some((Some(greatest_end), _)), Some(end)) => end > greatest_end,
        };
        if is_further {
            furthest = Some((end, index));
        }
    }
    problems
}

/// Returns whether `start` is before `end`. Without a start or an end, the span is unbounded there.
fn is_before_end(start: Option<&Vec<u8>>, end: Option<&Vec<u8>>) -> bool {
    match (start, end) {
        (Some(start), Some(end)) => start < end,
        (None, _) | (_, None) => true,
    }
}
