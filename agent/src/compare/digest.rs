//! Digests: the number of rows, and two sums of independent 64-bit hashes of each row, which do not depend on an
//! order.
//!
//! A row's key is part of its text, so that two rows that have swapped values change both sums.
//! The sums are exact (numeric), and the server computes them: no row content leaves it.

use std::collections::BTreeMap;

use connect::Connected;
use tokio_postgres::Row;

use super::{ChunkScope, MovingRows};
use crate::error::{StepError, WithIntent};

/// The seeds of the two hashes. They differ in both 32-bit halves, which the hash function uses separately.
const SEEDS: [i64; 2] = [0x5348_4152_4457_5249, -0x2e4f_13c7_9d60_ab85];
/// The number of sub-chunks into which a differing chunk is divided, by the hash of the key.
const CLASSES: i64 = 256;

/// The digest of a set of rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RowsDigest {
    pub(crate) rows: i64,
    first: String,
    second: String,
}

impl RowsDigest {
    /// Returns the sums as PostgreSQL prints them.
    pub(crate) fn sums(&self) -> Vec<&str> {
        vec![&self.first, &self.second]
    }

    /// Reads the columns that [`sums`] selects, from `column` on.
    fn read(row: &Row, column: usize) -> Self {
        Self {
            rows: row.get(column),
            first: row.get(column + 1),
            second: row.get(column + 2),
        }
    }
}

/// Returns the expressions of the number of rows and of the hash sums over `s.shardwright_row`.
fn sums() -> String {
    let sum = |seed: i64| {
        format!(
            "coalesce(pg_catalog.sum(pg_catalog.hashtextextended(s.shardwright_row collate pg_catalog.\"C\", {seed})), 0)::pg_catalog.text"
        )
    };
    format!("pg_catalog.count(*), {}, {}", sum(SEEDS[0]), sum(SEEDS[1]))
}

/// Returns the expression of a row's class, one of `of`: bits of the hash of the row's key. `of` is a power of two.
pub(super) fn class_expression(moving: &MovingRows<'_>, of: i64) -> String {
    format!(
        "((pg_catalog.hashtextextended({key} collate pg_catalog.\"C\", 0) operator(pg_catalog.>>) 20) operator(pg_catalog.&) {mask}::pg_catalog.int8)",
        key = moving.key(),
        mask = of - 1
    )
}

/// Returns a subquery with the texts of the chunk's rows as `s.shardwright_row`, after the columns `columns_before`.
///
/// `offset 0` prevents the server from computing the text once for each hash.
fn row_texts(moving: &MovingRows<'_>, scope: &ChunkScope, columns_before: &str) -> String {
    format!(
        "(select {columns_before}{row} as shardwright_row from only {name} t where {predicate} and {in_scope} offset 0) s",
        row = moving.row(),
        name = moving.name(),
        predicate = moving.predicate,
        in_scope = scope.sql(moving),
    )
}

/// Computes the digest of one chunk, as the session's transaction sees it.
pub(crate) async fn digest(
    session: &Connected,
    moving: &MovingRows<'_>,
    scope: &ChunkScope,
) -> Result<RowsDigest, StepError> {
    let sql = format!("select {} from {}", sums(), row_texts(moving, scope, ""));
    let row = session.query_one(&sql, &[]).await.at(format_args!(
        "shard {}: computing a digest of {}",
        session.name(),
        moving.table.table
    ))?;
    Ok(RowsDigest::read(&row, 0))
}

/// Computes the digests of a chunk's sub-chunks that have rows.
pub(super) async fn class_digests(
    session: &Connected,
    moving: &MovingRows<'_>,
    scope: &ChunkScope,
) -> Result<BTreeMap<i64, RowsDigest>, StepError> {
    let class = format!(
        "{} as shardwright_class, ",
        class_expression(moving, CLASSES)
    );
    let sql = format!(
        "select s.shardwright_class, {} from {} group by 1",
        sums(),
        row_texts(moving, scope, &class)
    );
    let rows = session.query(&sql, &[]).await.at(format_args!(
        "shard {}: computing digests of sub-chunks of {}",
        session.name(),
        moving.table.table
    ))?;
    let digest = |row| RowsDigest::read(row, 1);
    Ok(rows.iter().map(|row| (row.get(0), digest(row))).collect())
}

/// Returns the sub-chunks in which the two shards differ, in groups: reading one group reads about `rows_at_once`
/// rows of one shard.
pub(super) fn differing_classes(
    upstream: &BTreeMap<i64, RowsDigest>,
    downstream: &BTreeMap<i64, RowsDigest>,
    rows_at_once: i64,
) -> Vec<Vec<i64>> {
    let row_count = |digests: &BTreeMap<i64, RowsDigest>, class: i64| {
        digests.get(&class).map_or(0, |digest| digest.rows)
    };
    let (mut groups, mut rows_in_group) = (Vec::new(), 0);
    for class in (0..CLASSES).filter(|class| upstream.get(class) != downstream.get(class)) {
        let rows = row_count(upstream, class).max(row_count(downstream, class));
        if groups.is_empty() || rows_in_group + rows > rows_at_once {
            groups.push(Vec::new());
            rows_in_group = 0;
        }
        rows_in_group += rows;
        if let Some(group) = groups.last_mut() {
            group.push(class);
        }
    }
    groups
}

/// Returns the condition that a row is in one of the sub-chunks of `$1`.
pub(super) fn classes_condition(moving: &MovingRows<'_>) -> String {
    format!("{} = any ($1)", class_expression(moving, CLASSES))
}
