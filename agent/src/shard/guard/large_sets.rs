//! Large key sets in the WHEN of guards.
//!
//! PostgreSQL reads the expression of a WHEN anew for each statement. With 5,000 ranges this takes 45 ms. A function in
//! the WHEN is read once for each session, so it evaluates a large set.

use plans::key::KeyType;
use plans::key_set::KeySet;
use plans::names::SCHEMA;
use plans::sql::quote_ident;
use plans::table::{KeyColumn, MovingTable, TableKey};

/// The maximum number of ranges in a WHEN.
const MAX_RANGES: usize = 16;
/// The maximum number of single keys in a WHEN. They are one constant, which is read faster than ranges.
const MAX_SINGLE_KEYS: usize = 256;

fn is_large(keys: &KeySet) -> bool {
    match keys {
        KeySet::Range(ranges) => ranges.len() > MAX_RANGES,
        KeySet::Hash(buckets) => {
            buckets.ranges.len() > MAX_RANGES || buckets.except.len() > MAX_SINGLE_KEYS
        }
        KeySet::List(keys) => keys.len() > MAX_SINGLE_KEYS,
    }
}

fn key_columns(table: &MovingTable) -> Option<&[KeyColumn]> {
    match &table.key {
        TableKey::Columns(columns) => Some(columns),
        TableKey::Through(_) | TableKey::Schema(_) | TableKey::Group(_) | TableKey::Reference => {
            None
        }
    }
}

/// Returns the predicate of `keys` for a row of a table in a WHEN. If the set is large, the predicate calls `function`.
pub(crate) fn predicate(table: &MovingTable, keys: &KeySet, row: &str, function: &str) -> String {
    match key_columns(table) {
        Some(columns) if is_large(keys) => {
            let values: Vec<String> = columns
                .iter()
                .map(|column| {
                    format!(
                        "{row}.{}::pg_catalog.{}",
                        quote_ident(&column.name),
                        column.kind.catalog_name()
                    )
                })
                .collect();
            format!("{SCHEMA}.{function}({})", values.join(", "))
        }
        Some(_) | None => table.predicate(keys, row),
    }
}

/// Returns the statements that create `function` if the set is large, and otherwise nothing. All tables of a map have the
/// same key types.
///
/// Every session whose statement meets the guard calls the function, so every role may execute it.
pub(crate) fn function_sql(keys: &KeySet, tables: &[MovingTable], function: &str) -> String {
    let columns = tables.iter().find_map(key_columns);
    let Some(columns) = columns.filter(|_| is_large(keys)) else {
        return String::new();
    };
    let parameters: Vec<(String, KeyType)> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| (format!("key_{index}"), column.kind))
        .collect();
    let types: Vec<String> = parameters
        .iter()
        .map(|(name, kind)| format!("{name} pg_catalog.{}", kind.catalog_name()))
        .collect();
    let types = types.join(", ");
    format!(
        "create or replace function {SCHEMA}.{function}({types}) returns pg_catalog.bool
         language plpgsql immutable parallel safe as $keys$
         begin
           return {};
         end $keys$;
         grant execute on function {SCHEMA}.{function}({types}) to public; ",
        keys.predicate(&parameters)
    )
}
