//! Lists the tables of a move, checks each, and checks that no row lacks a parent.
//! A map lists a partitioned table as a whole. It moves leaf by leaf: each leaf partition is a table of the move.

use std::collections::{BTreeMap, BTreeSet};

use connect::Connected;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::shard_map::KeyedBy;
use plans::sql::quote_ident;
use plans::survey::SurveyTask;
use plans::table::{CopyBy, Format, MovingTable, TableKey, TableName, ThroughTable};

use super::super::fixes;
use super::foreign_keys::{self, TableKeysByName};
use super::identity::KeySource;
use super::table::TableCheck;
use super::target::list_names;
use crate::error::{StepError, WithIntent};
use crate::inspect::findings::Findings;
use crate::postgres::catalog::{self, ForeignKey, TableFacts};
use crate::postgres::definitions::{self, FoundColumn, UniqueIndex};

/// The tables of a move, not sorted.
#[derive(Debug)]
pub(super) struct ListedTables {
    pub(super) moving: Vec<MovingTable>,
    /// Tables that the survey does not query by key, because they, or their parents, were refused.
    pub(super) unreadable: BTreeSet<TableName>,
    /// The NOT NULL columns of the sharded tables.
    not_null_columns: BTreeSet<(TableName, String)>,
    /// The tables of the shard, without those of schemas that the move leaves out.
    all_tables: BTreeMap<TableName, TableFacts>,
}

/// The definitions of the listed tables and of their leaf partitions.
struct TableDefinitions<'a> {
    all_tables: &'a BTreeMap<TableName, TableFacts>,
    columns: BTreeMap<TableName, Vec<FoundColumn>>,
    unique: BTreeMap<TableName, Vec<UniqueIndex>>,
}

impl<'a> TableDefinitions<'a> {
    async fn read(
        client: &Connected,
        all_tables: &'a BTreeMap<TableName, TableFacts>,
        listed: impl Iterator<Item = &TableName>,
    ) -> Result<Self, StepError> {
        let mut names = BTreeSet::new();
        for facts in listed.filter_map(|table| all_tables.get(table)) {
            names.insert(&facts.table);
            names.extend(
                catalog::leaves(all_tables, facts)
                    .iter()
                    .map(|leaf| &leaf.table),
            );
        }
        let names: Vec<&TableName> = names.into_iter().collect();
        let columns = definitions::columns(client, &names).await?;
        let unique = definitions::unique_indexes(client, &names).await?;
        Ok(Self {
            all_tables,
            columns,
            unique,
        })
    }

    fn table_check<'b>(&'b self, facts: &'b TableFacts, task: &'b SurveyTask) -> TableCheck<'b> {
        let (shard, table) = (&task.source.name, &facts.table);
        TableCheck {
            shard: shard.as_str(),
            object: format!("shard {shard}, table {table}"),
            facts,
            columns: self.columns.get(table).map_or(&[], Vec::as_slice),
            unique: self.unique.get(table).map_or(&[], Vec::as_slice),
            mode: task.mode,
            seed: task.seed,
        }
    }
}

/// Reads the sharded tables and their dependent tables. Adds a finding for everything that prevents their move.
pub(super) async fn list_moving_tables(
    client: &Connected,
    task: &SurveyTask,
    all_tables: BTreeMap<TableName, TableFacts>,
    keyed_tables: Vec<(TableName, TableKey)>,
    foreign_keys: &[ForeignKey],
    findings: &mut Findings,
) -> Result<ListedTables, StepError> {
    let shard = task.source.name.as_str();
    let names = keyed_tables.iter().map(|(table, _)| table);
    let read = TableDefinitions::read(client, &all_tables, names).await?;
    let sharded = keyed_tables
        .iter()
        .map(|(table, key)| (table, key))
        .collect();
    check_listing(read.all_tables, foreign_keys, &sharded, task, findings);
    refuse_empty_keys(&keyed_tables, task, findings);
    let mut listed = ListedTables {
        moving: Vec::new(),
        unreadable: BTreeSet::new(),
        not_null_columns: BTreeSet::new(),
        all_tables: BTreeMap::new(),
    };
    for (table, columns) in &read.columns {
        let not_null = columns.iter().filter(|found| found.not_null);
        let not_null = not_null.map(|found| (table.clone(), found.column.name.clone()));
        listed.not_null_columns.extend(not_null);
    }
    for (table, key) in keyed_tables {
        let Some(facts) = read.all_tables.get(&table) else {
            add_missing(&table, "tables", shard, findings);
            listed.unreadable.insert(table);
            continue;
        };
        let (mut is_readable, leaves) = check_leaves(task, &read, facts, &key, findings);
        if let TableKey::Through(through) = &key {
            is_readable &= !listed.unreadable.contains(&through.parent);
        }
        if !is_readable {
            listed.unreadable.insert(table);
            let leaves = leaves.iter().map(|leaf| leaf.table.clone());
            listed.unreadable.extend(leaves);
        }
        listed.moving.extend(leaves);
    }
    listed.all_tables = all_tables;
    Ok(listed)
}

