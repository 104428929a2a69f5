//! Replaces the rows of a reference table by those of another shard, in one transaction.
//!
//! Meanwhile sessions can read the table, and its writers wait. Ordinary triggers do not fire. The agent therefore
//! checks itself whether foreign keys reference rows that it would delete.

use connect::Connected;
use futures::{SinkExt, TryStreamExt};
use plans::failure::StepCode;
use plans::fleet::ShardRef;
use plans::inspection::check::RepairResult;
use plans::sql::quote_ident;
use plans::table::{MovingTable, TableKey, TableName};

use super::super::reference::digest;
use super::changed_since_check;
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::identity::{self, TimelineRule};
use crate::shard::user_code::{self, CodeProver};

/// The temporary table with the rows of the source; it exists until the transaction ends.
const SOURCE_ROWS: &str = "pg_temp.shardwright_rows";

/// Copies the rows. The digests are those that the check found on each shard.
pub(super) async fn run(
    from: &ShardRef,
    from_digest: &str,
    to: &ShardRef,
    to_digest: &str,
    table: &TableName,
) -> Result<RepairResult, StepError> {
    let source = super::super::session_to_change(from, "mend").await?;
    let target = super::super::shard(to)?;
    let target = target.replica_session("mend").await?;
    let action = format!(
        "shard {}: copying {table} from shard {}",
        to.name, from.name
    );
    let name = table.sql();
    let tables = [MovingTable::bare(table.clone(), TableKey::Reference)];
    source
        .batch_execute("begin isolation level repeatable read read only")
        .await
        .at(&action)?;
    target
        .batch_execute(&format!(
            "begin; set local lock_timeout = '5s'; set local shardwright.bypass = 'on'; {}; lock table {name} in share row exclusive mode",
            identity::proof_sql(TimelineRule::Same)
        ))
        .await
        .at(&action)?;
    let prover = CodeProver::open(&super::super::shard(from)?).await?;
    prover.prove(&source, &tables).await?;
    user_code::prove(&target, &tables).await?;
    let source_digest = digest(&source, table).await?;
    let target_digest = digest(&target, table).await?;
    let (Some(source_digest), Some(target_digest)) = (source_digest, target_digest) else {
        return Err(changed_since_check(format_args!("table {table}")));
    };
    if source_digest == target_digest {
        return Ok(RepairResult {
            done: format!("{action}: both shards have the same rows"),
            rows: 0,
        });
    }
    if source_digest.digest != from_digest || target_digest.digest != to_digest {
        return Err(changed_since_check(format_args!("table {table}")));
    }
    let columns = ReferenceColumns::read(&target, table).await?;
    copy_source_rows(&source, &target, table, &columns)
        .await
        .at(&action)?;
    refuse_dangling_references(&target, table, &columns).await?;
    let rows = replace_rows(&target, table, &columns).await.at(&action)?;
    if digest(&target, table).await? != Some(source_digest) {
        return Err(StepError::refused(
            StepCode::RepairReference,
            format!("{action}: the rows still differ; nothing was changed"),
            "compare the table's definition on both shards",
        ));
    }
    target.batch_execute("commit").await.at(&action)?;
    Ok(RepairResult {
        done: format!("{action}: {rows} row(s) written or deleted"),
        rows,
    })
}

/// The columns as quoted SQL names.
struct ReferenceColumns {
    written: Vec<String>,
    primary_key: Vec<String>,
}

impl ReferenceColumns {
    async fn read(client: &Connected, table: &TableName) -> Result<Self, StepError> {
        let shard = client.name();
        let columns = catalog::columns(client, table).await?;
        let tables = catalog::tables(client).await?;
        let primary_key = tables.get(table).map(|facts| facts.primary_key.clone());
        let primary_key = primary_key.unwrap_or_default();
        if primary_key.is_empty() {
            return Err(StepError::refused(
                StepCode::RepairPrimaryKey,
                format!("shard {shard}: table {table} has no primary key"),
                "add one on every shard",
            ));
        }
        let written = columns.iter().filter(|found| !found.column.generated);
        Ok(Self {
            written: written
                .map(|found| quote_ident(&found.column.name))
                .collect(),
            primary_key: primary_key.iter().map(|name| quote_ident(name)).collect(),
        })
    }

