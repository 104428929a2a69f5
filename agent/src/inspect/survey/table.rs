//! Checks one table: it must be an ordinary table, and contain the shard key or depend on a parent table. The survey
//! checks each leaf partition of a partitioned table.

use plans::request::{Mode, Seed};
use plans::sql::quote_ident;
use plans::table::{KeyColumn, TableKey, ThroughTable};

use super::super::fixes;
use super::identity::KeySource;
use crate::inspect::findings::Findings;
use crate::postgres::catalog::{self, TableFacts};
use crate::postgres::definitions::{FoundColumn, UniqueIndex};

/// One table with its definition from the catalog.
pub(super) struct TableCheck<'a> {
    pub(super) shard: &'a str,
    pub(super) object: String,
    pub(super) facts: &'a TableFacts,
    pub(super) columns: &'a [FoundColumn],
    /// The unique indexes that could identify its rows.
    pub(super) unique: &'a [UniqueIndex],
    pub(super) mode: Mode,
    pub(super) seed: Seed,
}

impl TableCheck<'_> {
    pub(super) fn add_refusal(
        &self,
        findings: &mut Findings,
        code: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let _ = findings.add_refusal(code, self.object.clone(), problem, remedy);
    }

    /// Refuses a partition, and a partitioned table without partitions.
    pub(super) fn check_is_listable(&self, empty: bool, findings: &mut Findings) {
        if let Some(top) = &self.facts.partition_of {
            self.add_refusal(
                findings,
                "table.partition",
                format!("it is a partition of {top}"),
                format!("list {top} instead: all of its partitions move"),
            );
        } else if empty {
            self.add_refusal(
                findings,
                "table.no_partition",
                "it is partitioned and has no partition, so there is nothing to guard or to copy",
                "create its partitions before the move, or list it under `ignore`",
            );
        }
    }

    /// Refuses foreign tables, unlogged tables and tables that use inheritance.
    pub(super) fn check_kind(&self, findings: &mut Findings) {
        let facts = self.facts;
        let kinds = [
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
        for (_, code, problem) in kinds.into_iter().filter(|(applies, ..)| *applies) {
            let remedy = match &facts.partition_of {
                None => "list it under `ignore`, or make it an ordinary table".to_owned(),
                Some(top) => format!("detach it from {top}, or make it an ordinary partition"),
            };
            self.add_refusal(findings, code, problem, remedy);
        }
    }

    /// Checks the key columns. Returns true if queries can filter rows by them.
    pub(super) fn check_key_columns(&self, key: &[KeyColumn], findings: &mut Findings) -> bool {
        self.check_identity(KeySource::Columns(key), findings);
        let mut is_readable = true;
        for column in key {
            is_readable &= self.check_key_column(column, findings);
        }
        is_readable
    }

    fn check_key_column(&self, key: &KeyColumn, findings: &mut Findings) -> bool {
        let (name, kind, table) = (&key.name, key.kind, self.facts.table.sql());
        match self.columns.iter().find(|found| &found.column.name == name) {
            None => {
                self.add_refusal(
                    findings,
                    "key.missing",
                    format!("it has no column {name}"),
                    "correct the key column under `tables`",
                );
                false
            }
            Some(found) if !catalog::fits(kind, found) => {
                self.add_refusal(
                    findings,
                    "key.type",
                    format!(
                        "the key column {name} is {}, the map's key is {kind}",
                        found.column.data_type
                    ),
                    format!(
                        "alter table {table} alter column {} type {kind}",
                        quote_ident(name)
                    ),
                );
                false
            }
            Some(found) if !found.not_null => {
                let finding = findings.add_refusal(
                    "key.null",
                    self.object.clone(),
                    format!("the key column {name} may be null; such a row belongs nowhere"),
                    format!(
                        "alter table {table} alter column {} set not null",
                        quote_ident(name)
                    ),
                );
                finding.fixed_by(
                    self.shard,
                    vec![fixes::set_not_null(&self.facts.table, name)],
                );
                true
            }
            Some(_) => true,
        }
    }

    /// Checks the columns that reference the parent. Returns true if queries can join the parent by them.
    pub(super) fn check_parent_columns(
        &self,
        through: &ThroughTable,
        parent: Option<&TableFacts>,
        findings: &mut Findings,
    ) -> bool {
        self.check_identity(KeySource::Through, findings);
        if self.mode == Mode::Online {
            self.check_online_dependence(through, parent, findings);
        }
        let child_columns = through.columns.iter().map(|(child_column, _)| child_column);
        let missing: Vec<&String> = child_columns
            .filter(|child_column| {
                !self
                    .columns
                    .iter()
                    .any(|found| &found.column.name == *child_column)
            })
            .collect();
        for column in &missing {
            self.add_refusal(
                findings,
                "key.missing",
                format!("it has no column {column}"),
                "correct the columns under `through`",
            );
        }
        missing.is_empty()
    }
}

