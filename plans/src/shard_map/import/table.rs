//! Reads mappings from rows and columns: CSV and directory tables.

use super::{ImportEntry, ImportError, InputPosition};
use crate::id::ShardName;
use crate::key::{self, Key, KeyType};
use crate::key_set::KeySet;
use crate::shard_map::{ShardMap, Strategy, cell};

/// The indexes of the columns.
struct TableLayout {
    shard: usize,
    keys: KeyColumnIndexes,
}

enum KeyColumnIndexes {
    /// The key of a list map.
    Key(usize),
    /// One virtual shard.
    Bucket(usize),
    /// The first virtual shard, and the one after the last.
    Buckets(usize, usize),
    /// The same, or in a row without numbers of virtual shards a single key.
    BucketsOrKey(usize, usize, usize),
    /// The bounds of a range. A composite key may have one column for each of its values.
    Bounds { from: Vec<usize>, to: Vec<usize> },
}

pub(super) fn read_csv(text: &str, shape: &ShardMap) -> Result<Vec<ImportEntry>, ImportError> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let malformed = |error: &csv::Error| {
        let position = error
            .position()
            .map_or(InputPosition::Whole, |at| InputPosition::Line(at.line()));
        ImportError::of_one(position, error.to_string())
    };
    let header = reader.headers().map_err(|error| malformed(&error))?;
    let names: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    let layout = layout_by_names(&names, shape)
        .map_err(|reason| ImportError::of_one(InputPosition::Line(1), reason))?;
    let mut entries = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed(&error))?;
        let position = record
            .position()
            .map_or(InputPosition::Whole, |at| InputPosition::Line(at.line()));
        let result = if record.len() == names.len() {
            let has_bounds = matches!(layout.keys, KeyColumnIndexes::Bounds { .. });
            // In a range map an empty cell means that the bound is missing; in other maps it is an empty key.
            let cell = |index: usize| {
                let cell = record.get(index);
                let cell =
                    cell.filter(|text| !(has_bounds && text.is_empty() && index != layout.shard));
                cell.map(cell::unescape_cell)
            };
            entry(&layout, &cell, shape)
        } else {
            Err(columns_differ(record.len(), names.len()))
        };
        entries.push(ImportEntry { position, result });
    }
    Ok(entries)
}

pub(super) fn read_rows(
    columns: &[String],
    rows: &[Vec<Option<String>>],
    shape: &ShardMap,
) -> Result<Vec<ImportEntry>, ImportError> {
    let layout = layout_by_names(columns, shape)
        .or_else(|_| layout_by_positions(columns, shape))
        .map_err(|reason| ImportError::of_one(InputPosition::Whole, reason))?;
    let entries = rows.iter().zip(1..).map(|(row, number)| {
        let cell = |index: usize| row.get(index).and_then(Option::as_deref);
        let result = if row.len() == columns.len() {
            entry(&layout, &cell, shape)
        } else {
            Err(columns_differ(row.len(), columns.len()))
        };
        ImportEntry {
            position: InputPosition::Row(number),
            result,
        }
    });
    Ok(entries.collect())
}

fn columns_differ(found: usize, expected: usize) -> String {
    format!("{found} value(s), but there are {expected} column(s)")
}

/// The columns of a hash map with exceptions.
const HASH_COLUMNS_WITH_KEY: [&str; 4] = ["bucket_from", "bucket_to", "key", "shard"];

/// Returns the names of the columns that an export of such a map has.
pub(in crate::shard_map) fn header(shape: &ShardMap) -> Vec<&'static str> {
    match shape.strategy {
        Strategy::Range => vec!["from", "to", "shard"],
        Strategy::Hash if shape.exceptions().next().is_some() => HASH_COLUMNS_WITH_KEY.to_vec(),
        Strategy::Hash => vec!["bucket_from", "bucket_to", "shard"],
        Strategy::List => vec!["key", "shard"],
    }
}

fn layout_by_names(columns: &[String], shape: &ShardMap) -> Result<TableLayout, String> {
    let numbered = |end: &str| {
        (1..=shape.key.len())
            .map(|nth| format!("{end}_{nth}"))
            .collect()
    };
    let numbered_columns: Vec<String> =
        [numbered("from"), numbered("to"), vec!["shard".to_owned()]].concat();
    let plain_columns: Vec<String> = header(shape)
        .iter()
        .map(|name| (*name).to_owned())
        .collect();
    let find = |names: &[String]| -> Option<Vec<usize>> {
        let positions = names
            .iter()
            .map(|name| columns.iter().position(|c| c == name));
        positions
            .collect::<Option<Vec<_>>>()
            .filter(|_| names.len() == columns.len())
    };
    let other_columns = match shape.strategy {
        Strategy::Range => numbered_columns,
        Strategy::Hash => HASH_COLUMNS_WITH_KEY.map(str::to_owned).to_vec(),
        Strategy::List => Vec::new(),
    };
    let found = find(&plain_columns).or_else(|| find(&other_columns));
    let layout = found
        .as_deref()
        .and_then(|positions| layout_of_columns(positions, shape));
    layout.ok_or_else(|| {
        format!(
            "the columns of a {} map are {}; found {}",
            shape.strategy,
            plain_columns.join(","),
            columns.join(",")
        )
    })
}

