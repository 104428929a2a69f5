//! Compiles a key set to SQL.

use super::{BucketRange, KeyRange, KeySet};
use crate::key::{Key, KeyType};
use crate::sql::quote_literal;

impl KeySet {
    /// The SQL boolean over the key's columns: expressions that are already quoted (`"tenant_id"`,
    /// `new."id"`), each with its type.
    ///
    /// The result is in parentheses and uses only built-in immutable operators, so a publication accepts it.
    #[must_use]
    pub fn predicate(&self, columns: &[(String, KeyType)]) -> String {
        let parts: Vec<String> = match self {
            Self::Range(ranges) => ranges
                .iter()
                .map(|range| in_range(range, columns))
                .collect(),
            Self::Hash(buckets) => {
                let bucket = bucket_sql(columns, buckets.of);
                let within = |range: &BucketRange| {
                    format!(
                        "({bucket} operator(pg_catalog.>=) {} and {bucket} operator(pg_catalog.<) {})",
                        range.from, range.to
                    )
                };
                buckets.ranges.iter().map(within).collect()
            }
            Self::List(keys) if keys.is_empty() => Vec::new(),
            Self::List(keys) => vec![in_list(keys.iter(), columns)],
        };
        match parts.as_slice() {
            [] => "(false)".to_owned(),
            [only] => only.clone(),
            several => format!("({})", several.join(" or ")),
        }
    }
}

/// Returns an SQL expression of type `bigint` for the virtual shard of a row.
#[must_use]
pub(crate) fn bucket_sql(columns: &[(String, KeyType)], of: u32) -> String {
    let hash = match columns {
        [(column, kind)] => kind.hashed(column),
        several => {
            let columns: Vec<String> = several
                .iter()
                .map(|(column, kind)| kind.comparable(column))
                .collect();
            format!(
                "pg_catalog.hash_record_extended(row({}), 0)",
                columns.join(", ")
            )
        }
    };
    format!(
        "({hash} operator(pg_catalog.&) {}::pg_catalog.int8)",
        of.saturating_sub(1)
    )
}

fn in_range(range: &KeyRange, columns: &[(String, KeyType)]) -> String {
    let from = range.from.as_ref().map(|key| compared(columns, ">=", key));
    let to = range.to.as_ref().map(|key| compared(columns, "<", key));
    match (from, to) {
        (None, None) => "(true)".to_owned(),
        (Some(only), None) | (None, Some(only)) => format!("({only})"),
        (Some(from), Some(to)) => format!("({from} and {to})"),
    }
}

fn compared(columns: &[(String, KeyType)], operator: &str, key: &Key) -> String {
    let left: Vec<String> = columns
        .iter()
        .map(|(column, kind)| kind.comparable(column))
        .collect();
    let right: Vec<String> = columns
        .iter()
        .zip(key.values())
        .map(|((_, kind), value)| value.sql_literal(*kind))
        .collect();
    match (left.as_slice(), right.as_slice()) {
        ([left], [right]) => format!("{left} operator(pg_catalog.{operator}) {right}"),
        _ => format!(
            "row({}) operator(pg_catalog.{operator}) row({})",
            left.join(", "),
            right.join(", ")
        ),
    }
}

fn in_list<'a>(keys: impl Iterator<Item = &'a Key>, columns: &[(String, KeyType)]) -> String {
    // List maps have keys with one column.
    let Some((column, kind)) = columns.first() else {
        return "(false)".to_owned();
    };
    let elements: Vec<String> = keys
        .map(|key| {
            format!(
                "\"{}\"",
                key.text().replace('\\', "\\\\").replace('"', "\\\"")
            )
        })
        .collect();
    format!(
        "({} operator(pg_catalog.=) any ({}::pg_catalog.{}[]))",
        kind.comparable(column),
        quote_literal(&format!("{{{}}}", elements.join(","))),
        kind.catalog_name()
    )
}