impl TableCheck<'_> {
    /// Refuses a dependent table whose changes cannot be assigned to keys by the parent rows.
    fn check_online_dependence(
        &self,
        through: &ThroughTable,
        parent_facts: Option<&TableFacts>,
        findings: &mut Findings,
    ) {
        let outside_identity = through.columns.iter().find(|(_, theirs)| {
            parent_facts.is_some_and(|parent| !parent.unique_by.contains(theirs))
        });
        let (table, parent) = (&self.facts.table, &through.parent);
        let (problem, remedy) = if let Some(held_columns) = held_key_columns(through) {
            let held_columns = held_columns.join(",");
            (
                format!(
                    "it is listed under `through` with parent {parent}, but its own column {held_columns} contains the key"
                ),
                format!(
                    "list it under `tables` in the place of `through`: {table}: {held_columns}"
                ),
            )
        } else if self.seed == Seed::Standby {
            (
                format!(
                    "its rows belong to rows of {parent}, and a target that is seeded from a standby also has rows of other keys"
                ),
                format!(
                    "add the key column to {table} and list it under `tables`, or move with `seed: copy`"
                ),
            )
        } else if self.facts.unique_by.is_empty() {
            (
                format!(
                    "its rows belong to rows of {parent}, and a captured change does not show which row it concerns, because only the whole row identifies a row"
                ),
                format!("add a primary key to {table}, or move with `mode: offline`"),
            )
        } else if !through.enforced {
            let list = |side: fn(&(String, String)) -> &String| {
                let names = through.columns.iter().map(|pair| quote_ident(side(pair)));
                names.collect::<Vec<_>>().join(", ")
            };
            (
                format!(
                    "its rows belong to rows of {parent}, and no validated foreign key proves by columns of equal types that these exist, so a captured change does not show to which key it belongs"
                ),
                format!(
                    "alter table {} add foreign key ({}) references {} ({}), or validate the one that exists; or add the key column to {table} and list it under `tables`; or move with `mode: offline`",
                    table.sql(),
                    list(|pair| &pair.0),
                    parent.sql(),
                    list(|pair| &pair.1),
                ),
            )
        } else if let Some((_, theirs)) = outside_identity {
            (
                format!(
                    "its rows refer to {parent} by the column {theirs}, which is not part of what identifies a row there, so a captured DELETE does not show it"
                ),
                format!(
                    "let the foreign key refer to the primary key of {parent}, or make an index with {theirs} the replica identity of {parent}; or move with `mode: offline`"
                ),
            )
        } else {
            return;
        };
        self.add_refusal(findings, "through.online", problem, remedy);
    }
}

/// Returns the columns of the table that contain the shard key, if the table references the key columns of its parent.
fn held_key_columns(through: &ThroughTable) -> Option<Vec<&str>> {
    let TableKey::Columns(key) = &through.key else {
        return None;
    };
    let held_columns = key.iter().map(|column| {
        let mut columns = through.columns.iter();
        let (child_column, _) = columns.find(|(_, parent_column)| parent_column == &column.name)?;
        Some(child_column.as_str())
    });
    held_columns.collect()
}