fn layout_by_positions(columns: &[String], shape: &ShardMap) -> Result<TableLayout, String> {
    let last = columns.len().saturating_sub(1);
    let shard = columns
        .iter()
        .position(|name| name == "shard")
        .unwrap_or(last);
    let mut positions: Vec<usize> = (0..columns.len()).filter(|index| *index != shard).collect();
    positions.push(shard);
    layout_of_columns(&positions, shape).ok_or_else(|| {
        format!(
            "{} column(s) cannot be the mappings of a {} map with a key of {} column(s)",
            columns.len(),
            shape.strategy,
            shape.key.len()
        )
    })
}

/// Returns the layout with the columns `positions`: those of the keys, then that of the shard.
fn layout_of_columns(positions: &[usize], shape: &ShardMap) -> Option<TableLayout> {
    let (shard, keys) = positions.split_last()?;
    let keys = match (shape.strategy, keys) {
        (Strategy::List, [key]) => KeyColumnIndexes::Key(*key),
        (Strategy::Hash, [bucket]) => KeyColumnIndexes::Bucket(*bucket),
        (Strategy::Hash, [from, to]) => KeyColumnIndexes::Buckets(*from, *to),
        (Strategy::Hash, [from, to, key]) => KeyColumnIndexes::BucketsOrKey(*from, *to, *key),
        (Strategy::Range, bounds) if bounds.len() == 2 || bounds.len() == 2 * shape.key.len() => {
            let (from, to) = bounds.split_at(bounds.len() / 2);
            KeyColumnIndexes::Bounds {
                from: from.to_vec(),
                to: to.to_vec(),
            }
        }
        (Strategy::List | Strategy::Hash | Strategy::Range, _) => return None,
    };
    Some(TableLayout {
        shard: *shard,
        keys,
    })
}

fn entry<'a>(
    layout: &TableLayout,
    cell: &impl Fn(usize) -> Option<&'a str>,
    shape: &ShardMap,
) -> Result<(KeySet, ShardName), String> {
    let shard = cell(layout.shard).ok_or("the name of the shard is null")?;
    let keys = match &layout.keys {
        KeyColumnIndexes::Key(index) => KeySet::list([single_key(cell(*index), shape)?]),
        KeyColumnIndexes::Bucket(index) => {
            let bucket = bucket(cell(*index), shape)?;
            KeySet::buckets(shape.buckets, bucket, bucket.saturating_add(1))
        }
        KeyColumnIndexes::BucketsOrKey(from, to, key)
            if [from, to]
                .iter()
                .all(|end| cell(**end).is_none_or(str::is_empty)) =>
        {
            KeySet::single_keys(shape.buckets, [single_key(cell(*key), shape)?])
        }
        KeyColumnIndexes::BucketsOrKey(_, _, key)
            if cell(*key).is_some_and(|key| !key.is_empty()) =>
        {
            return Err("a row has either virtual shards or a key".to_owned());
        }
        KeyColumnIndexes::Buckets(from, to) | KeyColumnIndexes::BucketsOrKey(from, to, _) => {
            let (from, to) = (bucket(cell(*from), shape)?, bucket(cell(*to), shape)?);
            if from >= to {
                return Err(format!("[{from}, {to}) is no range of virtual shards"));
            }
            KeySet::buckets(shape.buckets, from, to)
        }
        KeyColumnIndexes::Bounds { from, to } => {
            let bound = |columns: &[usize]| {
                let cells: Vec<Option<&str>> = columns.iter().map(|index| cell(*index)).collect();
                bound(&cells, &shape.key)
            };
            let (from, to) = (bound(from)?, bound(to)?);
            if let (Some(from), Some(to)) = (&from, &to)
                && from >= to
            {
                return Err(format!("[{from}, {to}) is no range of keys"));
            }
            KeySet::range(from, to)
        }
    };
    let keys = shape.accepted(keys).map_err(|error| error.to_string())?;
    Ok((keys, shard.trim().into()))
}

fn single_key(cell: Option<&str>, shape: &ShardMap) -> Result<Key, String> {
    let text = cell.ok_or("the key is null")?;
    let kind = shape.key.first().copied().unwrap_or(KeyType::Text);
    read_key(kind, text)
}

fn bucket(cell: Option<&str>, shape: &ShardMap) -> Result<u32, String> {
    let text = cell.ok_or("the number of a virtual shard is null")?;
    let number = text
        .trim()
        .parse()
        .ok()
        .filter(|number| *number <= shape.buckets);
    number.ok_or_else(|| format!("{text:?} is no virtual shard of {}", shape.buckets))
}

/// Reads one end of a range from its cells. If all cells are empty, the bound is missing.
fn bound(cells: &[Option<&str>], types: &[KeyType]) -> Result<Option<Key>, String> {
    match (cells, types) {
        ([None], _) => Ok(None),
        ([Some(text)], [kind]) => read_key(*kind, text).map(Some),
        ([Some(text)], _) => {
            let key: Key = serde_json::from_str(text)
                .map_err(|_| format!("{text:?} is not a JSON array of the key's columns"))?;
            key::accept(types, &key)
                .map(Some)
                .map_err(|error| error.to_string())
        }
        (cells, _) if cells.iter().all(Option::is_none) => Ok(None),
        (cells, _) => {
            let values = cells.iter().zip(types).map(|(cell, kind)| match cell {
                Some(text) => read_key(*kind, text),
                None => Err("some columns of the bound are empty, others are not".to_owned()),
            });
            values
                .collect::<Result<Vec<_>, _>>()
                .map(|values| Some(Key::Row(values)))
        }
    }
}

fn read_key(kind: KeyType, text: &str) -> Result<Key, String> {
    kind.read(text)
        .ok_or_else(|| format!("{text:?} is not a {kind}"))
}
