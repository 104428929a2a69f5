//! Writes by key, from a temporary slot that reads the log for a while; the application notices nothing.
//!
//! Order: publication, slot, read until the time is over, drop. The publication exists only meanwhile: it
//! is dropped on every way out, and one that a killed agent left is dropped by the next to come, who
//! knows it by the advisory lock that nobody holds.
//! A table whose updates or deletes the publication would break is left out, with a finding.

use connect::Connected;
use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::TryStreamExt;
use plans::doctor::Finding;
use plans::inspection::LoadTask;
use plans::key::Key;
use plans::names::{LOAD_PREFIX, REPLICATION_PREFIX};
use plans::sql::quote_ident;

use super::tally::{KeyCost, LoadTally};
use super::{ShardedTable, key_from};
use crate::error::{StepError, WithIntent};
use crate::postgres::pgoutput::{Change, OldRow, Tuple, TupleValue, decode};
use crate::shard::publication;

/// Changes that are asked for at a time; a transaction is never divided.
const BATCH: i32 = 50_000;
/// Between two readings.
const PAUSE: Duration = Duration::from_millis(250);

/// What was watched.
#[derive(Debug, Default)]
pub(super) struct WatchResult {
    pub(super) for_ms: u64,
    pub(super) findings: Vec<Finding>,
}

/// Watches the log and counts row changes by key.
pub(super) async fn run(
    task: &LoadTask,
    tables: &[ShardedTable],
    tally: &mut LoadTally,
) -> Result<WatchResult, StepError> {
    let client = super::super::session(&task.shard, "load/watch").await?;
    sweep(&client).await?;
    let mut watched = WatchResult::default();
    let mut fit = Vec::new();
    for table in tables {
        match identity(&client, table).await? {
            None => fit.push(table),
            Some(finding) => watched.findings.push(finding),
        }
    }
    if fit.is_empty() {
        return Ok(watched);
    }
    let name = format!("{LOAD_PREFIX}{}", uuid::Uuid::new_v4().simple());
    let outcome = publish_and_read(&client, task, &fit, &name, tally).await;
    // A connection that broke leaves the publication to the next sweep; the slot went with it.
    let dropped = publication::drop(&client, None, &name).await;
    watched.for_ms = outcome?;
    dropped?;
    Ok(watched)
}

/// Why a table cannot be watched: published without an identity, its updates would fail.
async fn identity(client: &Connected, table: &ShardedTable) -> Result<Option<Finding>, StepError> {
    let shard = client.name();
    // Of a partitioned table each leaf.
    let row = client
        .query_one(
            "select coalesce(bool_and(c.relreplident = 'f'
                    or exists (select from pg_catalog.pg_index x where x.indrelid = c.oid and x.indisvalid
                               and case c.relreplident when 'd' then x.indisprimary when 'i' then x.indisreplident else false end)), false),
                    coalesce(bool_and(c.relkind = 'r' and c.relpersistence = 'p'), false)
             from pg_catalog.pg_class c
             where c.oid = pg_catalog.to_regclass($1) and c.relkind <> 'p'
                or c.oid in (select relid from pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1)) where isleaf)",
            &[&table.table.sql()],
        )
        .await
        .at(format_args!("shard {shard}: reading the identity of {}", table.table))?;
    let (identified, ordinary): (bool, bool) = (row.get(0), row.get(1));
    if identified && ordinary {
        return Ok(None);
    }
    let problem = if ordinary {
        "it has no replica identity; published, its updates would fail, so its writes were not counted"
    } else {
        "it is no ordinary logged table, so its writes were not counted"
    };
    Ok(Some(Finding::new(
        "load.identity",
        format!("shard {shard}, table {}", table.table),
        problem,
        format!("give {} a primary key", table.table),
    )))
}

/// Drops publications whose maker is gone.
pub(super) async fn sweep(client: &Connected) -> Result<(), StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select pubname::text from pg_catalog.pg_publication where pg_catalog.starts_with(pubname::text, $1)",
            &[&LOAD_PREFIX],
        )
        .await
        .at(format_args!("shard {shard}: looking for publications that were left"))?;
    for row in rows {
        let name: String = row.get(0);
        if lock(client, &name).await? {
            publication::drop(client, None, &name).await?;
        }
    }
    Ok(())
}

/// Takes the lock that says that this publication has a maker.
async fn lock(client: &Connected, name: &str) -> Result<bool, StepError> {
    let shard = client.name();
    let row = client
        .query_one(
            "select pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended($1, 0))",
            &[&name],
        )
        .await
        .at(format_args!("shard {shard}: locking publication {name}"))?;
    Ok(row.get(0))
}

