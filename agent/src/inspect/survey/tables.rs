//! The tables of a move: listed, fit, and none of their rows without a parent.

use std::collections::{BTreeMap, BTreeSet};

use plans::survey::SurveyTask;
use plans::table::{CopyBy, MovingTable, TableKey, TableName, Through};
use tokio_postgres::Client;

use super::super::keys::join_condition;
use super::Findings;
use super::table::Check;
use crate::error::{At, StepError};
use crate::pg::catalog::{self, ForeignKey, Found, FoundColumn};

/// The tables of a move, in no order.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) moving: Vec<MovingTable>,
    /// Tables whose key cannot be asked for: they, or what ties them, were refused.
    pub(super) unfit: BTreeSet<TableName>,
}

/// Reads the tables that are sharded or belong to sharded ones; everything unfit becomes a finding.
pub(super) async fn moving(
    client: &Client,
    task: &SurveyTask,
    tied: Vec<(TableName, TableKey)>,
    findings: &mut Findings,
) -> Result<Listed, StepError> {
    let shard = task.source.name.as_str();
    let found = catalog::tables(client, shard).await?;
    check_listing(&found, task, findings);
    let mut listed = Listed {
        moving: Vec::new(),
        unfit: BTreeSet::new(),
    };
    for (table, key) in tied {
        let Some(facts) = found.get(&table) else {
            missing(&table, "tables", shard, findings);
            listed.unfit.insert(table);
            continue;
        };
        let columns = catalog::columns(client, &table, shard).await?;
        let check = Check {
            object: format!("shard {shard}, table {table}"),
            facts,
            columns: &columns,
        };
        check.kind(findings);
        let fit = match &key {
            TableKey::Columns(columns) => check.key(columns, findings),
            TableKey::Through(through) => {
                check.through(through, task.mode, findings)
                    && !listed.unfit.contains(&through.parent)
            }
            TableKey::Reference => true,
        };
        if !fit {
            listed.unfit.insert(table.clone());
        }
        listed.moving.push(moving_table(table, key, facts, columns));
    }
    Ok(listed)
}

/// Adds the reference tables, which a new shard gets whole.
pub(super) async fn add_reference(
    client: &Client,
    task: &SurveyTask,
    listed: &mut Listed,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = task.source.name.as_str();
    let found = catalog::tables(client, shard).await?;
    for name in &task.settings.reference {
        let table = TableName::parse(name);
        let Some(facts) = found.get(&table) else {
            missing(&table, "reference", shard, findings);
            continue;
        };
        let columns = catalog::columns(client, &table, shard).await?;
        let check = Check {
            object: format!("shard {shard}, table {table}"),
            facts,
            columns: &columns,
        };
        check.kind(findings);
        check.primary_key("...", findings);
        let moving = moving_table(table, TableKey::Reference, facts, columns);
        listed.moving.push(moving);
    }
    Ok(())
}

fn moving_table(
    table: TableName,
    key: TableKey,
    facts: &Found,
    columns: Vec<FoundColumn>,
) -> MovingTable {
    MovingTable {
        table,
        key,
        primary_key: facts.primary_key.clone(),
        columns: columns.into_iter().map(|found| found.column).collect(),
        rows: facts.rows,
        bytes: facts.bytes,
        order: facts.order.clone(),
        copy_by: CopyBy::Blocks,
        copy_why: String::new(),
    }
}

fn missing(table: &TableName, list: &str, shard: &str, findings: &mut Findings) {
    findings.refuse(
        "table.missing",
        format!("shard {shard}, table {table}"),
        "it does not exist",
        format!("correct the name under `{list}`, with its schema"),
    );
}

/// A table that is listed nowhere is refused by name.
fn check_listing(found: &BTreeMap<TableName, Found>, task: &SurveyTask, findings: &mut Findings) {
    let settings = &task.settings;
    if task.again || settings.ignore.iter().any(|name| name == "*") {
        return;
    }
    let names = settings.tables.keys().chain(settings.through.keys());
    let names = names.chain(&settings.reference).chain(&settings.ignore);
    let listed: BTreeSet<TableName> = names.map(|name| TableName::parse(name)).collect();
    for table in found.keys().filter(|table| !listed.contains(*table)) {
        findings.refuse(
            "table.unlisted",
            format!("shard {}, table {table}", task.source.name),
            "nothing says whether it is sharded",
            format!(
                "list {table} under `tables` with its key column, under `through`, `reference` or `ignore`"
            ),
        );
    }
}

/// Proves that every row without the key has a parent: by its foreign key, or by looking.
pub(super) async fn check_orphans(
    client: &Client,
    listed: &Listed,
    references: &[ForeignKey],
    shard: &str,
    findings: &mut Findings,
) -> Result<(), StepError> {
    for table in listed
        .moving
        .iter()
        .filter(|t| !listed.unfit.contains(&t.table))
    {
        let TableKey::Through(through) = &table.key else {
            continue;
        };
        if proven(client, &table.table, through, references, shard).await? {
            continue;
        }
        let (name, parent) = (table.table.sql(), through.parent.sql());
        let joined = join_condition(through, "p", "t");
        let orphan = format!("not exists (select from {parent} p where {joined})");
        let row = client
            .query_one(
                &format!("select count(*) from only {name} t where {orphan}"),
                &[],
            )
            .await
            .at(format_args!(
                "shard {shard}: looking for rows of {} without a parent",
                table.table
            ))?;
        let orphans: i64 = row.get(0);
        if orphans > 0 {
            findings.refuse(
                "through.orphan",
                format!("shard {shard}, table {}", table.table),
                format!(
                    "{orphans} row(s) have no parent in {} and so no key",
                    through.parent
                ),
                format!("delete from {name} t where {orphan}, or give them a parent"),
            );
        }
    }
    Ok(())
}

/// Whether a foreign key that was validated, over columns that are never null, gives every row a parent.
async fn proven(
    client: &Client,
    table: &TableName,
    through: &Through,
    references: &[ForeignKey],
    shard: &str,
) -> Result<bool, StepError> {
    let wanted: BTreeSet<&(String, String)> = through.columns.iter().collect();
    let holds = references.iter().any(|key| {
        key.validated
            && &key.from == table
            && key.to == through.parent
            && key.columns.iter().collect::<BTreeSet<_>>() == wanted
    });
    if !holds {
        return Ok(false);
    }
    let columns = catalog::columns(client, table, shard).await?;
    Ok(through.columns.iter().all(|(own, _)| {
        let mut found = columns.iter();
        found.any(|found| &found.column.name == own && found.not_null)
    }))
}
