//! Cuts a table into chunks by its primary key, so that a chunk is the same rows on both sides.
//!
//! Where the key begins with columns whose order does not depend on a collation, chunks are ranges of
//! them, which the index finds; otherwise they are classes of the key's hash, each of which reads the
//! whole table, so there are few. Heap blocks would be cheaper to read and mean nothing on the other side.

use connect::Connected;
use plans::sql::{quote_ident, quote_literal};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;

use super::{MovingRows, digest, parse_key};
use crate::error::{StepError, WithIntent};

/// Chunks of a table each of which reads much of it.
const FEW: usize = 8;
/// Of so many blocks one is read to find out how large a table's moving part is, and where to cut it: about a hundred
/// for each chunk, which a chunk's comparison outweighs by far.
const SAMPLED: i64 = 64;
/// Fewest and most blocks that are read for that.
const SAMPLED_BLOCKS: (i64, i64) = (200, 2_000);
/// Correlation of the key with the heap from which on a range of the key is a range of blocks.
const TOGETHER: f64 = 0.9;

/// The rows of a chunk among the moving rows of its table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChunkScope {
    /// All of them.
    Whole,
    /// Those whose key's first columns lie in `[from, to)`; both are as long as the number of columns.
    Range {
        from: Option<Vec<String>>,
        to: Option<Vec<String>>,
    },
    /// Those whose key's hash is in this class of `of`, a power of two.
    Class { class: i64, of: i64 },
}

impl ChunkScope {
    /// The condition on a row called `t`.
    pub(super) fn sql(&self, moving: &MovingRows<'_>) -> String {
        match self {
            Self::Whole => "true".to_owned(),
            Self::Class { class, of } => format!("{} = {class}", digest::class(moving, *of)),
            Self::Range { from, to } => {
                let bound = |operator: &str, bound: &Option<Vec<String>>| {
                    bound
                        .as_ref()
                        .map(|values| compared(moving, operator, values))
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

fn compared(moving: &MovingRows<'_>, operator: &str, values: &[String]) -> String {
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

/// The first columns of the primary key that every server orders in the same way.
fn ordered(moving: &MovingRows<'_>) -> usize {
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

/// What a sample of a table says.
struct KeySample {
    /// Moving rows of the whole table, estimated.
    rows: f64,
    /// Keys of moving rows, by the first `ordered` columns, in their order.
    keys: Vec<Vec<String>>,
    /// The key's order is that of the heap.
    together: bool,
}

/// Chunks of about `rows_each` rows, as the session's transaction sees the table.
pub(crate) async fn cut(
    side: &Connected,
    moving: &MovingRows<'_>,
    rows_each: u32,
) -> Result<Vec<ChunkScope>, StepError> {
    let ordered = ordered(moving);
    let sample = sample(side, moving, ordered).await?;
    let wanted = (sample.rows / f64::from(rows_each)).ceil().max(1.0) as usize;
    let wanted = if sample.together {
        wanted
    } else {
        wanted.min(FEW)
    };
    if wanted == 1 {
        return Ok(vec![ChunkScope::Whole]);
    }
    if ordered == 0 {
        let of = i64::try_from(wanted.next_power_of_two()).unwrap_or(1);
        return Ok((0..of)
            .map(|class| ChunkScope::Class { class, of })
            .collect());
    }
    let mut cuts: Vec<Vec<String>> = (1..wanted)
        .filter_map(|n| sample.keys.get(sample.keys.len() * n / wanted).cloned())
        .collect();
    cuts.dedup();
    let from = std::iter::once(None).chain(cuts.iter().cloned().map(Some));
    let to = cuts.iter().cloned().map(Some).chain(std::iter::once(None));
    Ok(from
        .zip(to)
        .map(|(from, to)| ChunkScope::Range { from, to })
        .collect())
}

async fn sample(
    side: &Connected,
    moving: &MovingRows<'_>,
    ordered: usize,
) -> Result<KeySample, StepError> {
    let what = format!("shard {}: sampling {}", side.name(), moving.table.table);
    let name = moving.name();
    let first = moving.table.identity.first().cloned().unwrap_or_default();
    let size = side
        .query_one(
            "select pg_catalog.pg_relation_size(pg_catalog.to_regclass($1)) / pg_catalog.current_setting('block_size')::int8,
                    coalesce((select abs(correlation)::float8 from pg_catalog.pg_stats
                              where schemaname = $2 and tablename = $3 and attname = $4 and not inherited), 0)",
            &[&name, &moving.table.table.schema, &moving.table.table.name, &first],
        )
        .await
        .at(&what)?;
    let (blocks, correlation): (i64, f64) = (size.get(0), size.get(1));
    let sampled = (blocks / SAMPLED).clamp(SAMPLED_BLOCKS.0, SAMPLED_BLOCKS.1);
    let percent = (100.0 * sampled as f64 / blocks.max(1) as f64).min(100.0);
    let columns: Vec<String> = moving.table.identity[..ordered]
        .iter()
        .map(|column| format!("t.{}", quote_ident(column)))
        .collect();
    let (shown, order) = match columns.is_empty() {
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
    let rows = side
        .query(
            &format!(
                "select {shown} from only {name} t tablesample system ({percent}) where {predicate} {order}",
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
        together: ordered > 0 && correlation >= TOGETHER,
    })
}
