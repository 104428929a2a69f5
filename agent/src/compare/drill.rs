//! Rows behind digests that differ: sub-chunks, then keys and hashes of rows, then columns.
//!
//! Memory is bounded by the rows that are looked at at once, never by how many differ.

use std::collections::BTreeMap;

use connect::Connected;
use plans::sql::quote_ident;
use plans::step::verify::{DifferenceKind, RowDifference};
use tokio_postgres::Row;

use super::digest::{classes, differing, in_classes};
use super::{ChunkScope, GIVEN, MovingRows, canonical, parse_key};
use crate::error::{StepError, WithIntent};

/// Rows of one side that are held at once.
const ROWS_AT_ONCE: i64 = 100_000;
/// Keys that are looked up with one statement.
const KEYS_AT_ONCE: usize = 1_000;

/// Rows that differ.
#[derive(Debug, Default)]
pub(crate) struct RowDifferences {
    pub(crate) missing: i64,
    pub(crate) extra: i64,
    pub(crate) changed: i64,
    /// The first of them.
    pub(crate) named: Vec<RowDifference>,
}

impl RowDifferences {
    pub(crate) fn different(&self) -> i64 {
        self.missing + self.extra + self.changed
    }
}

/// The rows of a chunk that differ, `most` of them by name.
pub(crate) async fn drill(
    origin: &Connected,
    copy: &Connected,
    moving: &MovingRows<'_>,
    part: &ChunkScope,
    most: usize,
) -> Result<RowDifferences, StepError> {
    let (here, there) =
        tokio::try_join!(classes(origin, moving, part), classes(copy, moving, part))?;
    let mut found = RowDifferences::default();
    for group in differing(&here, &there, ROWS_AT_ONCE) {
        let (here, there) = tokio::try_join!(
            hashes(origin, moving, part, &group),
            hashes(copy, moving, part, &group)
        )?;
        let changed = compare(&here, &there, &mut found, most);
        for keys in changed.chunks(KEYS_AT_ONCE) {
            let named = columns_of(origin, copy, moving, keys).await?;
            found.named.extend(named);
        }
    }
    found.named.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(found)
}

/// Counts what differs and names what is missing on a side; the changed keys that are to be named.
fn compare(
    here: &BTreeMap<String, String>,
    there: &BTreeMap<String, String>,
    found: &mut RowDifferences,
    most: usize,
) -> Vec<String> {
    let mut changed = Vec::new();
    for (key, hash) in here {
        match there.get(key) {
            Some(other) if other == hash => {}
            Some(_) => {
                found.changed += 1;
                if found.named.len() + changed.len() < most {
                    changed.push(key.clone());
                }
            }
            None => {
                found.missing += 1;
                if found.named.len() + changed.len() < most {
                    found.named.push(row(key, DifferenceKind::Missing));
                }
            }
        }
    }
    for key in there.keys().filter(|key| !here.contains_key(*key)) {
        found.extra += 1;
        if found.named.len() + changed.len() < most {
            found.named.push(row(key, DifferenceKind::Extra));
        }
    }
    changed
}

fn row(key: &str, kind: DifferenceKind) -> RowDifference {
    RowDifference {
        key: parse_key(key),
        kind,
    }
}

/// Hash of each row of the given sub-chunks, by the row's key.
async fn hashes(
    side: &Connected,
    moving: &MovingRows<'_>,
    part: &ChunkScope,
    group: &[i64],
) -> Result<BTreeMap<String, String>, StepError> {
    let rows = side
        .query(
            &format!(
                "select {key}, {hash} from only {name} t
                 where {predicate} and {part} and {classes} {grouped}",
                key = moving.key_array(),
                hash = moving.hash(),
                grouped = grouped(moving),
                name = moving.name(),
                predicate = moving.predicate,
                part = part.sql(moving),
                classes = in_classes(moving),
            ),
            &[&group],
        )
        .await
        .at(format_args!(
            "shard {}: comparing rows of {}",
            side.name(),
            moving.table.table
        ))?;
    let key = |row: &Row| canonical(&parse_key(row.get(0)));
    Ok(rows.iter().map(|row| (key(row), row.get(1))).collect())
}

/// Equal rows of a table without a key are one line, which says how many there are.
fn grouped(moving: &MovingRows<'_>) -> &'static str {
    if moving.is_whole() { "group by 1" } else { "" }
}

/// Which columns differ in rows that both sides have.
async fn columns_of(
    origin: &Connected,
    copy: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<Vec<RowDifference>, StepError> {
    let (here, there) = tokio::try_join!(
        by_column(origin, moving, keys),
        by_column(copy, moving, keys)
    )?;
    let names = moving.table.columns.iter().map(|column| &column.name);
    let difference = |key: &String| {
        let (here, there) = (here.get(key), there.get(key));
        let same = |at: usize| here.and_then(|h| h.get(at)) == there.and_then(|t| t.get(at));
        let columns = names.clone().enumerate();
        let columns = columns.filter(|(at, _)| !same(*at));
        row(
            key,
            DifferenceKind::Changed {
                columns: columns.map(|(_, name)| name.clone()).collect(),
            },
        )
    };
    Ok(keys.iter().map(difference).collect())
}

/// A hash of each column of the rows with these keys, by key.
async fn by_column(
    side: &Connected,
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
    let rows = side
        .query(
            &format!(
                "{GIVEN} select given.shardwright_text, array[{hashes}] from given {join}",
                hashes = hashes.join(", "),
                join = moving.join_given(),
            ),
            &[&keys],
        )
        .await
        .at(format_args!(
            "shard {}: comparing columns of {}",
            side.name(),
            moving.table.table
        ))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Keys of some rows, whichever are read first.
pub(crate) async fn keys_of(
    side: &Connected,
    moving: &MovingRows<'_>,
    limit: i64,
) -> Result<Vec<String>, StepError> {
    let sql = format!(
        "select distinct {key} from only {name} t where {predicate} limit {limit}",
        key = moving.key_array(),
        name = moving.name(),
        predicate = moving.predicate,
    );
    let rows = side.query(&sql, &[]).await.at(format_args!(
        "shard {}: reading keys of {}",
        side.name(),
        moving.table.table
    ))?;
    let key = |row: &Row| canonical(&parse_key(row.get(0)));
    Ok(rows.iter().map(key).collect())
}

/// Hash of each row whose key is given, by that key; a key without a row is missing.
pub(crate) async fn keyed_rows(
    side: &Connected,
    moving: &MovingRows<'_>,
    keys: &[String],
) -> Result<BTreeMap<String, String>, StepError> {
    let rows = side
        .query_prepared(
            &format!(
                "{GIVEN} select given.shardwright_text, {hash} from given {join} {grouped}",
                hash = moving.hash(),
                join = moving.join_given(),
                grouped = grouped(moving),
            ),
            &[&keys],
        )
        .await
        .at(format_args!(
            "shard {}: comparing changed rows of {}",
            side.name(),
            moving.table.table
        ))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
