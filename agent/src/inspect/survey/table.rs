//! What one table must be: ordinary, with the key in it, or tied to a parent.
//! Of a partitioned table each leaf is looked at.

use plans::request::Mode;
use plans::sql::quote_ident;
use plans::table::{KeyColumn, TableKey, ThroughTable};

use super::super::fixes;
use super::identity::KeyTie;
use crate::inspect::findings::Findings;
use crate::postgres::catalog::{self, TableFacts};
use crate::postgres::definitions::{FoundColumn, UniqueIndex};

/// One table with what its catalog says.
pub(super) struct TableCheck<'a> {
    pub(super) shard: &'a str,
    pub(super) object: String,
    pub(super) facts: &'a TableFacts,
    pub(super) columns: &'a [FoundColumn],
    /// Unique indexes that could identify its rows.
    pub(super) unique: &'a [UniqueIndex],
    pub(super) mode: Mode,
}

impl TableCheck<'_> {
    pub(super) fn refuse(
        &self,
        findings: &mut Findings,
        code: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let _ = findings.refuse(code, self.object.clone(), problem, remedy);
    }

    /// A table that can be listed: no partition, and not without partitions.
    pub(super) fn place(&self, empty: bool, findings: &mut Findings) {
        if let Some(top) = &self.facts.partition_of {
            self.refuse(
                findings,
                "table.partition",
                format!("it is a partition of {top}"),
                format!("list {top} instead: all of its partitions move"),
            );
        } else if empty {
            self.refuse(
                findings,
                "table.no_partition",
                "it is partitioned and has no partition, so there is nothing to guard and to copy",
                "create its partitions before the move, or list it under `ignore`",
            );
        }
    }

    /// An ordinary table whose rows are identified.
    pub(super) fn kind(&self, findings: &mut Findings) {
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
        for (_, code, problem) in kinds.into_iter().filter(|(is, ..)| *is) {
            let remedy = match &facts.partition_of {
                None => "list it under `ignore`, or make it an ordinary table".to_owned(),
                Some(top) => format!("detach it from {top}, or make it an ordinary partition"),
            };
            self.refuse(findings, code, problem, remedy);
        }
    }

    /// The key's columns; true when rows can be asked for by them.
    pub(super) fn key(&self, key: &[KeyColumn], findings: &mut Findings) -> bool {
        self.identity(KeyTie::By(key), findings);
        let mut fit = true;
        for column in key {
            fit &= self.key_column(column, findings);
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
                    format!(
                        "alter table {table} alter column {} type {kind}",
                        quote_ident(name)
                    ),
                );
                false
            }
            Some(found) if !found.not_null => {
                let finding = findings.refuse(
                    "key.null",
                    self.object.clone(),
                    format!("the key column {name} may be null; such a row belongs nowhere"),
                    format!(
                        "alter table {table} alter column {} set not null",
                        quote_ident(name)
                    ),
                );
                finding.fixed_by(self.shard, vec![fixes::not_null(&self.facts.table, name)]);
                true
            }
            Some(_) => true,
        }
    }

    /// The columns that tie a row to its parent; true when rows can be asked for by them.
    pub(super) fn through(
        &self,
        through: &ThroughTable,
        mode: Mode,
        findings: &mut Findings,
    ) -> bool {
        self.identity(KeyTie::Through, findings);
        if let (Mode::Online, Some(held)) = (mode, held_key(through)) {
            let (table, held) = (&self.facts.table, held.join(","));
            self.refuse(
                findings,
                "through.online",
                format!("it is listed as belonging to {}, and so its changes cannot be captured by key; but its own {held} is the key", through.parent),
                format!("list it under `tables` in the place of `through`: {table}: {held}"),
            );
        } else if mode == Mode::Online {
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

/// The own columns that hold the key, where a row refers to its parent by the parent's key.
fn held_key(through: &ThroughTable) -> Option<Vec<&str>> {
    let TableKey::Columns(key) = &through.key else {
        return None;
    };
    let held = key.iter().map(|column| {
        let mut columns = through.columns.iter();
        let (own, _) = columns.find(|(_, theirs)| theirs == &column.name)?;
        Some(own.as_str())
    });
    held.collect()
}