async fn publish_and_read(
    client: &Connected,
    task: &LoadTask,
    tables: &[&ShardedTable],
    name: &str,
    tally: &mut LoadTally,
) -> Result<u64, StepError> {
    let shard = task.shard.name.as_str();
    lock(client, name).await?;
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    client
        .batch_execute(&format!(
            "begin; set local lock_timeout = '5s';
             create publication {} for table {}
             with (publish = 'insert, update, delete', publish_via_partition_root = true); commit",
            quote_ident(name),
            names.join(", ")
        ))
        .await
        .at(format_args!(
            "shard {shard}: publishing the tables for a while"
        ))?;
    // Waits for the transactions that are open now.
    client
        .batch_execute(&format!(
            "set statement_timeout = '60s';
             select pg_catalog.pg_create_logical_replication_slot('{name}', 'pgoutput', true);
             set statement_timeout = 0"
        ))
        .await
        .at(format_args!("shard {shard}: creating a temporary slot"))?;
    let mut reader = WriteObserver {
        task,
        tables,
        relations: HashMap::new(),
        ours: false,
    };
    let begun = Instant::now();
    let limit = Duration::from_secs(task.watch_seconds.into());
    loop {
        let left = limit.saturating_sub(begun.elapsed());
        tokio::time::sleep(left.min(PAUSE)).await;
        let changes = read(client, name, &mut reader, tally).await?;
        if begun.elapsed() >= limit && changes < BATCH.unsigned_abs().into() {
            break;
        }
    }
    let watched = begun.elapsed();
    client
        .execute("select pg_catalog.pg_drop_replication_slot($1)", &[&name])
        .await
        .at(format_args!("shard {shard}: dropping the temporary slot"))?;
    Ok(u64::try_from(watched.as_millis()).unwrap_or(u64::MAX))
}

/// Reads what has been committed since, and returns how many messages that was.
async fn read(
    client: &Connected,
    slot: &str,
    reader: &mut WriteObserver<'_>,
    tally: &mut LoadTally,
) -> Result<u64, StepError> {
    let what = format!("shard {}: reading the log", reader.task.shard.name);
    let sql = format!(
        "select data from pg_catalog.pg_logical_slot_get_binary_changes('{slot}', null, {BATCH}, 'proto_version', '1', 'publication_names', '{slot}')"
    );
    let none: [&str; 0] = [];
    let mut rows = pin!(client.query_raw(&sql, none).await.at(&what)?);
    let mut messages = 0;
    while let Some(row) = rows.try_next().await.at(&what)? {
        messages += 1;
        let message = Bytes::copy_from_slice(row.get::<_, &[u8]>(0));
        let change = decode(message)
            .map_err(|error| StepError::passing("load.decode", format!("{what}: {error}")))?;
        if let Some(key) = reader.key(change) {
            let cost = KeyCost {
                writes: 1.0,
                ..KeyCost::default()
            };
            tally.add(key, &cost);
        }
    }
    Ok(messages)
}

/// What must be remembered from one message to the next.
struct WriteObserver<'a> {
    task: &'a LoadTask,
    tables: &'a [&'a ShardedTable],
    /// Places of the key's columns in each table's tuples.
    relations: HashMap<u32, Vec<usize>>,
    /// The transaction was written by one of our streams.
    ours: bool,
}

impl WriteObserver<'_> {
    /// The key of a row change by the application, if the shard owns it.
    fn key(&mut self, change: Change) -> Option<Key> {
        let (relation, tuple) = match change {
            Change::Begin(_) => {
                self.ours = false;
                return None;
            }
            Change::Origin { name, .. } => {
                self.ours = name.starts_with(REPLICATION_PREFIX);
                return None;
            }
            Change::Relation(relation) => {
                let mut tables = self.tables.iter();
                let table = tables.find(|table| {
                    table.table.name == relation.name && table.table.schema == relation.namespace
                })?;
                let place = |name: &str| relation.columns.iter().position(|c| c.name == name);
                let places: Option<Vec<usize>> =
                    table.key.iter().map(|column| place(&column.name)).collect();
                self.relations.insert(relation.id, places?);
                return None;
            }
            Change::Insert { relation, new } | Change::Update { relation, new, .. } => {
                (relation, new)
            }
            Change::Delete {
                relation,
                old: OldRow::Key(old) | OldRow::Full(old),
            } => (relation, old),
            Change::Delete {
                old: OldRow::Absent,
                ..
            }
            | Change::Commit(_)
            | Change::Type(_)
            | Change::Truncate { .. }
            | Change::Message(_) => return None,
        };
        if self.ours {
            return None;
        }
        let places = self.relations.get(&relation)?;
        let key = key_from(self.task, places.iter().map(|place| text(&tuple, *place)))?;
        self.task.owned.contains(&key).then_some(key)
    }
}

fn text(tuple: &Tuple, place: usize) -> Option<&str> {
    match tuple.0.get(place)? {
        TupleValue::Text(bytes) => std::str::from_utf8(bytes).ok(),
        TupleValue::Null
        | TupleValue::UnchangedToast
        | TupleValue::LeftOut
        | TupleValue::Binary(_) => None,
    }
}
