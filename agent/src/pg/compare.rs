//! Comparison of the two copies; shares no code with the copy or the apply.
//!
//! Digests first: each side hashes every moving row as text and sums the hashes per bucket of the
//! primary key. Where buckets differ, the rows' keys and hashes are compared one by one.
//! A whole row is written `t.*`, since a bare `t` would be a column of that name where there is one;
//! other names of ours have a prefix for the same reason.

use std::collections::BTreeMap;

use plans::table::{MovingTable, quote_ident};
use tokio_postgres::Client;

use crate::error::{At, StepError};

/// Buckets per table.
const BUCKETS: i32 = 256;

/// Rows and two independent hash sums of each bucket that has rows.
type Digests = BTreeMap<i32, (i64, String, String)>;

/// The digests of one table's moving rows, as the session's transaction sees them.
pub(crate) async fn digests(
    client: &Client,
    table: &MovingTable,
    predicate: &str,
    shard: &str,
) -> Result<Digests, StepError> {
    let key = key_row(table);
    let rows = client
        .query(
            &format!(
                "select (pg_catalog.hashtextextended({key}, 0) & {mask})::int4, count(*),
                        sum(pg_catalog.hashtextextended((t.*)::text, 1))::text,
                        sum(pg_catalog.hashtextextended((t.*)::text, 2))::text
                 from only {name} t where {predicate} group by 1",
                mask = BUCKETS - 1,
                name = table.table.sql(),
            ),
            &[],
        )
        .await
        .at(format_args!("shard {shard}: digesting {}", table.table))?;
    Ok(rows
        .iter()
        .map(|row| (row.get(0), (row.get(1), row.get(2), row.get(3))))
        .collect())
}

/// Buckets in which the two sides differ.
pub(crate) fn differing(source: &Digests, target: &Digests) -> Vec<i32> {
    (0..BUCKETS)
        .filter(|bucket| source.get(bucket) != target.get(bucket))
        .collect()
}

/// Rows behind the digests.
pub(crate) fn rows(digests: &Digests) -> i64 {
    digests.values().map(|(rows, _, _)| rows).sum()
}

/// Hash of each row in the given buckets, by the row's key.
pub(crate) async fn bucket_rows(
    client: &Client,
    table: &MovingTable,
    predicate: &str,
    buckets: &[i32],
    shard: &str,
) -> Result<BTreeMap<String, String>, StepError> {
    let key = key_row(table);
    let rows = client
        .query(
            &format!(
                "select {key}, pg_catalog.md5((t.*)::text) from only {name} t
                 where {predicate} and (pg_catalog.hashtextextended({key}, 0) & {mask})::int4 = any ($1)",
                mask = BUCKETS - 1,
                name = table.table.sql(),
            ),
            &[&buckets],
        )
        .await
        .at(format_args!("shard {shard}: comparing rows of {}", table.table))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Hash of each row whose key is in `keys` (JSON arrays of text, in primary key order), by that text.
pub(crate) async fn keyed_rows(
    client: &Client,
    table: &MovingTable,
    predicate: &str,
    keys: &[String],
    shard: &str,
) -> Result<BTreeMap<String, String>, StepError> {
    let columns: Vec<String> = table
        .primary_key
        .iter()
        .map(|column| format!("t.{}", quote_ident(column)))
        .collect();
    let values: Vec<String> = table
        .primary_key
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let data_type = table
                .columns
                .iter()
                .find(|c| &c.name == column)
                .map_or("text", |c| &c.data_type);
            format!("(k.shardwright_key operator(pg_catalog.->>) {at})::{data_type}")
        })
        .collect();
    let rows = client
        .query(
            &format!(
                "select given.shardwright_text, pg_catalog.md5((t.*)::text)
                 from pg_catalog.unnest($1::text[]) given (shardwright_text)
                 cross join lateral (select given.shardwright_text::pg_catalog.jsonb as shardwright_key) k
                 join only {name} t on ({columns}) = ({values})
                 where {predicate}",
                name = table.table.sql(),
                columns = columns.join(", "),
                values = values.join(", "),
            ),
            &[&keys],
        )
        .await
        .at(format_args!(
            "shard {shard}: comparing changed rows of {}",
            table.table
        ))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// How many keys are not the same on both sides.
pub(crate) fn count_differences(
    source: &BTreeMap<String, String>,
    target: &BTreeMap<String, String>,
) -> i64 {
    let missing_there = source
        .iter()
        .filter(|(key, hash)| target.get(*key) != Some(hash))
        .count();
    let missing_here = target
        .keys()
        .filter(|key| !source.contains_key(*key))
        .count();
    i64::try_from(missing_there + missing_here).unwrap_or(i64::MAX)
}

/// The primary key as one text.
fn key_row(table: &MovingTable) -> String {
    let columns: Vec<String> = table
        .primary_key
        .iter()
        .map(|column| format!("t.{}", quote_ident(column)))
        .collect();
    format!("row({})::pg_catalog.text", columns.join(", "))
}
