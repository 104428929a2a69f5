//! Cuts a table into chunks by its primary key, so that a chunk has the same rows on both shards.
//!
//! If the key begins with columns whose order does not depend on a collation, chunks are ranges of these columns, which
//! an index finds. Otherwise chunks are classes of the key's hash. The comparison of a class reads the whole table, so
//! there are few classes. Ranges of heap blocks would be cheaper to read, but contain different rows on the two shards.

use connect::Connected;
use plans::sql::{quote_ident, quote_literal};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;

use super::{MovingRows, digest, parse_key};
use crate::error::{StepError, WithIntent};

/// The maximum number of chunks if each chunk reads a large part of the table.
const MAX_SCANNED_CHUNKS: usize = 8;
/// How many times as many rows a chunk has then. Both shards read the whole table once for each chunk, and the rows that
/// do not move with it, so few chunks of many rows cost less.
const SCANNED_CHUNK_FACTOR: f64 = 16.0;
/// One of this many blocks is sampled, to estimate the number of moving rows and to choose the bounds of the chunks.
const SAMPLE_DIVISOR: i64 = 64;
/// The minimum number of sampled blocks.
const MIN_SAMPLE_BLOCKS: i64 = 200;
/// The maximum number of sampled blocks.
const MAX_SAMPLE_BLOCKS: i64 = 2_000;
/// The minimum correlation of the key's order with the heap's order at which a range of keys is read from few blocks.
const MIN_CORRELATION: f64 = 0.9;

/// The rows of a chunk among the moving rows of its table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChunkScope {
    /// All rows.
    Whole,
    /// The rows whose first key columns lie in `[from, to)`; both bounds have one value for each of these columns.
    Range {
        from: Option<Vec<String>>,
        to: Option<Vec<String>>,
    },
    /// The rows whose key hash is in this class of `of` classes; `of` is a power of two.
    Class { class: i64, of: i64 },
}

impl ChunkScope {
    /// Returns the condition on a row with the alias `t`.
    pub(super) fn sql(&self, moving: &MovingRows<'_>) -> String {
        match self {
            Self::Whole => "true".to_owned(),
            Self::Class { class, of } => {
                format!("{} = {class}", digest::class_expression(moving, *of))
            }
            Self::Range { from, to } => {
                let bound = |operator: &str, bound: &Option<Vec<String>>| {
                    bound
                        .as_ref()
                        .map(|values| row_comparison(moving, operator, values))
                };
                let bounds: Vec<String> = [bound(">=", from), bound("<", to)]
                    .into_iter()
                    .flatten()
                    .collect();
                match bounds.is_empty() {
                    true => "true".to_owned(),
                    false => bounds.join(" and "),
                }
            }
        }
    }
}

/// Returns the condition that compares the leading key columns of the row `t` with these values.
fn row_comparison(moving: &MovingRows<'_>, operator: &str, values: &[String]) -> String {
    let columns = moving.table.identity.iter().zip(values);
    let (left, right): (Vec<String>, Vec<String>) = columns
        .map(|(column, value)| {
            let data_type = moving.type_of(column);
            (
                format!("t.{}", quote_ident(column)),
                format!("{}::{data_type}", quote_literal(value)),
            )
        })
        .unzip();
    format!(
        "row({}) operator(pg_catalog.{operator}) row({})",
        left.join(", "),
        right.join(", ")
    )
}

/// Returns the number of leading columns of the primary key that every server orders in the same way.
fn ordered_columns(moving: &MovingRows<'_>) -> usize {
    let columns = moving.table.identity.iter();
    columns
        .take_while(|column| {
            let data_type = moving.type_of(column);
            matches!(
                data_type,
                "smallint" | "integer" | "bigint" | "uuid" | "date" | "oid"
            ) || data_type.starts_with("timestamp")
        })
        .count()
}

/// The result of sampling a table.
struct KeySample {
    /// The estimated number of moving rows in the table.
    rows: f64,
    /// The sampled keys of moving rows: their leading ordered columns, sorted.
    keys: Vec<Vec<String>>,
    /// Whether the heap is approximately in the order of the key.
    is_clustered: bool,
}

