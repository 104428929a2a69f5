//! What the tables must be: listed, ordinary, with the key in the primary key, closed under foreign keys.

use std::collections::{BTreeMap, BTreeSet};

use plans::failure::Severity;
use plans::survey::SurveyTask;
use plans::table::{MovingTable, TableName};
use tokio_postgres::Client;

use super::Findings;
use crate::error::{At, StepError};
use crate::pg::catalog::{self, ForeignKey, Found, FoundColumn};

/// Reads the tables that the request lists; everything unfit becomes a finding.
pub(super) async fn moving(
    client: &Client,
    task: &SurveyTask,
    shard: &str,
    findings: &mut Findings,
) -> Result<Vec<MovingTable>, StepError> {
    let found = catalog::tables(client, shard).await?;
    check_listing(&found, task, shard, findings);
    let mut moving = Vec::new();
    for (name, key_column) in &task.tables {
        let table = TableName::parse(name);
        let Some(facts) = found.get(&table) else {
            findings.refuse(
                "table.missing",
                format!("shard {shard}, table {table}"),
                "it does not exist",
                "correct the name under `tables`, with its schema",
            );
            continue;
        };
        let columns = catalog::columns(client, &table, shard).await?;
        check_kind(facts, shard, findings);
        check_key(facts, key_column, &columns, task, shard, findings);
        moving.push(MovingTable {
            table,
            key_column: key_column.clone(),
            primary_key: facts.primary_key.clone(),
            columns: columns.into_iter().map(|found| found.column).collect(),
            rows: facts.rows,
            bytes: facts.bytes,
        });
    }
    Ok(moving)
}

/// A table that is neither sharded nor ignored is refused by name.
fn check_listing(
    found: &BTreeMap<TableName, Found>,
    task: &SurveyTask,
    shard: &str,
    findings: &mut Findings,
) {
    if task.ignore.iter().any(|name| name == "*") {
        return;
    }
    let listed: BTreeSet<TableName> = task
        .tables
        .keys()
        .chain(&task.ignore)
        .map(|name| TableName::parse(name))
        .collect();
    for table in found.keys().filter(|table| !listed.contains(*table)) {
        findings.refuse(
            "table.unlisted",
            format!("shard {shard}, table {table}"),
            "the request does not say whether it is sharded",
            format!("list {table} under `tables` with its key column, or under `ignore`"),
        );
    }
}

fn check_kind(facts: &Found, shard: &str, findings: &mut Findings) {
    let object = format!("shard {shard}, table {}", facts.table);
    let kinds = [
        (
            facts.kind == 'p',
            "table.partitioned",
            "it is partitioned, which this version does not move",
        ),
        (
            facts.kind == 'f',
            "table.foreign",
            "it is a foreign table; its rows are elsewhere",
        ),
        (
            facts.unlogged,
            "table.unlogged",
            "it is unlogged; its changes cannot be captured",
        ),
        (
            facts.inherits,
            "table.inherits",
            "it takes part in inheritance",
        ),
    ];
    for (is, code, problem) in kinds {
        if is {
            findings.refuse(
                code,
                object.clone(),
                problem,
                "list it under `ignore`, or make it an ordinary table",
            );
        }
    }
    if facts.replica_identity == 'n' || facts.replica_identity == 'i' {
        findings.refuse(
            "table.identity",
            object,
            "its replica identity is neither the primary key nor the full row",
            format!("alter table {} replica identity default", facts.table.sql()),
        );
    }
}

fn check_key(
    facts: &Found,
    key_column: &str,
    columns: &[FoundColumn],
    task: &SurveyTask,
    shard: &str,
    findings: &mut Findings,
) {
    let object = format!("shard {shard}, table {}", facts.table);
    if facts.primary_key.is_empty() {
        findings.refuse(
            "table.primary_key",
            object.clone(),
            "it has no primary key; updates and deletes could not be captured",
            format!(
                "alter table {} add primary key ({key_column}, ...)",
                facts.table.sql()
            ),
        );
    } else if columns.iter().any(|found| found.column.name == key_column)
        && !facts.primary_key.iter().any(|column| column == key_column)
    {
        findings.refuse(
            "key.identity",
            object.clone(),
            format!("the key column {key_column} is not part of the primary key, so the application's own updates would fail once published"),
            format!("make the primary key ({key_column}, {})", facts.primary_key.join(", ")),
        );
    }
    if facts.deferrable_key {
        findings.refuse(
            "table.deferrable",
            object.clone(),
            "its primary key is deferrable and cannot identify rows",
            "make the primary key not deferrable",
        );
    }
    match columns.iter().find(|found| found.column.name == key_column) {
        None => findings.refuse(
            "key.missing",
            object,
            format!("it has no column {key_column}"),
            "correct the key column under `tables`",
        ),
        Some(found) if !catalog::fits(task.key_type, found) => findings.refuse(
            "key.type",
            object,
            format!(
                "the key column {key_column} is {}, the map's key is {}",
                found.column.data_type,
                task.key_type.sql_name()
            ),
            format!(
                "alter table {} alter column {key_column} type {}",
                facts.table.sql(),
                task.key_type.sql_name()
            ),
        ),
        Some(found) if !found.not_null => findings.refuse(
            "key.null",
            object,
            format!("the key column {key_column} may be null; such a row belongs nowhere"),
            format!(
                "alter table {} alter column {key_column} set not null",
                facts.table.sql()
            ),
        ),
        Some(_) => {}
    }
}

/// Foreign keys must stay among the moving tables.
pub(super) fn check_foreign_keys(
    moving: &[MovingTable],
    keys: &[ForeignKey],
    shard: &str,
    findings: &mut Findings,
) {
    let moves = |name: &TableName| moving.iter().any(|table| &table.table == name);
    for key in keys.iter().filter(|key| moves(&key.from) != moves(&key.to)) {
        findings.refuse(
            "foreign_key.leaves",
            format!("shard {shard}, foreign key {} of {}", key.name, key.from),
            format!(
                "it joins {} and {}, of which only one moves",
                key.from, key.to
            ),
            "list both tables under `tables`, or drop the foreign key",
        );
    }
}

/// The target must have room for what is created there, and no guard of an earlier move in the way.
pub(super) async fn check_target(
    client: &Client,
    moving: &[MovingTable],
    task: &SurveyTask,
    shard: &str,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let there = catalog::tables(client, shard).await?;
    for table in moving
        .iter()
        .filter(|table| there.contains_key(&table.table))
    {
        findings.refuse(
            "target.table",
            format!("shard {shard}, table {}", table.table),
            "it exists already; this version creates the target's tables itself",
            format!(
                "drop table {}, or choose an empty database",
                table.table.sql()
            ),
        );
    }
    let rows = client
        .query(
            "select case when pg_catalog.to_regclass('shardwright.move') is null then null
                         else (pg_catalog.xpath('/row/n/text()', pg_catalog.query_to_xml('select count(*) n from shardwright.move', false, true, '')))[1]::text end",
            &[],
        )
        .await
        .at(format_args!("shard {shard}: looking for earlier moves"))?;
    let earlier: Option<String> = rows.first().and_then(|row| row.get(0));
    if earlier.is_some_and(|count| count != "0") {
        findings.add(
            Severity::Warning,
            "target.guards",
            format!("shard {shard}"),
            format!("earlier migrations left their permanent guards here; keys of {} that they closed stay closed", task.target.name),
            "use a database that has not given these keys away before",
        );
    }
    Ok(())
}