    fn column_list(&self, row: &str) -> String {
        let columns = self.written.iter();
        let columns: Vec<String> = columns.map(|column| format!("{row}{column}")).collect();
        columns.join(", ")
    }

    fn same_key_condition(&self) -> String {
        let pairs = self.primary_key.iter();
        let pairs: Vec<String> = pairs
            .map(|column| format!("s.{column} = t.{column}"))
            .collect();
        pairs.join(" and ")
    }
}

/// Copies the rows of the source into a temporary table on the target.
async fn copy_source_rows(
    source: &Connected,
    target: &Connected,
    table: &TableName,
    columns: &ReferenceColumns,
) -> Result<(), tokio_postgres::Error> {
    let (name, list) = (table.sql(), columns.column_list(""));
    target
        .batch_execute(&format!(
            "create temporary table shardwright_rows on commit drop as select {list} from {name} limit 0"
        ))
        .await?;
    let out = source
        .copy_out(&format!("copy (select {list} from {name}) to stdout"))
        .await?;
    let into = target
        .copy_in(&format!("copy {SOURCE_ROWS} ({list}) from stdin"))
        .await?;
    let (mut out, mut into) = (std::pin::pin!(out), std::pin::pin!(into));
    while let Some(chunk) = out.try_next().await? {
        into.send(chunk).await?;
    }
    into.finish().await.map(|_| ())
}

/// Fails if a row that would be deleted is referenced.
async fn refuse_dangling_references(
    client: &Connected,
    table: &TableName,
    columns: &ReferenceColumns,
) -> Result<(), StepError> {
    let shard = client.name();
    for key in catalog::foreign_keys(client).await? {
        if &key.to != table {
            continue;
        }
        let join_conditions: Vec<String> = key
            .columns
            .iter()
            .map(|(referencing, referenced)| {
                format!(
                    "c.{} = t.{}",
                    quote_ident(referencing),
                    quote_ident(referenced)
                )
            })
            .collect();
        let sql = format!(
            "select exists (select from {} t join {} c on {} where not exists (select from {SOURCE_ROWS} s where {}))",
            table.sql(),
            key.from.sql(),
            join_conditions.join(" and "),
            columns.same_key_condition()
        );
        let row = client.query_one(&sql, &[]).await.at(format_args!(
            "shard {shard}: checking the foreign keys that reference {table}"
        ))?;
        if row.get(0) {
            return Err(StepError::refused(
                StepCode::RepairReferred,
                format!(
                    "shard {shard}: rows of {} reference by {} rows of {table} that the repair would delete",
                    key.from, key.name
                ),
                "decide which rows are right, and correct them by hand",
            ));
        }
    }
    Ok(())
}

/// Deletes the rows that differ from those of the source, and inserts the missing ones. Returns the number of rows that
/// were deleted or inserted.
async fn replace_rows(
    client: &Connected,
    table: &TableName,
    columns: &ReferenceColumns,
) -> Result<u64, tokio_postgres::Error> {
    let (name, same_key) = (table.sql(), columns.same_key_condition());
    let deleted = client
        .execute(
            &format!(
                "delete from {name} t where not exists (
                   select from {SOURCE_ROWS} s where {same_key} and row({})::text = row({})::text)",
                columns.column_list("s."),
                columns.column_list("t.")
            ),
            &[],
        )
        .await?;
    let inserted = client
        .execute(
            &format!(
                "insert into {name} ({list}) overriding system value select {list} from {SOURCE_ROWS} s
                 where not exists (select from {name} t where {same_key})",
                list = columns.column_list("")
            ),
            &[],
        )
        .await?;
    Ok(deleted + inserted)
}
