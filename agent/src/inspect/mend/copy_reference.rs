//! Makes a reference table's rows those of another shard, in one transaction.
//!
//! Writers of the table wait meanwhile, readers do not. Ordinary triggers do not fire, so foreign keys
//! to rows that would go are looked at here.

use connect::Connected;
use futures::{SinkExt, TryStreamExt};
use plans::fleet::ShardRef;
use plans::inspection::check::RepairResult;
use plans::sql::quote_ident;
use plans::table::{MovingTable, TableKey, TableName};

use super::super::reference::digest;
use super::changed;
use crate::error::{StepError, WithIntent};
use crate::postgres::catalog;
use crate::shard::identity::{self, TimelineRule};
use crate::shard::user_code::{self, CodeProver};

/// The right rows, for the time of the transaction.
const ROWS: &str = "pg_temp.shardwright_rows";

/// Shards come with the digest that the check saw there.
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
    let what = format!(
        "shard {}: copying {table} from shard {}",
        to.name, from.name
    );
    let name = table.sql();
    let bare = [MovingTable::bare(table.clone(), TableKey::Reference)];
    source
        .batch_execute("begin isolation level repeatable read read only")
        .await
        .at(&what)?;
    target
        .batch_execute(&format!(
            "begin; set local lock_timeout = '5s'; set local shardwright.bypass = 'on'; {}; lock table {name} in share row exclusive mode",
            identity::proof_sql(TimelineRule::Same)
        ))
        .await
        .at(&what)?;
    let prover = CodeProver::open(&super::super::shard(from)?).await?;
    prover.prove(&source, &bare).await?;
    user_code::prove(&target, &bare).await?;
    let right = digest(&source, table).await?;
    let wrong = digest(&target, table).await?;
    let (Some(right), Some(wrong)) = (right, wrong) else {
        return Err(changed(format_args!("table {table}")));
    };
    if right == wrong {
        return Ok(RepairResult {
            done: format!("{what}: both shards have the same rows"),
            rows: 0,
        });
    }
    if right.digest != from_digest || wrong.digest != to_digest {
        return Err(changed(format_args!("table {table}")));
    }
    let columns = ReferenceColumns::read(&target, table).await?;
    stage(&source, &target, table, &columns).await.at(&what)?;
    refuse_dangling(&target, table, &columns).await?;
    let rows = replace(&target, table, &columns).await.at(&what)?;
    if digest(&target, table).await? != Some(right) {
        return Err(StepError::refused(
            "mend.reference",
            format!("{what}: the rows still differ; nothing was changed"),
            "compare the table's definition on both shards",
        ));
    }
    target.batch_execute("commit").await.at(&what)?;
    Ok(RepairResult {
        done: format!("{what}: {rows} row(s) written or deleted"),
        rows,
    })
}

/// Columns as SQL.
struct ReferenceColumns {
    written: Vec<String>,
    primary: Vec<String>,
}

impl ReferenceColumns {
    async fn read(client: &Connected, table: &TableName) -> Result<Self, StepError> {
        let shard = client.name();
        let columns = catalog::columns(client, table).await?;
        let tables = catalog::tables(client).await?;
        let primary = tables.get(table).map(|found| found.primary_key.clone());
        let primary = primary.unwrap_or_default();
        if primary.is_empty() {
            return Err(StepError::refused(
                "mend.primary_key",
                format!("shard {shard}: table {table} has no primary key"),
                "add one on every shard",
            ));
        }
        let written = columns.iter().filter(|found| !found.column.generated);
        Ok(Self {
            written: written
                .map(|found| quote_ident(&found.column.name))
                .collect(),
            primary: primary.iter().map(|name| quote_ident(name)).collect(),
        })
    }

    fn list(&self, row: &str) -> String {
        let columns = self.written.iter();
        let columns: Vec<String> = columns.map(|column| format!("{row}{column}")).collect();
        columns.join(", ")
    }

    fn same_key(&self) -> String {
        let pairs = self.primary.iter();
        let pairs: Vec<String> = pairs
            .map(|column| format!("s.{column} = t.{column}"))
            .collect();
        pairs.join(" and ")
    }
}

/// Brings the right rows over.
async fn stage(
    source: &Connected,
    target: &Connected,
    table: &TableName,
    columns: &ReferenceColumns,
) -> Result<(), tokio_postgres::Error> {
    let (name, list) = (table.sql(), columns.list(""));
    target
        .batch_execute(&format!(
            "create temporary table shardwright_rows on commit drop as select {list} from {name} limit 0"
        ))
        .await?;
    let out = source
        .copy_out(&format!("copy (select {list} from {name}) to stdout"))
        .await?;
    let into = target
        .copy_in(&format!("copy {ROWS} ({list}) from stdin"))
        .await?;
    let (mut out, mut into) = (std::pin::pin!(out), std::pin::pin!(into));
    while let Some(chunk) = out.try_next().await? {
        into.send(chunk).await?;
    }
    into.finish().await.map(|_| ())
}

/// Rows that go must not be referred to.
async fn refuse_dangling(
    client: &Connected,
    table: &TableName,
    columns: &ReferenceColumns,
) -> Result<(), StepError> {
    let shard = client.name();
    for key in catalog::foreign_keys(client).await? {
        if &key.to != table {
            continue;
        }
        let joined: Vec<String> = key
            .columns
            .iter()
            .map(|(own, theirs)| format!("c.{} = t.{}", quote_ident(own), quote_ident(theirs)))
            .collect();
        let sql = format!(
            "select exists (select from {} t join {} c on {} where not exists (select from {ROWS} s where {}))",
            table.sql(),
            key.from.sql(),
            joined.join(" and "),
            columns.same_key()
        );
        let row = client.query_one(&sql, &[]).await.at(format_args!(
            "shard {shard}: looking for rows that refer to {table}"
        ))?;
        if row.get(0) {
            return Err(StepError::refused(
                "mend.referred",
                format!(
                    "shard {shard}: rows of {} refer by {} to rows of {table} that would go",
                    key.from, key.name
                ),
                "decide which rows are right, and correct them by hand",
            ));
        }
    }
    Ok(())
}

/// Deletes what is not among the right rows and inserts what is missing; returns how many rows.
async fn replace(
    client: &Connected,
    table: &TableName,
    columns: &ReferenceColumns,
) -> Result<u64, tokio_postgres::Error> {
    let (name, same_key) = (table.sql(), columns.same_key());
    let deleted = client
        .execute(
            &format!(
                "delete from {name} t where not exists (
                   select from {ROWS} s where {same_key} and row({})::text = row({})::text)",
                columns.list("s."),
                columns.list("t.")
            ),
            &[],
        )
        .await?;
    let inserted = client
        .execute(
            &format!(
                "insert into {name} ({list}) overriding system value select {list} from {ROWS} s
                 where not exists (select from {name} t where {same_key})",
                list = columns.list("")
            ),
            &[],
        )
        .await?;
    Ok(deleted + inserted)
}
