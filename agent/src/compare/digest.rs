//! Digests: how many rows, and two independent 64-bit hashes of each row summed, in no order.
//!
//! A row's key is part of its text, so that values which two rows have swapped change both hashes.
//! The sums are exact (numeric), and are made by the server: nothing of a row leaves it.

use std::collections::BTreeMap;

use connect::Connected;
use tokio_postgres::Row;

use super::{ChunkScope, MovingRows};
use crate::error::{StepError, WithIntent};

/// Seeds of the two hashes: far apart in both halves, which the hash mixes in separately.
const SEEDS: [i64; 2] = [0x5348_4152_4457_5249, -0x2e4f_13c7_9d60_ab85];
/// Sub-chunks that a chunk is looked at by when it differs.
const CLASSES: i64 = 256;

/// What stands for a set of rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RowsDigest {
    pub(crate) rows: i64,
    first: String,
    second: String,
}

impl RowsDigest {
    /// The sums as PostgreSQL prints them.
    pub(crate) fn sums(&self) -> Vec<&str> {
        vec![&self.first, &self.second]
    }

    /// Reads what [`sums`] selects, from `column` on.
    fn read(row: &Row, column: usize) -> Self {
        Self {
            rows: row.get(column),
            first: row.get(column + 1),
            second: row.get(column + 2),
        }
    }
}

/// Rows and hash sums over `s.shardwright_row`.
fn sums() -> String {
    let sum = |seed: i64| {
        format!(
            "coalesce(pg_catalog.sum(pg_catalog.hashtextextended(s.shardwright_row collate pg_catalog.\"C\", {seed})), 0)::pg_catalog.text"
        )
    };
    format!("pg_catalog.count(*), {}, {}", sum(SEEDS[0]), sum(SEEDS[1]))
}

/// The sub-chunk of a row: by its key alone.
pub(super) fn class(moving: &MovingRows<'_>, of: i64) -> String {
    format!(
        "((pg_catalog.hashtextextended({key} collate pg_catalog.\"C\", 0) operator(pg_catalog.>>) 20) operator(pg_catalog.&) {mask}::pg_catalog.int8)",
        key = moving.key(),
        mask = of - 1
    )
}

/// The chunk's rows as texts, `s.shardwright_row`, behind the columns `before`.
///
/// `offset 0` keeps the text from being made once for each hash.
fn texts(moving: &MovingRows<'_>, part: &ChunkScope, before: &str) -> String {
    format!(
        "(select {before}{row} as shardwright_row from only {name} t where {predicate} and {part} offset 0) s",
        row = moving.row(),
        name = moving.name(),
        predicate = moving.predicate,
        part = part.sql(moving),
    )
}

/// The digest of one chunk, as the session's transaction sees it.
pub(crate) async fn digest(
    side: &Connected,
    moving: &MovingRows<'_>,
    part: &ChunkScope,
) -> Result<RowsDigest, StepError> {
    let sql = format!("select {} from {}", sums(), texts(moving, part, ""));
    let row = side.query_one(&sql, &[]).await.at(format_args!(
        "shard {}: digesting {}",
        side.name(),
        moving.table.table
    ))?;
    Ok(RowsDigest::read(&row, 0))
}

/// The digests of a chunk's sub-chunks, and how many there can be.
pub(super) async fn classes(
    side: &Connected,
    moving: &MovingRows<'_>,
    part: &ChunkScope,
) -> Result<BTreeMap<i64, RowsDigest>, StepError> {
    let class = format!("{} as shardwright_class, ", class(moving, CLASSES));
    let sql = format!(
        "select s.shardwright_class, {} from {} group by 1",
        sums(),
        texts(moving, part, &class)
    );
    let rows = side.query(&sql, &[]).await.at(format_args!(
        "shard {}: digesting {} by sub-chunk",
        side.name(),
        moving.table.table
    ))?;
    let digest = |row| RowsDigest::read(row, 1);
    Ok(rows.iter().map(|row| (row.get(0), digest(row))).collect())
}

/// Sub-chunks in which the two sides differ, gathered so that one reading of each group is about
/// `rows_at_once` rows of one side.
pub(super) fn differing(
    origin: &BTreeMap<i64, RowsDigest>,
    copy: &BTreeMap<i64, RowsDigest>,
    rows_at_once: i64,
) -> Vec<Vec<i64>> {
    let rows =
        |side: &BTreeMap<i64, RowsDigest>, class: i64| side.get(&class).map_or(0, |d| d.rows);
    let (mut groups, mut gathered) = (Vec::new(), 0);
    for class in (0..CLASSES).filter(|class| origin.get(class) != copy.get(class)) {
        let more = rows(origin, class).max(rows(copy, class));
        if groups.is_empty() || gathered + more > rows_at_once {
            groups.push(Vec::new());
            gathered = 0;
        }
        gathered += more;
        if let Some(group) = groups.last_mut() {
            group.push(class);
        }
    }
    groups
}

/// The condition on a row of the given sub-chunks; `$1` are those.
pub(super) fn in_classes(moving: &MovingRows<'_>) -> String {
    format!("{} = any ($1)", class(moving, CLASSES))
}
