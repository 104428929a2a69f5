//! Counts rows and bytes by key: small tables completely, large tables from randomly chosen blocks.

use std::pin::pin;

use connect::Connected;
use futures::TryStreamExt;
use plans::failure::StepCode;
use plans::inspection::LoadTask;
use plans::table::MovingTable;

use super::tally::{KeyCost, LoadTally};
use super::{ShardedTable, read_key};
use crate::error::{StepError, WithIntent};
use crate::shard::user_code::CodeProver;

/// The number of blocks that are read in total. If the tables have more, they are sampled.
const SAMPLED_BLOCKS: f64 = 4096.0;
/// A table with at most this number of blocks is always read completely.
const SMALL_TABLE_BLOCKS: i64 = 128;
/// The size of a row header and a line pointer, in bytes.
const ROW_OVERHEAD_BYTES: u32 = 28;
/// The time limit of the operator's query.
const QUERY_TIMEOUT: &str = "5min";

/// Counts the rows of every table. Returns true if some numbers come from samples.
pub(super) async fn run(
    client: &Connected,
    task: &LoadTask,
    tables: &[ShardedTable],
    tally: &mut LoadTally,
) -> Result<bool, StepError> {
    let mut sizes = Vec::with_capacity(tables.len());
    for table in tables {
        sizes.push(count_blocks(client, task, table).await?);
    }
    let total: i64 = sizes.iter().sum();
    let fraction = SAMPLED_BLOCKS / (total as f64).max(SAMPLED_BLOCKS);
    let mut sampled = false;
    for (table, blocks) in tables.iter().zip(sizes) {
        let fraction = if blocks <= SMALL_TABLE_BLOCKS {
            1.0
        } else {
            fraction
        };
        sampled |= fraction < 1.0;
        count_rows(client, task, table, fraction, tally).await?;
    }
    Ok(sampled)
}

async fn count_blocks(
    client: &Connected,
    task: &LoadTask,
    table: &ShardedTable,
) -> Result<i64, StepError> {
    let shard = &task.shard.name;
    let row = client
        .query_one(
            "select coalesce((select sum(pg_catalog.pg_relation_size(relid))::bigint from pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1))),
                             pg_catalog.pg_relation_size(pg_catalog.to_regclass($1))) / pg_catalog.current_setting('block_size')::bigint",
            &[&table.table.sql()],
        )
        .await
        .at(format_args!("shard {shard}: measuring {}", table.table))?;
    row.get::<_, Option<i64>>(0).ok_or_else(|| {
        StepError::refused(
            StepCode::LoadTable,
            format!("shard {shard}: table {} does not exist", table.table),
            "correct the map's tables, or create the table there",
        )
    })
}

async fn count_rows(
    client: &Connected,
    task: &LoadTask,
    table: &ShardedTable,
    fraction: f64,
    tally: &mut LoadTally,
) -> Result<(), StepError> {
    let action = format!(
        "shard {}: counting rows of {}",
        task.shard.name, table.table
    );
    let sql = counting_sql(client, task, table, fraction)
        .await
        .at(&action)?;
    let no_parameters: [&str; 0] = [];
    let mut rows = pin!(client.query_raw(&sql, no_parameters).await.at(&action)?);
    let key_width = task.key.len();
    while let Some(row) = rows.try_next().await.at(&action)? {
        let (row_count, bytes): (i64, i64) = (row.get(key_width), row.get(key_width + 1));
        if let Some(key) = read_key(task, &row) {
            let cost = KeyCost {
                rows: row_count as f64 / fraction,
                bytes: bytes as f64 / fraction,
                ..KeyCost::default()
            };
            tally.add(key, &cost);
        }
    }
    Ok(())
}

async fn counting_sql(
    client: &Connected,
    task: &LoadTask,
    table: &ShardedTable,
    fraction: f64,
) -> Result<String, tokio_postgres::Error> {
    let columns = client
        .query(
            "select pg_catalog.quote_ident(attname) from pg_catalog.pg_attribute
             where attrelid = pg_catalog.to_regclass($1) and attnum > 0 and not attisdropped order by attnum",
            &[&table.table.sql()],
        )
        .await?;
    // One expression for each column: a TOASTed value counts with its stored size, and is not fetched.
    let sizes: Vec<String> = columns
        .iter()
        .map(|row| {
            format!(
                "coalesce(pg_catalog.pg_column_size(t.{}), 0)",
                row.get::<_, &str>(0)
            )
        })
        .collect();
    let keys: Vec<String> = table
        .key_expressions("t")
        .iter()
        .map(|column| format!("{column}::pg_catalog.text"))
        .collect();
    let sample = if fraction < 1.0 {
        format!("tablesample system ({})", fraction * 100.0)
    } else {
        String::new()
    };
    let positions: Vec<String> = (1..=keys.len()).map(|index| index.to_string()).collect();
    Ok(format!(
        "select {keys}, count(*), sum({ROW_OVERHEAD_BYTES} + {sizes})::bigint from {name} t {sample}
         where {owned} group by {positions}",
        keys = keys.join(", "),
        sizes = sizes.join(" + "),
        name = table.table.sql(),
        owned = table.owned_predicate(task, "t"),
        positions = positions.join(", "),
    ))
}

/// Adds the result of the operator's query: each row has the key columns and a number.
pub(super) async fn add_query_weights(
    client: &Connected,
    task: &LoadTask,
    query: &str,
    prover: &CodeProver,
    tables: &[MovingTable],
    tally: &mut LoadTally,
) -> Result<(), StepError> {
    let action = format!("shard {}: running the weight query", task.shard.name);
    client
        .batch_execute(&format!(
            "begin read only; set local statement_timeout = '{QUERY_TIMEOUT}'"
        ))
        .await
        .at(&action)?;
    prover.prove(client, tables).await?;
    let result = add_weights(client, task, query, tally, &action).await;
    let _ = client.batch_execute("rollback").await;
    result
}

async fn add_weights(
    client: &Connected,
    task: &LoadTask,
    query: &str,
    tally: &mut LoadTally,
    action: &str,
) -> Result<(), StepError> {
    let key_width = task.key.len();
    let names: Vec<String> = (0..=key_width).map(|index| format!("c{index}")).collect();
    let mut texts: Vec<String> = names[..key_width]
        .iter()
        .map(|name| format!("{name}::pg_catalog.text"))
        .collect();
    texts.push(format!("{}::pg_catalog.float8", names[key_width]));
    let sql = format!(
        "select {} from ({}) shardwright_weights ({})",
        texts.join(", "),
        query.trim().trim_end_matches(';'),
        names.join(", ")
    );
    let no_parameters: [&str; 0] = [];
    let mut rows = pin!(client.query_raw(&sql, no_parameters).await.at(action)?);
    while let Some(row) = rows.try_next().await.at(action)? {
        let weight = row.get::<_, Option<f64>>(key_width).unwrap_or(0.0);
        let owned = read_key(task, &row).filter(|key| task.owned.contains(key));
        if let Some(key) = owned {
            let cost = KeyCost {
                weight: weight.max(0.0),
                ..KeyCost::default()
            };
            tally.add(key, &cost);
        }
    }
    Ok(())
}
