//! Finds the rows that make digests differ: first by sub-chunks, then by keys and hashes of rows, then by columns.
//!
//! Memory is bounded by the number of rows that are compared at once, and does not depend on how many differ.

use std::collections::BTreeMap;

use connect::Connected;
use plans::sql::quote_ident;
use plans::step::verify::{DifferenceKind, RowDifference};
use tokio_postgres::Row;

use super::digest::{class_digests, classes_condition, differing_classes};
use super::{ChunkScope, MovingRows, PARAMETER_KEYS, canonical_key, parse_key};
use crate::error::{StepError, WithIntent};

/// The number of rows of one shard that are held in memory at once.
const ROWS_AT_ONCE: i64 = 100_000;
/// The number of keys that one statement looks up.
const KEYS_AT_ONCE: usize = 1_000;

/// The numbers of rows that differ, with the keys of some of them.
#[derive(Debug, Default)]
pub(crate) struct RowDifferences {
    pub(crate) missing: i64,
    pub(crate) extra: i64,
    pub(crate) changed: i64,
    /// The first differing rows, with their keys.
    pub(crate) named: Vec<RowDifference>,
}

impl RowDifferences {
    pub(crate) fn different(&self) -> i64 {
        self.missing + self.extra + self.changed
    }
}

/// Finds the rows of a chunk that differ; returns their numbers, and at most `max_named` of them with their keys.
pub(crate) async fn find_differences(
    upstream: &Connected,
    downstream: &Connected,
    moving: &MovingRows<'_>,
    scope: &ChunkScope,
    max_named: usize,
) -> Result<RowDifferences, StepError> {
    let mut found = RowDifferences::default();
    for group in differing_groups(upstream, downstream, moving, scope).await? {
        let (upstream_rows, downstream_rows) = tokio::try_join!(
            hashes(upstream, moving, scope, &group),
            hashes(downstream, moving, scope, &group)
        )?;
        let changed = compare_hashes(&upstream_rows, &downstream_rows, &mut found, max_named);
        for keys in changed.chunks(KEYS_AT_ONCE) {
            let named = differing_columns(upstream, downstream, moving, keys).await?;
            found.named.extend(named);
        }
    }
    found.named.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(found)
}

/// Returns the groups of sub-chunks in which the two shards differ.
pub(crate) async fn differing_groups(
    upstream: &Connected,
    downstream: &Connected,
    moving: &MovingRows<'_>,
    scope: &ChunkScope,
) -> Result<Vec<Vec<i64>>, StepError> {
    let (upstream_digests, downstream_digests) = tokio::try_join!(
        class_digests(upstream, moving, scope),
        class_digests(downstream, moving, scope)
    )?;
    Ok(differing_classes(
        &upstream_digests,
        &downstream_digests,
        ROWS_AT_ONCE,
    ))
}

/// The keys of the rows in which the two shards differ.
#[derive(Debug, Default)]
pub(crate) struct DifferingKeys {
    /// The rows of the downstream shard for which the upstream shard has no equal row.
    pub(crate) outdated: Vec<String>,
    /// The rows of the upstream shard for which the downstream shard has no equal row.
    pub(crate) missing: Vec<String>,
}

/// Finds the keys of all rows that differ in one of the groups that [`differing_groups`] returned.
pub(crate) async fn differing_keys(
    upstream: &Connected,
    downstream: &Connected,
    moving: &MovingRows<'_>,
    scope: &ChunkScope,
    group: &[i64],
) -> Result<DifferingKeys, StepError> {
    let (upstream_rows, downstream_rows) = tokio::try_join!(
        hashes(upstream, moving, scope, group),
        hashes(downstream, moving, scope, group)
    )?;
    Ok(DifferingKeys {
        outdated: keys_only_in(&downstream_rows, &upstream_rows),
        missing: keys_only_in(&upstream_rows, &downstream_rows),
    })
}

/// Returns the keys of `rows` for which `others` has no row with the same hash.
fn keys_only_in(rows: &BTreeMap<String, String>, others: &BTreeMap<String, String>) -> Vec<String> {
    let unequal = rows
        .iter()
        .filter(|(key, hash)| others.get(*key) != Some(*hash));
    unequal.map(|(key, _)| key.clone()).collect()
}

/// Counts the differing rows and records the keys of missing and extra rows. Returns the keys of changed rows whose
/// columns are to be compared.
fn compare_hashes(
    upstream_rows: &BTreeMap<String, String>,
    downstream_rows: &BTreeMap<String, String>,
    found: &mut RowDifferences,
    max_named: usize,
) -> Vec<String> {
    let mut changed = Vec::new();
    for (key, hash) in upstream_rows {
        match downstream_rows.get(key) {
            Some(other) if other == hash => {}
            Some(_) => {
                found.changed += 1;
                if found.named.len() + changed.len() < max_named {
                    changed.push(key.clone());
                }
            }
            None => {
                found.missing += 1;
                if found.named.len() + changed.len() < max_named {
                    found.named.push(difference(key, DifferenceKind::Missing));
                }
            }
        }
    }
    for key in downstream_rows
        .keys()
        .filter(|key| !upstream_rows.contains_key(*key))
    {
        found.extra += 1;
        if found.named.len() + changed.len() < max_named {
            found.named.push(difference(key, DifferenceKind::Extra));
        }
    }
    changed
}

