//! Deletes stray rows: rows on a shard that does not own their keys. The agent first compares every row with that of
//! the owner.
//!
//! The agent compares the rows, writes them to files and deletes them in one snapshot. If another session changes one
//! of the rows meanwhile, the repair fails; a row that is inserted meanwhile remains. Until the repair ends, the rows
//! of the owner are locked against deletion. Ordinary triggers do not fire.

use std::cmp::Ordering;
use std::path::Path;

use connect::Connected;
use plans::fleet::ShardRef;
use plans::inspection::check::{RepairResult, RepairTask};
use plans::key::Key;
use plans::sql::quote_ident;
use plans::table::MovingTable;

use super::super::check::key_set_of;
use super::super::sorted::SortedRows;
use super::kept_rows::KeptRows;
use super::{changed_since_check, read_sharded_tables};
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
    let stray_session = super::super::shard(shard)?;
    let stray_session = stray_session.replica_session("mend").await?;
    let owner_session = super::super::session_to_change(owner, "mend").await?;
    let key_set = key_set_of(keys);
    let tables = read_sharded_tables(&stray_session, task, &key_set).await?;
    let action = format!(
        "shard {}: deleting rows whose keys shard {} owns",
        shard.name, owner.name
    );
    stray_session
        .batch_execute(&format!(
            "begin isolation level repeatable read; set local shardwright.bypass = 'on'; {}",
            identity::proof_sql(TimelineRule::Same)
        ))
        .await
        .at(&action)?;
    let prover = CodeProver::open(&super::super::shard(shard)?).await?;
    prover.prove(&stray_session, &tables).await?;
    // The transaction on the owner locks the compared rows until the stray rows are deleted.
    let prover = CodeProver::open(&super::super::shard(owner)?).await?;
    prover.begin(&owner_session, &tables).await?;
    let mut rows = 0;
    let mut kept_rows = KeptRows::create(files, &shard.name)?;
    for table in tables.iter().rev() {
        let predicate = table.predicate(&key_set, "t");
        let stray_rows = SortedRows::open(
            &stray_session,
            sorted_rows_sql(table, &predicate),
            action.clone(),
        )
        .await?;
        let owner_rows = format!("{} for key share of t", sorted_rows_sql(table, &predicate));
        let owner_rows = SortedRows::open(&owner_session, owner_rows, action.clone()).await?;
        if !is_contained(stray_rows, owner_rows).await? {
            let _ = stray_session.batch_execute("rollback").await;
            return Err(changed_since_check(format_args!(
                "a row of {} on shard {} is not the same on shard {}; the table",
                table.table, shard.name, owner.name
            )));
        }
        let columns = catalog::columns(&stray_session, &table.table).await?;
        let columns = columns.into_iter().filter(|found| !found.column.generated);
        let columns: Vec<String> = columns.map(|found| found.column.name).collect();
        kept_rows
            .write(&stray_session, &table.table, &columns, &predicate)
            .await?;
        rows += delete_rows(&stray_session, table, &predicate)
            .await
            .at(&action)?;
    }
    let folder = kept_rows.finish(&owner.name).await?;
    stray_session.batch_execute("commit").await.at(&action)?;
    let _ = owner_session.batch_execute("rollback").await;
    Ok(RepairResult {
        done: format!(
            "{action}: {rows} row(s) of {} key(s), which the agent keeps in {folder}",
            keys.len()
        ),
        rows,
    })
}

async fn delete_rows(
    client: &Connected,
    table: &MovingTable,
    predicate: &str,
) -> Result<u64, tokio_postgres::Error> {
    let sql = format!("delete from {} t where {predicate}", table.table.sql());
    client.execute(&sql, &[]).await
}

/// Returns the query for the rows: the identity (or the whole row if the table has none) as text, and a hash of the
/// whole row.
fn sorted_rows_sql(table: &MovingTable, predicate: &str) -> String {
    let columns = table.identity.iter();
    let columns: Vec<String> = columns
        .map(|name| format!("t.{}", quote_ident(name)))
        .collect();
    let columns = match columns.is_empty() {
        true => "t.*".to_owned(),
        false => columns.join(", "),
    };
    format!(
        "select row({columns})::pg_catalog.text collate pg_catalog.\"C\", pg_catalog.md5((t.*)::text)
         from {} t where {predicate} order by 1",
        table.table.sql(),
    )
}

/// Returns true if every row of the shard also exists on the owner, with the same content.
async fn is_contained(
    mut stray_rows: SortedRows,
    mut owner_rows: SortedRows,
) -> Result<bool, StepError> {
    let mut owner_row = owner_rows.next().await?;
    while let Some((key, hash)) = stray_rows.next().await? {
        loop {
            let Some((owner_key, owner_hash)) = &owner_row else {
                return Ok(false);
            };
            match owner_key.as_bytes().cmp(key.as_bytes()) {
                Ordering::Less => owner_row = owner_rows.next().await?,
                Ordering::Equal if *owner_hash == hash => {
                    // Without a primary key there may be several equal rows; each row of the owner counts once.
                    owner_row = owner_rows.next().await?;
                    break;
                }
                Ordering::Equal | Ordering::Greater => return Ok(false),
            }
        }
    }
    Ok(true)
}