/// Checks a listed table and its leaf partitions; a table that is not partitioned is its own leaf. Returns whether all
/// of them can be queried by key, and the tables that move.
fn check_leaves(
    task: &SurveyTask,
    read: &TableDefinitions<'_>,
    facts: &TableFacts,
    key: &TableKey,
    findings: &mut Findings,
) -> (bool, Vec<MovingTable>) {
    let check_key = |check: &TableCheck<'_>, findings: &mut Findings| match key {
        TableKey::Columns(columns) => check.check_key_columns(columns, findings),
        TableKey::Through(through) => {
            let parent = read.all_tables.get(&through.parent);
            check.check_parent_columns(through, parent, findings)
        }
        TableKey::Schema(_) | TableKey::Group(_) => {
            check.check_identity(KeySource::Columns(&[]), findings);
            true
        }
        TableKey::Reference => {
            check.check_identity(KeySource::Reference, findings);
            true
        }
    };
    let leaves = catalog::leaves(read.all_tables, facts);
    let check = read.table_check(facts, task);
    check.check_is_listable(leaves.is_empty(), findings);
    let mut table_findings = Findings::default();
    check_key(&check, &mut table_findings);
    let (mut is_readable, mut moving) = (true, Vec::new());
    for leaf in leaves {
        let check = read.table_check(leaf, task);
        check.check_kind(findings);
        check.check_types(findings);
        let mut leaf_findings = Findings::default();
        // A query on a foreign table would contact another server.
        is_readable &= check_key(&check, &mut leaf_findings) && leaf.kind != 'f';
        findings.add_leaf_findings(leaf_findings, &table_findings);
        moving.push(moving_table(key.clone(), leaf, check.columns));
    }
    (is_readable, moving)
}

/// Adds the reference tables, which are copied completely to a new target.
pub(super) async fn add_reference_tables(
    client: &Connected,
    task: &SurveyTask,
    listed: &mut ListedTables,
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = task.source.name.as_str();
    let names = task.settings.reference.iter();
    let names: Vec<TableName> = names.map(|name| TableName::parse(name)).collect();
    let all_tables = std::mem::take(&mut listed.all_tables);
    let read = TableDefinitions::read(client, &all_tables, names.iter()).await?;
    for table in names {
        let Some(facts) = read.all_tables.get(&table) else {
            add_missing(&table, "reference", shard, findings);
            continue;
        };
        let key = TableKey::Reference;
        let (_, leaves) = check_leaves(task, &read, facts, &key, findings);
        listed.moving.extend(leaves);
    }
    listed.all_tables = all_tables;
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
        renamed_columns: BTreeMap::new(),
        retired: false,
    }
}

fn add_missing(table: &TableName, list: &str, shard: &str, findings: &mut Findings) {
    findings.add_refusal(
        "table.missing",
        format!("shard {shard}, table {table}"),
        "it does not exist",
        format!(
            "create it as on the map's other shards, or correct the name under `{list}`, with its schema"
        ),
    );
}

/// Returns whether a list of the map contains the table, or the map has its schema.
pub(super) fn has_listed(task: &SurveyTask, table: &TableName) -> bool {
    let is_mapped = |schemas: &KeySet| schemas.contains(&Key::Text(table.schema.clone()));
    task.settings.has_listed(table) || task.mapped.as_ref().is_some_and(is_mapped)
}

/// Refuses each schema with tables about which the map says nothing.
fn refuse_unmapped_schemas(tables: &[&TableName], task: &SurveyTask, findings: &mut Findings) {
    let schemas: BTreeSet<&str> = tables.iter().map(|table| table.schema.as_str()).collect();
    for schema in schemas {
        let names: Vec<&TableName> = tables
            .iter()
            .copied()
            .filter(|table| table.schema == schema)
            .collect();
        let shard = &task.source.name;
        findings.add_refusal(
            "table.unlisted",
            format!("shard {shard}, schema {schema}"),
            format!(
                "no shard owns the schema, and no list has its tables: {}",
                list_names(&names)
            ),
            format!(
                "if a shard owns it, `map assign {} --shard-of {schema}={shard}`; list its tables under `reference` if every shard \
                 has the same rows, or under `ignore` if their rows stay",
                task.map
            ),
        );
    }
}