fn difference(key: &str, kind: DifferenceKind) -> RowDifference {
    RowDifference {
        key: parse_key(key),
        kind,
    }
}

/// Returns the hash of each row of the given sub-chunks, by the row's key.
async fn hashes(
    session: &Connected,
    moving: &MovingRows<'_>,
    scope: &ChunkScope,
    group: &[i64],
) -> Result<BTreeMap<String, String>, StepError> {
    let rows = session
        .query(
            &format!(
                "select {key}, {hash} from only {name} t
                 where {predicate} and {in_scope} and {classes} {grouped}",
                key = moving.key_array(),
                hash = moving.hash(),
                grouped = group_clause(moving),
                name = moving.name(),
                predicate = moving.predicate,
                in_scope = scope.sql(moving),
                classes = classes_condition(moving),
            ),
            &[&group],
        )
        .await
        .at(format_args!(
            "shard {}: comparing rows of {}",
            session.name(),
            moving.table.table
        ))?;
    let key = |row: &Row| canonical_key(&parse_key(row.get(0)));
    Ok(rows.iter().map(|row| (key(row), row.get(1))).collect())
}

/// Returns the GROUP BY clause of a query for keys and hashes. In a table without a key, equal rows become one row of
/// the result, whose hash includes their number.
fn group_clause(moving: &MovingRows<'_>) -> &'static str {
    if moving.has_no_key() {
        "group by 1"
    } else {
        ""
    }
}

/// Determines which columns differ in rows that both shards have.
async fn differing_columns(
    upstream: &Connected,
    downstream: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<Vec<RowDifference>, StepError> {
    let (upstream_rows, downstream_rows) = tokio::try_join!(
        hashes_by_column(upstream, moving, keys),
        hashes_by_column(downstream, moving, keys)
    )?;
    let names = moving.table.columns.iter().map(|column| &column.name);
    let named_difference = |key: &String| {
        let (upstream_row, downstream_row) = (upstream_rows.get(key), downstream_rows.get(key));
        let is_equal = |index: usize| {
            let upstream_hash = upstream_row.and_then(|hashes| hashes.get(index));
            upstream_hash == downstream_row.and_then(|hashes| hashes.get(index))
        };
        let columns = names.clone().enumerate();
        let columns = columns.filter(|(index, _)| !is_equal(*index));
        difference(
            key,
            DifferenceKind::Changed {
                columns: columns.map(|(_, name)| name.clone()).collect(),
            },
        )
    };
    Ok(keys.iter().map(named_difference).collect())
}

/// Returns a hash of each column of the rows with these keys, by key.
async fn hashes_by_column(
    session: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<BTreeMap<String, Vec<String>>, StepError> {
    let columns = moving.table.columns.iter();
    let hashes: Vec<String> = columns
        .map(|c| {
            format!(
                "pg_catalog.md5(row(t.{})::pg_catalog.text)",
                quote_ident(&c.name)
            )
        })
        .collect();
    let rows = session
        .query(
            &format!(
                "{PARAMETER_KEYS} select given.shardwright_text, array[{hashes}] from given {join}",
                hashes = hashes.join(", "),
                join = moving.join_parameter_keys(),
            ),
            &[&keys],
        )
        .await
        .at(format_args!(
            "shard {}: comparing columns of {}",
            session.name(),
            moving.table.table
        ))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Returns the keys of at most `limit` rows, in no particular order.
pub(crate) async fn read_keys(
    session: &Connected,
    moving: &MovingRows<'_>,
    limit: i64,
) -> Result<Vec<String>, StepError> {
    let sql = format!(
        "select distinct {key} from only {name} t where {predicate} limit {limit}",
        key = moving.key_array(),
        name = moving.name(),
        predicate = moving.predicate,
    );
    let rows = session.query(&sql, &[]).await.at(format_args!(
        "shard {}: reading keys of {}",
        session.name(),
        moving.table.table
    ))?;
    let key = |row: &Row| canonical_key(&parse_key(row.get(0)));
    Ok(rows.iter().map(key).collect())
}

/// Returns the hash of each row with one of these keys, by key. A key without a row is not in the result.
pub(crate) async fn hashes_by_key(
    session: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<BTreeMap<String, String>, StepError> {
    let rows = session
        .query_prepared(
            &format!(
                "{PARAMETER_KEYS} select given.shardwright_text, {hash} from given {join} {grouped}",
                hash = moving.hash(),
                join = moving.join_parameter_keys(),
                grouped = group_clause(moving),
            ),
            &[&keys],
        )
        .await
        .at(format_args!(
            "shard {}: comparing changed rows of {}",
            session.name(),
            moving.table.table
        ))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
