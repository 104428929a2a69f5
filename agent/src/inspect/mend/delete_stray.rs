//! Deletes rows that the owner of their key has too: every one is compared first.
//!
//! Compared, kept in files and deleted under one snapshot: a row that changes meanwhile ends the mend, a row that comes
//! meanwhile stays. The owner's rows are locked against deletion until then. Ordinary triggers do not fire.

use std::cmp::Ordering;
use std::path::Path;

use connect::Connected;
use plans::fleet::ShardRef;
use plans::inspection::check::{RepairResult, RepairTask};
use plans::key::Key;
use plans::sql::quote_ident;
use plans::table::MovingTable;

use super::super::check::exactly;
use super::super::sorted::SortedRows;
use super::kept_rows::KeptRows;
use super::{changed, tables};
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::identity::{self, TimelineRule};
use crate::shard::user_code::CodeProver;

pub(super) async fn run(
    task: &RepairTask,
    shard: &ShardRef,
    owner: &ShardRef,
    keys: &[Key],
    files: &Path,
) -> Result<RepairResult, StepError> {
    let here = super::super::shard(shard)?;
    let here = here.replica_session("mend").await?;
    let there = super::super::session_to_change(owner, "mend").await?;
    let tables = tables(&here, task).await?;
    let set = exactly(keys);
    let what = format!(
        "shard {}: deleting rows that are shard {}'s",
        shard.name, owner.name
    );
    here.batch_execute(&format!(
        "begin isolation level repeatable read; set local shardwright.bypass = 'on'; {}",
        identity::proof_sql(TimelineRule::Same)
    ))
    .await
    .at(&what)?;
    let prover = CodeProver::open(&super::super::shard(shard)?).await?;
    prover.prove(&here, &tables).await?;
    // The owner keeps the rows that are compared until they are deleted here.
    let prover = CodeProver::open(&super::super::shard(owner)?).await?;
    prover.begin(&there, &tables).await?;
    let mut rows = 0;
    let mut kept = KeptRows::create(files, &shard.name)?;
    for table in tables.iter().rev() {
        let predicate = table.predicate(&set, "t");
        let mine = SortedRows::open(&here, sorted(table, &predicate), what.clone()).await?;
        let theirs = format!("{} for key share of t", sorted(table, &predicate));
        let theirs = SortedRows::open(&there, theirs, what.clone()).await?;
        if !contained(mine, theirs).await? {
            let _ = here.batch_execute("rollback").await;
            return Err(changed(format_args!(
                "a row of {} on shard {} is not on shard {} as it is here, which",
                table.table, shard.name, owner.name
            )));
        }
        let columns = catalog::columns(&here, &table.table).await?;
        let columns = columns.into_iter().filter(|found| !found.column.generated);
        let columns: Vec<String> = columns.map(|found| found.column.name).collect();
        kept.write(&here, &table.table, &columns, &predicate)
            .await?;
        rows += delete(&here, table, &predicate).await.at(&what)?;
    }
    let folder = kept.close(&owner.name).await?;
    here.batch_execute("commit").await.at(&what)?;
    let _ = there.batch_execute("rollback").await;
    Ok(RepairResult {
        done: format!(
            "{what}: {rows} row(s) of {} key(s), which the agent keeps in {folder}",
            keys.len()
        ),
        rows,
    })
}

async fn delete(
    client: &Connected,
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
async fn contained(mut mine: SortedRows, mut theirs: SortedRows) -> Result<bool, StepError> {
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