/// Refuses moving schemas and groups without a table.
fn refuse_empty_keys(
    keyed_tables: &[(TableName, TableKey)],
    task: &SurveyTask,
    findings: &mut Findings,
) {
    let (KeySet::List(keys), KeyedBy::Schema | KeyedBy::Group) =
        (&task.keys, task.settings.keyed_by)
    else {
        return;
    };
    let whole = |(table, key): &(TableName, TableKey)| {
        MovingTable::bare(table.clone(), key.clone()).whole_key()
    };
    let found: BTreeSet<Key> = keyed_tables.iter().filter_map(whole).collect();
    let kind = task.settings.keyed_by.name();
    for key in keys.iter().filter(|key| !found.contains(key)) {
        findings.add_refusal(
            "table.missing",
            format!("shard {}, {kind} {key}", task.source.name),
            format!("the {kind} has no tables there"),
            match task.settings.keyed_by {
                KeyedBy::Group => {
                    format!("list its tables under `groups`, or leave {key} out of the request")
                }
                KeyedBy::Schema | KeyedBy::Column => {
                    format!("create its tables, or leave {key} out of the request")
                }
            },
        );
    }
}

/// Refuses each table that no list of the map contains, and proposes the list that its foreign keys indicate.
fn check_listing(
    all_tables: &BTreeMap<TableName, TableFacts>,
    foreign_keys: &[ForeignKey],
    sharded: &TableKeysByName<'_>,
    task: &SurveyTask,
    findings: &mut Findings,
) {
    if task.again {
        return;
    }
    // A partition moves with the topmost table.
    let tables = all_tables
        .values()
        .filter(|facts| facts.partition_of.is_none());
    let mut tables: Vec<&TableName> = tables.map(|facts| &facts.table).collect();
    tables.retain(|table| !has_listed(task, table));
    if task.settings.keyed_by == KeyedBy::Schema {
        refuse_unmapped_schemas(&tables, task, findings);
        return;
    }
    for table in tables {
        let list = foreign_keys::suggested_list(table, foreign_keys, sharded);
        findings.add_refusal(
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

/// Checks that every row of a dependent table has a parent: the foreign key proves it, or a query checks the rows.
pub(super) async fn check_orphans(
    client: &Connected,
    listed: &ListedTables,
    foreign_keys: &[ForeignKey],
    findings: &mut Findings,
) -> Result<(), StepError> {
    let shard = client.name();
    for table in listed
        .moving
        .iter()
        .filter(|t| !listed.unreadable.contains(&t.table))
    {
        let TableKey::Through(through) = &table.key else {
            continue;
        };
        if has_parent_for_every_row(listed, table, through, foreign_keys) {
            continue;
        }
        let (name, parent) = (table.table.sql(), through.parent.sql());
        let joined = through.joins("p", "t");
        let pairs = through.columns.iter();
        let conditions: Vec<String> = pairs
            .map(|(child_column, _)| format!("t.{} is not null", quote_ident(child_column)))
            .collect();
        let reference_condition = conditions.join(" and ");
        let orphan =
            format!("{reference_condition} and not exists (select from {parent} p where {joined})");
        let row = client
            .query_one(
                &format!(
                    "select count(*) filter (where {orphan}), count(*) filter (where not ({reference_condition})) from only {name} t"
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
                    "{unkeyed} row(s) reference no row of {}: they have no shard key, and do not move",
                    through.parent
                ),
                "nothing, if they may stay on this shard; otherwise give them a parent",
            );
        }
        if orphans > 0 {
            let finding = findings.add_refusal(
                "through.orphan",
                format!("shard {shard}, table {}", table.table),
                format!(
                    "{orphans} row(s) reference rows of {} that do not exist, so they have no shard key",
                    through.parent
                ),
                format!("give them a parent; or, if nothing needs them: delete from {name} t where {orphan}"),
            );
            // If no foreign key exists and only the map states the relation, the map may be wrong. Then no statement is
            // proposed.
            if parent_foreign_keys(table, through, foreign_keys)
                .next()
                .is_some()
            {
                finding.fixed_by(shard, vec![fixes::delete_rows(&table.table, &orphan)]);
            }
        }
    }
    Ok(())
}

/// Returns the foreign keys by which rows of the table depend on their parents.
fn parent_foreign_keys<'a>(
    table: &'a MovingTable,
    through: &'a ThroughTable,
    foreign_keys: &'a [ForeignKey],
) -> impl Iterator<Item = &'a ForeignKey> {
    let wanted: BTreeSet<&(String, String)> = through.columns.iter().collect();
    foreign_keys.iter().filter(move |key| {
        (key.from == table.table || &key.from == table.top())
            && key.to == through.parent
            && key.columns.iter().collect::<BTreeSet<_>>() == wanted
    })
}

/// Returns true if a validated foreign key over NOT NULL columns proves that every row has a parent.
fn has_parent_for_every_row(
    listed: &ListedTables,
    table: &MovingTable,
    through: &ThroughTable,
    foreign_keys: &[ForeignKey],
) -> bool {
    let is_validated = parent_foreign_keys(table, through, foreign_keys).any(|key| key.validated);
    let is_not_null = |child_column: &String| {
        listed
            .not_null_columns
            .contains(&(table.table.clone(), child_column.clone()))
    };
    is_validated
        && through
            .columns
            .iter()
            .all(|(child_column, _)| is_not_null(child_column))
}
