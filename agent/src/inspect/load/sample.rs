//! Rows and bytes by key: small tables whole, big ones from randomly chosen blocks.

use std::pin::pin;

use connect::Connected;
use futures::TryStreamExt;
use plans::inspection::LoadTask;
use plans::table::MovingTable;

use super::tally::{KeyCost, LoadTally};
use super::{ShardedTable, key_of};
use crate::error::{StepError, WithIntent};
use crate::shard::user_code::CodeProver;

/// Blocks that are read of all tables together; more are sampled.
const BLOCKS: f64 = 4096.0;
/// A table of so few blocks is read whole all the same.
const SMALL: i64 = 128;
/// Row header and line pointer, bytes.
const OVERHEAD: u32 = 28;
/// The operator's query is given up after this time.
const QUERY_TIMEOUT: &str = "5min";

/// Counts every table; true when some of the figures are from samples.
pub(super) async fn run(
    client: &Connected,
    task: &LoadTask,
    tables: &[ShardedTable],
    tally: &mut LoadTally,
) -> Result<bool, StepError> {
    let mut sizes = Vec::with_capacity(tables.len());
    for table in tables {
        sizes.push(blocks(client, task, table).await?);
    }
    let total: i64 = sizes.iter().sum();
    let share = BLOCKS / (total as f64).max(BLOCKS);
    let mut sampled = false;
    for (table, blocks) in tables.iter().zip(sizes) {
        let share = if blocks <= SMALL { 1.0 } else { share };
        sampled |= share < 1.0;
        count(client, task, table, share, tally).await?;
    }
    Ok(sampled)
}

async fn blocks(
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
            "load.table",
            format!("shard {shard}: table {} does not exist", table.table),
            "correct the map's tables, or create the table there",
        )
    })
}

async fn count(
    client: &Connected,
    task: &LoadTask,
    table: &ShardedTable,
    share: f64,
    tally: &mut LoadTally,
) -> Result<(), StepError> {
    let what = format!(
        "shard {}: counting rows of {}",
        task.shard.name, table.table
    );
    let sql = statement(client, task, table, share).await.at(&what)?;
    let none: [&str; 0] = [];
    let mut rows = pin!(client.query_raw(&sql, none).await.at(&what)?);
    let width = task.key.len();
    while let Some(row) = rows.try_next().await.at(&what)? {
        let (found, bytes): (i64, i64) = (row.get(width), row.get(width + 1));
        if let Some(key) = key_of(task, &row) {
            let cost = KeyCost {
                rows: found as f64 / share,
                bytes: bytes as f64 / share,
                ..KeyCost::default()
            };
            tally.add(key, &cost);
        }
    }
    Ok(())
}

async fn statement(
    client: &Connected,
    task: &LoadTask,
    table: &ShardedTable,
    share: f64,
) -> Result<String, tokio_postgres::Error> {
    let wide = client
        .query(
            "select pg_catalog.quote_ident(attname) from pg_catalog.pg_attribute
             where attrelid = pg_catalog.to_regclass($1) and attnum > 0 and not attisdropped order by attnum",
            &[&table.table.sql()],
        )
        .await?;
    // Column by column, so that values out of line count as they are stored and are not fetched.
    let sizes: Vec<String> = wide
        .iter()
        .map(|row| {
            format!(
                "coalesce(pg_catalog.pg_column_size(t.{}), 0)",
                row.get::<_, &str>(0)
            )
        })
        .collect();
    let keys: Vec<String> = table
        .expressions("t")
        .iter()
        .map(|column| format!("{column}::pg_catalog.text"))
        .collect();
    let sample = if share < 1.0 {
        format!("tablesample system ({})", share * 100.0)
    } else {
        String::new()
    };
    let places: Vec<String> = (1..=keys.len()).map(|at| at.to_string()).collect();
    Ok(format!(
        "select {keys}, count(*), sum({OVERHEAD} + {sizes})::bigint from {name} t {sample}
         where {owned} group by {places}",
        keys = keys.join(", "),
        sizes = sizes.join(" + "),
        name = table.table.sql(),
        owned = table.owned(task, "t"),
        places = places.join(", "),
    ))
}

/// Adds what the operator's query returns: the key's columns and a number, row by row.
pub(super) async fn weigh(
    client: &Connected,
    task: &LoadTask,
    query: &str,
    prover: &CodeProver,
    tables: &[MovingTable],
    tally: &mut LoadTally,
) -> Result<(), StepError> {
    let what = format!("shard {}: running the weight query", task.shard.name);
    client
        .batch_execute(&format!(
            "begin read only; set local statement_timeout = '{QUERY_TIMEOUT}'"
        ))
        .await
        .at(&what)?;
    prover.prove(client, tables).await?;
    let weighed = stream(client, task, query, tally, &what).await;
    let _ = client.batch_execute("rollback").await;
    weighed
}

async fn stream(
    client: &Connected,
    task: &LoadTask,
    query: &str,
    tally: &mut LoadTally,
    what: &str,
) -> Result<(), StepError> {
    let width = task.key.len();
    let names: Vec<String> = (0..=width).map(|at| format!("c{at}")).collect();
    let mut texts: Vec<String> = names[..width]
        .iter()
        .map(|name| format!("{name}::pg_catalog.text"))
        .collect();
    texts.push(format!("{}::pg_catalog.float8", names[width]));
    let sql = format!(
        "select {} from ({}) shardwright_weights ({})",
        texts.join(", "),
        query.trim().trim_end_matches(';'),
        names.join(", ")
    );
    let none: [&str; 0] = [];
    let mut rows = pin!(client.query_raw(&sql, none).await.at(what)?);
    while let Some(row) = rows.try_next().await.at(what)? {
        let weight = row.get::<_, Option<f64>>(width).unwrap_or(0.0);
        let owned = key_of(task, &row).filter(|key| task.owned.contains(key));
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
