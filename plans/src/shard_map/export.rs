//! Exports a map as CSV, JSON or SQL, for routers and tools that do not know Shardwright.
//!
//! [`super::import()`] can read CSV and JSON. They do not contain the labels and rules of the map. Users open CSV in
//! spreadsheets, which execute a cell that begins like a formula: see [`super::cell`].

use super::import::header;
use super::{Mapping, ShardMap, Strategy, cell};
use crate::key::{Key, KeyType};
use crate::key_set::KeySet;
use crate::shard_map::Selection;
use crate::sql::{quote_ident, quote_literal};
use serde::Serialize;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// CSV, as in [`super::ImportForm::Csv`].
    Csv,
    /// JSON, as in [`super::ImportForm::Json`].
    Json,
    /// A script for PostgreSQL: a table with the mappings, and a function that returns the shard of a key.
    Sql,
}

/// Returns the mappings of `map`. The same map always gives the same bytes.
#[must_use]
pub fn export(map: &ShardMap, form: ExportForm) -> String {
    match form {
        ExportForm::Csv => csv(map),
        ExportForm::Json => json(map),
        ExportForm::Sql => sql(map),
    }
}

/// Returns one row of values for each piece of a mapping. A missing value is a missing bound, or a missing virtual shard in
/// front of a single key.
fn rows_of(keys: &KeySet) -> Vec<Vec<Option<Key>>> {
    match keys {
        KeySet::Range(ranges) => ranges
            .iter()
            .map(|range| vec![range.from.clone(), range.to.clone()])
            .collect(),
        KeySet::Hash(buckets) => {
            let ranges = buckets.ranges.iter().map(|range| {
                [range.from, range.to]
                    .map(|end| Some(Key::Int(end.into())))
                    .to_vec()
            });
            let (_, single) = buckets.exceptions();
            let single = single
                .into_iter()
                .map(|key| vec![None, None, Some(key.clone())]);
            ranges.chain(single).collect()
        }
        KeySet::List(keys) => keys.iter().map(|key| vec![Some(key.clone())]).collect(),
    }
}

