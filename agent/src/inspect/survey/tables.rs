//! The tables of a move: listed, fit, and none of their rows without a parent.
//! A partitioned table is listed by itself and moves leaf by leaf: each leaf is a table of the move.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::sql::quote_ident;
use plans::survey::SurveyTask;
use plans::table::{CopyBy, Format, MovingTable, TableKey, TableName, ThroughTable};

use super::super::fixes;
use super::super::keys::join_condition;
use super::foreign_keys::{self, TableKeysByName};
use super::identity::KeyTie;
use super::table::TableCheck;
use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::catalog::{self, ForeignKey, TableFacts};
use crate::postgres::definitions::{self, FoundColumn, UniqueIndex};

/// The tables of a move, in no order.
#[derive(Debug)]
pub(super) struct ListedTables {
    pub(super) moving: Vec<MovingTable>,
    /// Tables whose key cannot be asked for: they, or what ties them, were refused.
    pub(super) unfit: BTreeSet<TableName>,
    /// Columns that are never null, of the sharded tables.
    given: BTreeSet<(TableName, String)>,
}

/// What the catalog says of tables that are listed, and of their leaves.
struct TableDefinitions {
    found: BTreeMap<TableName, TableFacts>,
    columns: BTreeMap<TableName, Vec<FoundColumn>>,
    unique: BTreeMap<TableName, Vec<UniqueIndex>>,
}

impl TableDefinitions {
    async fn read<'a>(
        client: &Connected,
        listed: impl Iterator<Item = &'a TableName>,
    ) -> Result<Self, StepError> {
        let found = catalog::tables(client).await?;
        let mut names = BTreeSet::new();
        for facts in listed.filter_map(|table| found.get(table)) {
            names.insert(&facts.table);
            names.extend(
                catalog::leaves(&found, facts)
                    .iter()
                    .map(|leaf| &leaf.table),
            );
        }
        let names: Vec<&TableName> = names.into_iter().collect();
        let columns = definitions::columns(client, &names).await?;
        let unique = definitions::unique_indexes(client, &names).await?;
        Ok(Self {
            found,
            columns,
            unique,
        })
    }

    fn check<'a>(&'a self, facts: &'a TableFacts, task: &'a SurveyTask) -> TableCheck<'a> {
        let (shard, table) = (&task.source.name, &facts.table);
        TableCheck {
            shard: shard.as_str(),
            object: format!("shard {shard}, table {table}"),
            facts,
            columns: self.columns.get(table).map_or(&[], Vec::as_slice),
            unique: self.unique.get(table).map_or(&[], Vec::as_slice),
            mode: task.mode,
        }
    }
}

/// Reads the tables that are sharded or belong to sharded ones; everything unfit becomes a finding.
pub(super) async fn moving(
    client: &Connected,
    task: &SurveyTask,
    tied: Vec<(TableName, TableKey)>,
    references: &[ForeignKey],
    findings: &mut Findings,
) -> Result<ListedTables, StepError> {
    let shard = task.source.name.as_str();
    let read = TableDefinitions::read(client, tied.iter().map(|(table, _)| table)).await?;
    let sharded = tied.iter().map(|(table, key)| (table, key)).collect();
    check_listing(&read.found, references, &sharded, task, findings);
    let mut listed = ListedTables {
        moving: Vec::new(),
        unfit: BTreeSet::new(),
        given: BTreeSet::new(),
    };
    for (table, columns) in &read.columns {
        let given = columns.iter().filter(|found| found.not_null);
        let given = given.map(|found| (table.clone(), found.column.name.clone()));
        listed.given.extend(given);
    }
    for (table, key) in tied {
        let Some(facts) = read.found.get(&table) else {
            missing(&table, "tables", shard, findings);
            listed.unfit.insert(table);
            continue;
        };
        let (mut fit, leaves) = look(task, &read, facts, &key, findings);
        if let TableKey::Through(through) = &key {
            fit &= !listed.unfit.contains(&through.parent);
        }
        if !fit {
            listed.unfit.insert(table);
            let leaves = leaves.iter().map(|leaf| leaf.table.clone());
            listed.unfit.extend(leaves);
        }
        listed.moving.extend(leaves);
    }
    Ok(listed)
}

/// Looks at the leaves of a table that is listed: itself, where it is not partitioned; whether all can be asked
/// for by key, and the tables that move.
fn look(
    task: &SurveyTask,
    read: &TableDefinitions,
    facts: &TableFacts,
    key: &TableKey,
    findings: &mut Findings,
) -> (bool, Vec<MovingTable>) {
    let check_key = |check: &TableCheck<'_>, findings: &mut Findings| match key {
        TableKey::Columns(columns) => check.key(columns, findings),
        TableKey::Through(through) => check.through(through, task.mode, findings),
        TableKey::Reference => {
            check.identity(KeyTie::Reference, findings);
            true
        }
    };
    let leaves = catalog::leaves(&read.found, facts);
    let check = read.check(facts, task);
    check.place(leaves.is_empty(), findings);
    let mut of_all = Findings::default();
    check_key(&check, &mut of_all);
    let (mut fit, mut moving) = (true, Vec::new());
    for leaf in leaves {
        let check = read.check(leaf, task);
        check.kind(findings);
        check.types(findings);
        let mut own = Findings::default();
        // Another server would be asked.
        fit &= check_key(&check, &mut own) && leaf.kind != 'f';
        findings.inherit(own, &of_all);
        moving.push(moving_table(key.clone(), leaf, check.columns));
    }
    (fit, moving)
}

