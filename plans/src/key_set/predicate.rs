//! Compiles a key set to SQL.

use super::{BucketRange, Buckets, KeyRange, KeySet};
use crate::key::{Key, KeyType};
use crate::sql::quote_literal;

impl KeySet {
    /// Returns the SQL boolean that is true for rows whose key is in the set. `columns` are the key's columns, already
    /// quoted (`"tenant_id"`, `new."id"`), each with its type.
    ///
    /// The result is in parentheses and uses only built-in immutable operators, so a publication accepts it.
    #[must_use]
    pub fn predicate(&self, columns: &[(String, KeyType)]) -> String {
        let parts: Vec<String> = match self {
            Self::Range(ranges) => ranges_sql(ranges, columns),
            Self::Hash(buckets) => buckets_sql(buckets, columns),
            Self::List(keys) if keys.is_empty() => Vec::new(),
            Self::List(keys) => vec![list_sql(keys.iter(), columns)],
        };
        match parts.as_slice() {
            [] => "(false)".to_owned(),
            [only] => only.clone(),
            several => format!("({})", several.join(" or ")),
        }
    }
}

/// A set with more ranges than this is written with lists of single keys, if it has some.
const MAX_WRITTEN_RANGES: usize = 16;
/// The maximum number of keys that a gap or a range may have to be written as single keys.
const MAX_SINGLE_KEYS: usize = 16;

/// Returns conditions, one of which is true for each row of the set.
///
/// After a conversion of a map, thousands of single keys are missing in large ranges, or are alone. A list of them is
/// one constant, which PostgreSQL searches by a hash where it plans the expression. Ranges are compared one by one.
fn ranges_sql(ranges: &[KeyRange], columns: &[(String, KeyType)]) -> Vec<String> {
    let each = |ranges: &[KeyRange]| -> Vec<String> {
        let sql = ranges.iter().map(|range| range_sql(range, columns));
        sql.collect()
    };
    if ranges.len() <= MAX_WRITTEN_RANGES || columns.len() != 1 {
        return each(ranges);
    }
    let (mut large, mut missing, mut single): (Vec<KeyRange>, Vec<Key>, Vec<Key>) =
        (Vec::new(), Vec::new(), Vec::new());
    for range in ranges {
        if let Some(keys) = few_keys(range.from.as_ref(), range.to.as_ref()) {
            single.extend(keys);
            continue;
        }
        let before = large.last_mut();
        let gap = before
            .as_ref()
            .and_then(|before| few_keys(before.to.as_ref(), range.from.as_ref()));
        match (before, gap) {
            (Some(before), Some(keys)) => {
                // Keys of the gap that are alone in the set are in `single` too, which comes last.
                missing.extend(keys);
                before.to.clone_from(&range.to);
            }
            (_, _) => large.push(range.clone()),
        }
    }
    let mut parts = each(&large);
    if !missing.is_empty() {
        let list = list_sql(missing.iter(), columns);
        parts = vec![format!("(({}) and not {list})", parts.join(" or "))];
    }
    if !single.is_empty() {
        parts.push(list_sql(single.iter(), columns));
    }
    parts
}

/// Returns the keys from `from` up to, and without, `to`, if they are few.
fn few_keys(from: Option<&Key>, to: Option<&Key>) -> Option<Vec<Key>> {
    let (mut next, to) = (from?.clone(), to?);
    let mut keys = Vec::new();
    while next < *to {
        if keys.len() == MAX_SINGLE_KEYS {
            return None;
        }
        let after = next.successor()?;
        keys.push(std::mem::replace(&mut next, after));
    }
    (next == *to).then_some(keys)
}

/// Returns conditions, one of which is true for each row of the set.
fn buckets_sql(buckets: &Buckets, columns: &[(String, KeyType)]) -> Vec<String> {
    let bucket = bucket_sql(columns, buckets.of);
    let range_sql = |range: &BucketRange| {
        format!(
            "({bucket} operator(pg_catalog.>=) {} and {bucket} operator(pg_catalog.<) {})",
            range.from, range.to
        )
    };
    let mut parts: Vec<String> = buckets.ranges.iter().map(range_sql).collect();
    let (missing, single) = buckets.exceptions();
    if !missing.is_empty() {
        let missing = list_sql(missing.into_iter(), columns);
        parts = vec![format!("(({}) and not {missing})", parts.join(" or "))];
    }
    if !single.is_empty() {
        parts.push(list_sql(single.into_iter(), columns));
    }
    parts
}

/// Returns an SQL expression of type `bigint` for the virtual shard of a row.
#[must_use]
pub(crate) fn bucket_sql(columns: &[(String, KeyType)], of: u32) -> String {
    let hash = match columns {
        [(column, kind)] => kind.hash_expression(column),
        several => {
            let columns: Vec<String> = several
                .iter()
                .map(|(column, kind)| kind.comparable_expression(column))
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

fn range_sql(range: &KeyRange, columns: &[(String, KeyType)]) -> String {
    let from = range
        .from
        .as_ref()
        .map(|key| comparison_sql(columns, ">=", key));
    let to = range
        .to
        .as_ref()
        .map(|key| comparison_sql(columns, "<", key));
    match (from, to) {
        (None, None) => "(true)".to_owned(),
        (Some(only), None) | (None, Some(only)) => format!("({only})"),
        (Some(from), Some(to)) => format!("({from} and {to})"),
    }
}

/// Returns the SQL comparison of the columns with `key`: of a composite key as rows.
fn comparison_sql(columns: &[(String, KeyType)], operator: &str, key: &Key) -> String {
    let left: Vec<String> = columns
        .iter()
        .map(|(column, kind)| kind.comparable_expression(column))
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

fn list_sql<'a>(keys: impl Iterator<Item = &'a Key>, columns: &[(String, KeyType)]) -> String {
    // List maps and hash maps have keys with one column.
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
        kind.comparable_expression(column),
        quote_literal(&format!("{{{}}}", elements.join(","))),
        kind.catalog_name()
    )
}
