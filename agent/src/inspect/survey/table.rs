//! What one table must be: ordinary, with the key in the primary key, or tied to a parent.

use plans::request::Mode;
use plans::table::{KeyColumn, Through};

use super::Findings;
use crate::pg::catalog::{self, Found, FoundColumn};

/// One table with what its catalog says.
pub(super) struct Check<'a> {
    pub(super) object: String,
    pub(super) facts: &'a Found,
    pub(super) columns: &'a [FoundColumn],
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

    /// An ordinary table whose rows are identified.
    pub(super) fn kind(&self, findings: &mut Findings) {
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

    /// A primary key; `columns` are proposed for one.
    pub(super) fn primary_key(&self, columns: &str, findings: &mut Findings) {
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
    pub(super) fn key(&self, key: &[KeyColumn], findings: &mut Findings) -> bool {
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
    pub(super) fn through(&self, through: &Through, mode: Mode, findings: &mut Findings) -> bool {
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