/// Adds the reference tables, which a new shard gets whole.
pub(super) async fn add_reference(
    client: &Connected,
    task: &SurveyTask,
    listed: &mut ListedTables,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = task.source.name.as_str();
    let names = task.settings.reference.iter();
    let names: Vec<TableName> = names.map(|name| TableName::parse(name)).collect();
    let read = TableDefinitions::read(client, names.iter()).await?;
    for table in names {
        let Some(facts) = read.found.get(&table) else {
            missing(&table, "reference", shard, findings);
            continue;
        };
        let key = TableKey::Reference;
        let (_, leaves) = look(task, &read, facts, &key, findings);
        listed.moving.extend(leaves);
    }
    Ok(())
}

fn moving_table(key: TableKey, facts: &TableFacts, columns: &[FoundColumn]) -> MovingTable {
    MovingTable {
        table: facts.table.clone(),
        partition_of: facts.partition_of.clone(),
        identity: facts.identity(&key),
        lookup_columns: facts.lookup_columns(&key),
        key,
        columns: columns.iter().map(|found| found.column.clone()).collect(),
        rows: facts.rows,
        bytes: facts.bytes,
        row_order: facts.order.clone(),
        copy_by: CopyBy::Blocks,
        copy_why: String::new(),
        format: Format::Text,
        format_why: String::new(),
    }
}

fn missing(table: &TableName, list: &str, shard: &str, findings: &mut Findings) {
    findings.refuse(
        "table.missing",
        format!("shard {shard}, table {table}"),
        "it does not exist",
        format!(
            "create it as on the map's other shards, or correct the name under `{list}`, with its schema"
        ),
    );
}

/// A table that is listed nowhere is refused by name, with the list that its foreign keys speak for.
fn check_listing(
    found: &BTreeMap<TableName, TableFacts>,
    references: &[ForeignKey],
    sharded: &TableKeysByName<'_>,
    task: &SurveyTask,
    findings: &mut Findings,
) {
    if task.again {
        return;
    }
    // A partition goes with the table at the top.
    let tables = found.values().filter(|found| found.partition_of.is_none());
    let tables = tables.map(|found| &found.table);
    for table in tables.filter(|table| !task.settings.has_listed(table)) {
        let list = foreign_keys::placing(table, references, sharded);
        findings.refuse(
            "table.unlisted",
            format!("shard {}, table {table}", task.source.name),
            "nothing says whether it is sharded",
            list.unwrap_or_else(|| {
                format!(
                    "list {table} under `tables` with its key column, under `reference` if every shard has the same rows, \
                     or under `ignore` if its rows stay"
                )
            }),
        );
    }
}

/// Proves that every row without the key has a parent: by its foreign key, or by looking.
pub(super) async fn check_orphans(
    client: &Connected,
    listed: &ListedTables,
    references: &[ForeignKey],
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    for table in listed
        .moving
        .iter()
        .filter(|t| !listed.unfit.contains(&t.table))
    {
        let TableKey::Through(through) = &table.key else {
            continue;
        };
        if proven(listed, table, through, references) {
            continue;
        }
        let (name, parent) = (table.table.sql(), through.parent.sql());
        let joined = join_condition(through, "p", "t");
        let own = through.columns.iter();
        let own: Vec<String> = own
            .map(|(own, _)| format!("t.{} is not null", quote_ident(own)))
            .collect();
        let refers = own.join(" and ");
        let orphan = format!("{refers} and not exists (select from {parent} p where {joined})");
        let row = client
            .query_one(
                &format!(
                    "select count(*) filter (where {orphan}), count(*) filter (where not ({refers})) from only {name} t"
                ),
                &[],
            )
            .await
            .at(format_args!(
                "shard {shard}: looking for rows of {} without a parent",
                table.table
            ))?;
        let (orphans, unkeyed): (i64, i64) = (row.get(0), row.get(1));
        if unkeyed > 0 {
            findings.add(
                "through.unkeyed",
                format!("shard {shard}, table {}", table.table),
                format!(
                    "{unkeyed} row(s) refer to no row of {} at all: they have no key, and no move takes them",
                    through.parent
                ),
                "nothing to do where they may stay on this shard; else give them a parent",
            );
        }
        if orphans > 0 {
            let finding = findings.refuse(
                "through.orphan",
                format!("shard {shard}, table {}", table.table),
                format!(
                    "{orphans} row(s) refer to rows that {} lacks, and so have no key",
                    through.parent
                ),
                format!("give them a parent; or, if nothing needs them: delete from {name} t where {orphan}"),
            );
            // Where only the map says that they belong together, it may be the map that is wrong.
            if declared(table, through, references).next().is_some() {
                finding.fixed_by(shard, vec![fixes::delete(&table.table, &orphan)]);
            }
        }
    }
    Ok(())
}

/// The foreign keys by which a row belongs to its parent.
fn declared<'a>(
    table: &'a MovingTable,
    through: &'a ThroughTable,
    references: &'a [ForeignKey],
) -> impl Iterator<Item = &'a ForeignKey> {
    let wanted: BTreeSet<&(String, String)> = through.columns.iter().collect();
    references.iter().filter(move |key| {
        (key.from == table.table || &key.from == table.top())
            && key.to == through.parent
            && key.columns.iter().collect::<BTreeSet<_>>() == wanted
    })
}

/// Whether a foreign key that was validated, over columns that are never null, gives every row a parent.
fn proven(
    listed: &ListedTables,
    table: &MovingTable,
    through: &ThroughTable,
    references: &[ForeignKey],
) -> bool {
    let holds = declared(table, through, references).any(|key| key.validated);
    let given = |own: &String| listed.given.contains(&(table.table.clone(), own.clone()));
    holds && through.columns.iter().all(|(own, _)| given(own))
}