/// Cuts the table into chunks of about `rows_per_chunk` rows, as the session's transaction sees it.
pub(crate) async fn cut_into_chunks(
    session: &Connected,
    moving: &MovingRows<'_>,
    rows_per_chunk: u32,
) -> Result<Vec<ChunkScope>, StepError> {
    let ordered_count = ordered_columns(moving);
    let sample = sample_keys(session, moving, ordered_count).await?;
    let chunks_of = |rows: f64| (sample.rows / rows).ceil().max(1.0) as usize;
    let chunk_count = if sample.is_clustered {
        chunks_of(f64::from(rows_per_chunk))
    } else {
        chunks_of(f64::from(rows_per_chunk) * SCANNED_CHUNK_FACTOR).min(MAX_SCANNED_CHUNKS)
    };
    if chunk_count == 1 {
        return Ok(vec![ChunkScope::Whole]);
    }
    if ordered_count == 0 {
        let of = i64::try_from(chunk_count.next_power_of_two()).unwrap_or(1);
        return Ok((0..of)
            .map(|class| ChunkScope::Class { class, of })
            .collect());
    }
    let mut bounds: Vec<Vec<String>> = (1..chunk_count)
        .filter_map(|n| {
            sample
                .keys
                .get(sample.keys.len() * n / chunk_count)
                .cloned()
        })
        .collect();
    bounds.dedup();
    let from = std::iter::once(None).chain(bounds.iter().cloned().map(Some));
    let to = bounds
        .iter()
        .cloned()
        .map(Some)
        .chain(std::iter::once(None));
    Ok(from
        .zip(to)
        .map(|(from, to)| ChunkScope::Range { from, to })
        .collect())
}

async fn sample_keys(
    session: &Connected,
    moving: &MovingRows<'_>,
    ordered_count: usize,
) -> Result<KeySample, StepError> {
    let what = format!("shard {}: sampling {}", session.name(), moving.table.table);
    let name = moving.name();
    let first = moving.table.identity.first().cloned().unwrap_or_default();
    let size = session
        .query_one(
            "select pg_catalog.pg_relation_size(pg_catalog.to_regclass($1)) / pg_catalog.current_setting('block_size')::int8,
                    coalesce((select abs(correlation)::float8 from pg_catalog.pg_stats
                              where schemaname = $2 and tablename = $3 and attname = $4 and not inherited), 0)",
            &[&name, &moving.table.table.schema, &moving.table.table.name, &first],
        )
        .await
        .at(&what)?;
    let (blocks, correlation): (i64, f64) = (size.get(0), size.get(1));
    let sampled = (blocks / SAMPLE_DIVISOR).clamp(MIN_SAMPLE_BLOCKS, MAX_SAMPLE_BLOCKS);
    let percent = (100.0 * sampled as f64 / blocks.max(1) as f64).min(100.0);
    let columns: Vec<String> = moving.table.identity[..ordered_count]
        .iter()
        .map(|column| format!("t.{}", quote_ident(column)))
        .collect();
    let (key_expression, order) = match columns.is_empty() {
        true => ("'[]'".to_owned(), String::new()),
        false => (
            format!(
                "pg_catalog.json_build_array({})::pg_catalog.text",
                columns
                    .iter()
                    .map(|column| format!("pg_catalog.format('%s', {column})"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            format!("order by {}", columns.join(", ")),
        ),
    };
    let rows = session
        .query(
            &format!(
                "select {key_expression} from only {name} t tablesample system ({percent}) where {predicate} {order}",
                predicate = moving.predicate,
            ),
            &[],
        )
        .await
        .at(&what)?;
    let key = |row: &Row| parse_key(row.get(0));
    Ok(KeySample {
        rows: rows.len() as f64 * 100.0 / percent,
        keys: rows.iter().map(key).collect(),
        is_clustered: ordered_count > 0 && correlation >= MIN_CORRELATION,
    })
}
