//! Deletes rows that the owner of their key has too: every one is compared first.
//!
//! Compared and deleted under one snapshot: a row that changes meanwhile ends the mend, a row that comes
//! meanwhile stays. Ordinary triggers do not fire.

use std::cmp::Ordering;

use plans::inspection::check::{MendTask, Mended};
use plans::key::Key;
use plans::plan::ShardRef;
use plans::table::{MovingTable, quote_ident};
use tokio_postgres::Client;

use super::super::check::{exactly, keep};
use super::super::sorted::Sorted;
use super::{changed, tables};
use crate::error::{At, StepError};

pub(super) async fn run(
    task: &MendTask,
    shard: &ShardRef,
    owner: &ShardRef,
    keys: &[Key],
) -> Result<Mended, StepError> {
    let here = super::super::shard(shard)?.replica_session("mend").await?;
    let there = super::super::session(owner, "mend").await?;
    let tables = tables(&here, task, shard.name.as_str()).await?;
    let _kept = (
        keep(shard, &tables, &[]).await?,
        keep(owner, &tables, &[]).await?,
    );
    let set = exactly(keys);
    let what = format!(
        "shard {}: deleting rows that are shard {}'s",
        shard.name, owner.name
    );
    here.batch_execute(
        "begin isolation level repeatable read; set local shardwright.bypass = 'on'",
    )
    .await
    .at(&what)?;
    let mut rows = 0;
    for table in tables.iter().rev() {
        let predicate = table.predicate(&set, "t");
        let mine = Sorted::open(&here, sorted(table, &predicate), what.clone()).await?;
        let theirs = Sorted::open(&there, sorted(table, &predicate), what.clone()).await?;
        if !contained(mine, theirs).await? {
            let _ = here.batch_execute("rollback").await;
            return Err(changed(format_args!(
                "a row of {} on shard {} is not on shard {} as it is here, which",
                table.table, shard.name, owner.name
            )));
        }
        rows += delete(&here, table, &predicate).await.at(&what)?;
    }
    here.batch_execute("commit").await.at(&what)?;
    Ok(Mended {
        done: format!("{what}: {rows} row(s) of {} key(s)", keys.len()),
        rows,
    })
}

async fn delete(
    client: &Client,
    table: &MovingTable,
    predicate: &str,
) -> Result<u64, tokio_postgres::Error> {
    let sql = format!("delete from {} t where {predicate}", table.table.sql());
    client.execute(&sql, &[]).await
}

/// The rows by primary key, each with a hash of all of it.
fn sorted(table: &MovingTable, predicate: &str) -> String {
    let primary = table.identity.iter();
    let primary: Vec<String> = primary
        .map(|name| format!("t.{}", quote_ident(name)))
        .collect();
    let primary = match primary.is_empty() {
        true => "t.*".to_owned(),
        false => primary.join(", "),
    };
    format!(
        "select row({primary})::pg_catalog.text collate pg_catalog.\"C\", pg_catalog.md5((t.*)::text)
         from {} t where {predicate} order by 1",
        table.table.sql(),
    )
}

/// Whether every row of the first is in the second, and equal.
async fn contained(mut mine: Sorted, mut theirs: Sorted) -> Result<bool, StepError> {
    let mut other = theirs.next().await?;
    while let Some((key, hash)) = mine.next().await? {
        loop {
            let Some((found, found_hash)) = &other else {
                return Ok(false);
            };
            match found.as_bytes().cmp(key.as_bytes()) {
                Ordering::Less => other = theirs.next().await?,
                Ordering::Equal if *found_hash == hash => {
                    // Without a key there may be another row that is equal.
                    other = theirs.next().await?;
                    break;
                }
                Ordering::Equal | Ordering::Greater => return Ok(false),
            }
        }
    }
    Ok(true)
}
