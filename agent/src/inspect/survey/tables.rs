//! What the tables must be: listed, ordinary, tied to the key, with the key in the primary key.

use std::collections::{BTreeMap, BTreeSet};

use plans::request::Mode;
use plans::survey::SurveyTask;
use plans::table::{KeyColumn, MovingTable, TableKey, TableName, Through};
use tokio_postgres::Client;

use super::super::keys::join_condition;
use super::Findings;
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

/// One table with what its catalog says.
struct Check<'a> {
    object: String,
    facts: &'a Found,
    columns: &'a [FoundColumn],
}

impl Check<'_> {
    fn refuse(
        &self,
        findings: &mut Findings,
        code: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        findings.refuse(code, self.object.clone(), problem, remedy);
    }

    fn kind(&self, findings: &mut Findings) {
        let facts = self.facts;
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
        for (_, code, problem) in kinds.into_iter().filter(|(is, ..)| *is) {
            let remedy = "list it under `ignore`, or make it an ordinary table";
            self.refuse(findings, code, problem, remedy);
        }
        if facts.replica_identity == 'n' || facts.replica_identity == 'i' {
            self.refuse(
                findings,
                "table.identity",
                "its replica identity is neither the primary key nor the full row",
                format!("alter table {} replica identity default", facts.table.sql()),
            );
        }
    }

    fn primary_key(&self, columns: &str, findings: &mut Findings) {
        let table = self.facts.table.sql();
        if self.facts.primary_key.is_empty() {
            self.refuse(
                findings,
                "table.primary_key",
                "it has no primary key; updates and deletes could not be captured",
                format!("alter table {table} add primary key ({columns})"),
            );
        }
        if self.facts.deferrable_key {
            self.refuse(
                findings,
                "table.deferrable",
                "its primary key is deferrable and cannot identify rows",
                "make the primary key not deferrable",
            );
        }
    }

    /// The key's columns; true when rows can be asked for by them.
    fn key(&self, key: &[KeyColumn], findings: &mut Findings) -> bool {
        let names: Vec<&str> = key.iter().map(|column| column.name.as_str()).collect();
        self.primary_key(&format!("{}, ...", names.join(", ")), findings);
        let mut fit = true;
        for column in key {
            fit &= self.key_column(column, findings);
        }
        let primary = &self.facts.primary_key;
        let outside: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| self.columns.iter().any(|found| found.column.name == *name))
            .filter(|name| !primary.iter().any(|column| column == name))
            .collect();
        if !primary.is_empty() && !outside.is_empty() {
            let rest = primary.iter().map(String::as_str);
            let rest: Vec<&str> = rest.filter(|column| !names.contains(column)).collect();
            self.refuse(
                findings,
                "key.identity",
                format!(
                    "the key column {} is not part of the primary key, so the application's own updates would fail once published",
                    outside.join(", ")
                ),
                format!("make the primary key ({})", [names, rest].concat().join(", ")),
            );
        }
        fit
    }

    fn key_column(&self, key: &KeyColumn, findings: &mut Findings) -> bool {
        let (name, kind, table) = (&key.name, key.kind, self.facts.table.sql());
        match self.columns.iter().find(|found| &found.column.name == name) {
            None => {
                self.refuse(
                    findings,
                    "key.missing",
                    format!("it has no column {name}"),
                    "correct the key column under `tables`",
                );
                false
            }
            Some(found) if !catalog::fits(kind, found) => {
                self.refuse(
                    findings,
                    "key.type",
                    format!(
                        "the key column {name} is {}, the map's key is {kind}",
                        found.column.data_type
                    ),
                    format!("alter table {table} alter column {name} type {kind}"),
                );
                false
            }
            Some(found) if !found.not_null => {
                self.refuse(
                    findings,
                    "key.null",
                    format!("the key column {name} may be null; such a row belongs nowhere"),
                    format!("alter table {table} alter column {name} set not null"),
                );
                true
            }
            Some(_) => true,
        }
    }

    /// The columns that tie a row to its parent; true when rows can be asked for by them.
    fn through(&self, through: &Through, mode: Mode, findings: &mut Findings) -> bool {
        self.primary_key("...", findings);
        if mode == Mode::Online {
            self.refuse(
                findings,
                "through.online",
                format!(
                    "its rows belong to those of {} and do not hold the key, so their changes cannot be captured by key",
                    through.parent
                ),
                format!(
                    "add the key column to {} and list it under `tables`, or move with `mode: offline`",
                    self.facts.table
                ),
            );
        }
        let own = through.columns.iter().map(|(own, _)| own);
        let lost: Vec<&String> = own
            .filter(|own| !self.columns.iter().any(|found| &found.column.name == *own))
            .collect();
        for column in &lost {
            self.refuse(
                findings,
                "key.missing",
                format!("it has no column {column}"),
                "correct the columns under `through`",
            );
        }
        lost.is_empty()
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
