//! What identifies the rows of a table: the primary key, the index that is its replica identity, or the whole row.
//!
//! A table that lacks an identity is offered a unique index that fits, by the statement that makes it one.

use plans::request::Mode;
use plans::table::{KeyColumn, quote_ident};

use super::Findings;
use super::table::Check;
use crate::pg::definitions::UniqueIndex;

/// How the rows of a table are tied to the shard key, as far as their identity goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tied<'a> {
    /// These columns hold the key.
    By(&'a [KeyColumn]),
    /// They belong to rows of another table.
    Through,
    /// Every shard has the same rows.
    Reference,
}

impl Tied<'_> {
    fn key(&self) -> Vec<&str> {
        match self {
            Self::By(columns) => columns.iter().map(|column| column.name.as_str()).collect(),
            Self::Through | Self::Reference => Vec::new(),
        }
    }
}

impl Check<'_> {
    /// Rows that can be told apart, by columns that hold the key.
    pub(super) fn identity(&self, tied: Tied<'_>, findings: &mut Findings) {
        // A foreign table can have none, and is refused as such.
        if self.facts.kind == 'f' {
            return;
        }
        let key = tied.key();
        let full = self.facts.replica_identity == 'f';
        let found = &self.facts.unique_by;
        let outside: Vec<&str> = key
            .iter()
            .copied()
            .filter(|name| self.columns.iter().any(|c| c.column.name == *name))
            .filter(|name| !found.iter().any(|column| column == name))
            .collect();
        match (found.is_empty(), full) {
            (true, true) => self.whole_row(tied, findings),
            (true, false) => self.no_identity(&key, findings),
            // Nothing is captured and nothing published: a row need only be found.
            (false, _) if self.mode == Mode::Offline => {}
            (false, false) if self.facts.replica_identity == 'n' => {
                self.no_identity(&key, findings);
            }
            (false, false) if !outside.is_empty() => self.key_outside(&key, &outside, findings),
            (false, true | false) => {}
        }
    }

    /// Its replica identity is the full row, and there is nothing else to find one by.
    fn whole_row(&self, tied: Tied<'_>, findings: &mut Findings) {
        let remedy = self.remedy(&tied.key());
        match tied {
            Tied::By(_) | Tied::Through => findings.add(
                "table.whole_row",
                self.object.clone(),
                "it has no primary key, so each changed row is looked for by all of its columns",
                remedy,
            ),
            Tied::Reference => self.refuse(
                findings,
                "table.primary_key",
                "it has no primary key; its rows could not be compared between shards",
                remedy,
            ),
        }
    }

    fn no_identity(&self, key: &[&str], findings: &mut Findings) {
        let facts = self.facts;
        let (code, problem) = match facts.replica_identity {
            'n' => (
                "table.identity",
                "its replica identity is nothing; once published, the application's own updates and deletes fail",
            ),
            'i' => (
                "table.identity",
                "its replica identity is an index that is gone; once published, the application's own updates and deletes fail",
            ),
            _ if facts.deferrable_key => (
                "table.deferrable",
                "its primary key is deferrable and cannot identify rows",
            ),
            _ => (
                "table.primary_key",
                "it has no primary key; its rows could not be told apart",
            ),
        };
        self.refuse(findings, code, problem, self.remedy(key));
    }

    fn key_outside(&self, key: &[&str], outside: &[&str], findings: &mut Findings) {
        let identity = match self.facts.replica_identity {
            'i' => "index that is its replica identity",
            _ => "primary key",
        };
        self.refuse(
            findings,
            "key.identity",
            format!(
                "the key column {} is not part of the {identity}, so the application's own updates would fail once published",
                outside.join(", ")
            ),
            self.remedy(key),
        );
    }

    /// The statement that gives rows an identity with the key's columns in it.
    fn remedy(&self, key: &[&str]) -> String {
        let facts = self.facts;
        let table = facts.table.sql();
        let holds = |columns: &[String]| key.iter().all(|name| columns.iter().any(|c| c == name));
        let primary = &facts.primary_key;
        if facts.replica_identity != 'd'
            && !facts.deferrable_key
            && !primary.is_empty()
            && holds(primary)
        {
            return format!("alter table {table} replica identity default");
        }
        if let Some(index) = self.unique.iter().find(|index| holds(&index.columns)) {
            return with_index(&table, index);
        }
        let rest = primary.iter().map(String::as_str);
        let rest: Vec<&str> = rest.filter(|column| !key.contains(column)).collect();
        let full =
            format!("or alter table {table} replica identity full, which captures every row whole");
        if primary.is_empty() {
            let columns = if key.is_empty() {
                String::new()
            } else {
                format!("{}, ", key.join(", "))
            };
            return format!("alter table {table} add primary key ({columns}...), {full}");
        }
        let columns = [key, &rest].concat().join(", ");
        if facts.deferrable_key {
            return format!("make the primary key ({columns}) not deferrable, {full}");
        }
        format!("make the primary key ({columns}), {full}")
    }
}

fn with_index(table: &str, index: &UniqueIndex) -> String {
    let mut sql: String = index
        .nullable
        .iter()
        .map(|column| {
            format!(
                "alter table {table} alter column {} set not null; ",
                quote_ident(column)
            )
        })
        .collect();
    sql.push_str(&format!(
        "alter table {table} replica identity using index {}",
        quote_ident(&index.name)
    ));
    sql
}