fn csv(map: &ShardMap) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    let columns = header(map);
    let width = columns.len() - 1;
    let _ = writer.write_record(&columns);
    for Mapping { keys, shard, .. } in &map.mappings {
        for row in rows_of(keys) {
            let texts = row.iter().map(|key| match key {
                None => String::new(),
                Some(key @ Key::Text(_)) => cell::escape_cell(&key.file_text()).into_owned(),
                // Numbers and times are no formulas, even with a leading minus.
                Some(key) => key.file_text(),
            });
            let texts = texts.chain(std::iter::repeat_with(String::new)).take(width);
            let shard = cell::escape_cell(shard.as_str()).into_owned();
            let _ = writer.write_record(texts.chain([shard]));
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

fn json(map: &ShardMap) -> String {
    #[derive(Serialize)]
    struct ExportEntry<'a> {
        keys: Selection,
        shard: &'a str,
    }
    let lines: Vec<String> = map
        .mappings
        .iter()
        .map(|mapping| ExportEntry {
            keys: match mapping.keys.exception() {
                Some(_) => Selection::of(&mapping.keys),
                None => Selection::of(&mapping.keys.whole_buckets()),
            },
            shard: mapping.shard.as_str(),
        })
        .map(|entry| serde_json::to_string(&entry).unwrap_or_default())
        .collect();
    match lines.as_slice() {
        [] => "[]\n".to_owned(),
        lines => format!("[\n  {}\n]\n", lines.join(",\n  ")),
    }
}

fn sql(map: &ShardMap) -> String {
    let mut out = format!(
        "-- shard map {:?}, version {}: made anew by each export\nbegin;\n",
        map.name.as_str(),
        map.version
    );
    let (exceptions, mappings): (Vec<&Mapping>, Vec<&Mapping>) = map
        .mappings
        .iter()
        .partition(|mapping| mapping.keys.exception().is_some());
    let name = format!("shard_map_{}", map.name);
    out += &sql_table(
        &name,
        &sql_columns(map),
        mappings.iter().flat_map(|m| sql_rows(m, map)),
    );
    if map.strategy == Strategy::Hash {
        let rows = exceptions.iter().flat_map(|m| sql_rows(m, map));
        out += &sql_table(&format!("{name}_keys"), &key_columns(map), rows);
    }
    out += &sql_function(map);
    out += "commit;\n";
    out
}

/// Returns statements that create a table if it does not exist, and replace its rows.
fn sql_table(name: &str, columns: &[(String, &str)], rows: impl Iterator<Item = String>) -> String {
    let table = quote_ident(name);
    let definitions: Vec<String> = columns
        .iter()
        .map(|(name, kind)| format!("{} {kind}", quote_ident(name)))
        .collect();
    let mut out = format!(
        "create table if not exists {table} ({}, \"shard\" text not null);\ndelete from {table};\n",
        definitions.join(", ")
    );
    let rows: Vec<String> = rows.collect();
    if !rows.is_empty() {
        out += &format!("insert into {table} values\n  {};\n", rows.join(",\n  "));
    }
    out
}

fn sql_columns(map: &ShardMap) -> Vec<(String, &'static str)> {
    match map.strategy {
        Strategy::Hash => ["bucket_from", "bucket_to"]
            .map(|name| (name.to_owned(), "integer not null"))
            .to_vec(),
        Strategy::List => key_columns(map),
        Strategy::Range => ["from", "to"]
            .into_iter()
            .flat_map(|end| numbered_names(end, &map.key))
            .map(|(name, kind)| (name, kind.sql_name()))
            .collect(),
    }
}

/// Returns the column of single keys.
fn key_columns(map: &ShardMap) -> Vec<(String, &'static str)> {
    map.key
        .iter()
        .map(|kind| ("key".to_owned(), kind.sql_name()))
        .collect()
}

/// Returns one name for each column of the key, with a number if there are several.
fn numbered_names(name: &str, types: &[KeyType]) -> Vec<(String, KeyType)> {
    match types {
        [only] => vec![(name.to_owned(), *only)],
        several => several
            .iter()
            .zip(1..)
            .map(|(kind, nth)| (format!("{name}_{nth}"), *kind))
            .collect(),
    }
}

fn sql_rows(mapping: &Mapping, map: &ShardMap) -> Vec<String> {
    let bucket = [KeyType::Integer];
    let exception = mapping.keys.exception();
    let types = match &mapping.keys {
        KeySet::Hash(_) if exception.is_none() => bucket.as_slice(),
        KeySet::Range(_) | KeySet::Hash(_) | KeySet::List(_) => &map.key,
    };
    let shard = quote_literal(mapping.shard.as_str());
    let literals = |cell: &Option<Key>| -> Vec<String> {
        match cell {
            Some(key) => {
                let values = key.values().iter().zip(types);
                values
                    .map(|(value, kind)| value.sql_literal(*kind))
                    .collect()
            }
            None => vec!["null".to_owned(); types.len()],
        }
    };
    let rows = match exception {
        Some(key) => vec![vec![Some(key.clone())]],
        None => rows_of(&mapping.keys),
    };
    rows.iter()
        .map(|row| {
            let values: Vec<String> = row.iter().flat_map(literals).collect();
            format!("({}, {shard})", values.join(", "))
        })
        .collect()
}

/// Writes the function `shard_for_NAME(key)`. It returns null for a key without an owner.
fn sql_function(map: &ShardMap) -> String {
    let parameters = numbered_names("key", &map.key);
    let columns: Vec<(String, KeyType)> = parameters
        .iter()
        .map(|(name, kind)| (quote_ident(name), *kind))
        .collect();
    let cases: String = map
        .shards()
        .iter()
        .map(|shard| {
            let owned = map.owned_by(shard).predicate(&columns);
            format!("\n  when {owned} then {}", quote_literal(shard.as_str()))
        })
        .collect();
    let body = match cases.as_str() {
        "" => "select null::text".to_owned(),
        cases => format!("select case{cases}\nend"),
    };
    let declarations: Vec<String> = columns
        .iter()
        .map(|(name, kind)| format!("{name} {}", kind.sql_name()))
        .collect();
    format!(
        "create or replace function {}({}) returns text language sql immutable as {};\n",
        quote_ident(&format!("shard_for_{}", map.name)),
        declarations.join(", "),
        quote_literal(&body)
    )
}
