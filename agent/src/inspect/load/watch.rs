//! Counts writes by key: a temporary replication slot reads the log for some time. The application is not affected.
//!
//! The agent creates a publication and a slot, reads until the time has passed, and drops both, also after an error. If
//! an agent is killed, its publication remains. The next inspection drops it: it recognizes the publication because no
//! session holds the advisory lock with its name.
//! A table whose updates or deletes would fail once it is published is skipped, with a finding.

use connect::Connected;
use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::TryStreamExt;
use plans::doctor::Finding;
use plans::failure::StepCode;
use plans::inspection::LoadTask;
use plans::key::Key;
use plans::names::{LOAD_PREFIX, REPLICATION_PREFIX};
use plans::sql::quote_ident;

use super::tally::{KeyCost, LoadTally};
use super::{ShardedTable, parse_key};
use crate::error::{StepError, WithIntent};
use crate::postgres::pgoutput::{Change, OldRow, Tuple, TupleValue, decode};
use crate::shard::publication;

/// The number of changes that one query requests. The server always returns whole transactions, so a query can return
/// more.
const REQUESTED_CHANGES: i32 = 50_000;
/// The pause between two queries.
const READ_INTERVAL: Duration = Duration::from_millis(250);

/// The result of the observation.
#[derive(Debug, Default)]
pub(super) struct WatchResult {
    pub(super) duration_ms: u64,
    pub(super) findings: Vec<Finding>,
}

/// Reads the log and counts row changes by key.
pub(super) async fn run(
    task: &LoadTask,
    tables: &[ShardedTable],
    tally: &mut LoadTally,
) -> Result<WatchResult, StepError> {
    let client = super::super::session(&task.shard, "load/watch").await?;
    drop_abandoned_publications(&client).await?;
    let mut watched = WatchResult::default();
    let mut published_tables = Vec::new();
    for table in tables {
        match find_identity_problem(&client, table).await? {
            None => published_tables.push(table),
            Some(finding) => watched.findings.push(finding),
        }
    }
    if published_tables.is_empty() {
        return Ok(watched);
    }
    let name = format!("{LOAD_PREFIX}{}", uuid::Uuid::new_v4().simple());
    let outcome = publish_and_read(&client, task, &published_tables, &name, tally).await;
    // If the connection broke, the next inspection drops the publication. The server has dropped the slot with the
    // session.
    let dropped = publication::drop(&client, None, &name).await;
    watched.duration_ms = outcome?;
    dropped?;
    Ok(watched)
}

/// Returns a finding if the writes of the table cannot be counted: the table is no ordinary logged table, or it has no
/// replica identity, so that its updates would fail while it is published.
async fn find_identity_problem(
    client: &Connected,
    table: &ShardedTable,
) -> Result<Option<Finding>, StepError> {
    let shard = client.name();
    // Of a partitioned table the query reads each leaf.
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
    let (has_identity, is_ordinary): (bool, bool) = (row.get(0), row.get(1));
    if has_identity && is_ordinary {
        return Ok(None);
    }
    let (problem, remedy) = if is_ordinary {
        (
            "it has no replica identity, so its updates would fail while it is published; its writes were not counted",
            format!("give {} a primary key", table.table),
        )
    } else {
        (
            "it is no ordinary logged table, so its writes were not counted",
            "measure the load by rows or bytes; an unlogged table becomes logged by ALTER TABLE ... SET LOGGED".to_owned(),
        )
    };
    Ok(Some(Finding::new(
        "load.identity",
        format!("shard {shard}, table {}", table.table),
        problem,
        remedy,
    )))
}

/// Drops publications whose session has ended.
pub(super) async fn drop_abandoned_publications(client: &Connected) -> Result<(), StepError> {
    let shard = client.name();
    let rows = client
        .query(
            "select pubname::text from pg_catalog.pg_publication where pg_catalog.starts_with(pubname::text, $1)",
            &[&LOAD_PREFIX],
        )
        .await
        .at(format_args!("shard {shard}: listing publications of earlier load inspections"))?;
    for row in rows {
        let name: String = row.get(0);
        if try_lock_publication(client, &name).await? {
            publication::drop(client, None, &name).await?;
        }
    }
    Ok(())
}

/// Tries to take the advisory lock that marks the publication as in use.
async fn try_lock_publication(client: &Connected, name: &str) -> Result<bool, StepError> {
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

/// Publishes the tables, and counts their writes for the time that the task demands. Returns the duration in
/// milliseconds.
async fn publish_and_read(
    client: &Connected,
    task: &LoadTask,
    tables: &[&ShardedTable],
    name: &str,
    tally: &mut LoadTally,
) -> Result<u64, StepError> {
    let shard = task.shard.name.as_str();
    // The name is new and random, so no other session can have the lock.
    try_lock_publication(client, name).await?;
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
        .at(format_args!("shard {shard}: publishing the tables"))?;
    // The creation of the slot waits for all transactions that are open now.
    client
        .batch_execute(&format!(
            "set statement_timeout = '60s';
             select pg_catalog.pg_create_logical_replication_slot('{name}', 'pgoutput', true);
             set statement_timeout = 0"
        ))
        .await
        .at(format_args!("shard {shard}: creating a temporary slot"))?;
    let mut observer = WriteObserver {
        task,
        tables,
        relations: HashMap::new(),
        is_shardwright_stream: false,
    };
    let started = Instant::now();
    let limit = Duration::from_secs(task.watch_seconds.into());
    loop {
        let remaining = limit.saturating_sub(started.elapsed());
        tokio::time::sleep(remaining.min(READ_INTERVAL)).await;
        let changes = read_and_count(client, name, &mut observer, tally).await?;
        // Fewer messages than requested: the query has reached the end of the log.
        if started.elapsed() >= limit && changes < REQUESTED_CHANGES.unsigned_abs().into() {
            break;
        }
    }
    let watched = started.elapsed();
    client
        .execute("select pg_catalog.pg_drop_replication_slot($1)", &[&name])
        .await
        .at(format_args!("shard {shard}: dropping the temporary slot"))?;
    Ok(u64::try_from(watched.as_millis()).unwrap_or(u64::MAX))
}

/// Reads the changes that were committed since the last call, and adds them to `tally` by key. Returns the number of
/// messages that the server sent; among them are the begin and the commit of each transaction.
async fn read_and_count(
    client: &Connected,
    slot: &str,
    observer: &mut WriteObserver<'_>,
    tally: &mut LoadTally,
) -> Result<u64, StepError> {
    let action = format!("shard {}: reading the log", observer.task.shard.name);
    let sql = format!(
        "select data from pg_catalog.pg_logical_slot_get_binary_changes('{slot}', null, {REQUESTED_CHANGES}, 'proto_version', '1', 'publication_names', '{slot}')"
    );
    let no_parameters: [&str; 0] = [];
    let mut rows = pin!(client.query_raw(&sql, no_parameters).await.at(&action)?);
    let mut messages = 0;
    while let Some(row) = rows.try_next().await.at(&action)? {
        messages += 1;
        let message = Bytes::copy_from_slice(row.get::<_, &[u8]>(0));
        let change = decode(message).map_err(|error| {
            StepError::passing(StepCode::LoadDecode, format!("{action}: {error}"))
        })?;
        if let Some(key) = observer.changed_key(change) {
            let cost = KeyCost {
                writes: 1.0,
                ..KeyCost::default()
            };
            tally.add(key, &cost);
        }
    }
    Ok(messages)
}

/// The state that is kept between messages.
struct WriteObserver<'a> {
    task: &'a LoadTask,
    tables: &'a [&'a ShardedTable],
    /// The positions of the key columns in the tuples of each table.
    relations: HashMap<u32, Vec<usize>>,
    /// True if the current transaction was written by a change stream of Shardwright.
    is_shardwright_stream: bool,
}

impl WriteObserver<'_> {
    /// Returns the key of a row that the application changed, if the shard owns the key.
    fn changed_key(&mut self, change: Change) -> Option<Key> {
        let (relation, tuple) = match change {
            Change::Begin(_) => {
                self.is_shardwright_stream = false;
                return None;
            }
            Change::Origin { name, .. } => {
                self.is_shardwright_stream = name.starts_with(REPLICATION_PREFIX);
                return None;
            }
            Change::Relation(relation) => {
                let mut tables = self.tables.iter();
                let table = tables.find(|table| {
                    table.table.name == relation.name && table.table.schema == relation.namespace
                })?;
                let position = |name: &str| relation.columns.iter().position(|c| c.name == name);
                let positions: Option<Vec<usize>> = table
                    .key
                    .iter()
                    .map(|column| position(&column.name))
                    .collect();
                self.relations.insert(relation.id, positions?);
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
        if self.is_shardwright_stream {
            return None;
        }
        let positions = self.relations.get(&relation)?;
        let key = parse_key(
            self.task,
            positions
                .iter()
                .map(|position| column_text(&tuple, *position)),
        )?;
        self.task.owned.contains(&key).then_some(key)
    }
}

fn column_text(tuple: &Tuple, position: usize) -> Option<&str> {
    match tuple.0.get(position)? {
        TupleValue::Text(bytes) => std::str::from_utf8(bytes).ok(),
        TupleValue::Null
        | TupleValue::UnchangedToast
        | TupleValue::LeftOut
        | TupleValue::Binary(_) => None,
    }
}
