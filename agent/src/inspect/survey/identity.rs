//! What identifies the rows of a table: the primary key, the index that is its replica identity, or the whole row.
//!
//! A table that lacks an identity is offered a unique index that fits, by the statement that makes it one.

use plans::fix::FixStatement;
use plans::request::Mode;
use plans::sql::quote_ident;
use plans::table::{KeyColumn, TableName};

use super::super::fixes;
use super::table::TableCheck;
use crate::inspect::findings::Findings;
use crate::postgres::definitions::UniqueIndex;

/// What gives the rows of a table an identity, and the statements where these are all that is needed.
struct IdentityRemedy {
    text: String,
    statements: Vec<FixStatement>,
}

/// How the rows of a table are tied to the shard key, as far as their identity goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyTie<'a> {
    /// These columns hold the key.
    By(&'a [KeyColumn]),
    /// They belong to rows of another table.
    Through,
    /// Every shard has the same rows.
    Reference,
}

impl KeyTie<'_> {
    fn key(&self) -> Vec<&str> {
        match self {
            Self::By(columns) => columns.iter().map(|column| column.name.as_str()).collect(),
            Self::Through | Self::Reference => Vec::new(),
        }
    }
}

impl TableCheck<'_> {
    /// Rows that can be told apart, by columns that hold the key.
    pub(super) fn identity(&self, tied: KeyTie<'_>, findings: &mut Findings) {
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
            (true, false) => self.no_identity(tied, findings),
            // Nothing is captured and nothing published: a row need only be found.
            (false, _) if self.mode == Mode::Offline => {}
            (false, false) if self.facts.replica_identity == 'n' => {
                self.no_identity(tied, findings);
            }
            (false, false) if !outside.is_empty() => self.key_outside(tied, &outside, findings),
            (false, true | false) => {}
        }
    }

    /// Its replica identity is the full row, and there is nothing else to find one by.
    fn whole_row(&self, tied: KeyTie<'_>, findings: &mut Findings) {
        let remedy = self.remedy(tied);
        let (code, problem) = match tied {
            KeyTie::By(_) | KeyTie::Through => (
                "table.whole_row",
                "it has no primary key, so each changed row is searched for by all of its columns",
            ),
            KeyTie::Reference => (
                "table.primary_key",
                "it has no primary key; its rows could not be compared between shards",
            ),
        };
        self.report(findings, code, problem, remedy);
    }

    fn no_identity(&self, tied: KeyTie<'_>, findings: &mut Findings) {
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
        self.report(findings, code, problem, self.remedy(tied));
    }

    fn key_outside(&self, tied: KeyTie<'_>, outside: &[&str], findings: &mut Findings) {
        let identity = match self.facts.replica_identity {
            'i' => "index that is its replica identity",
            _ => "primary key",
        };
        let problem = format!(
            "the key column {} is not part of the {identity}, so the application's own updates would fail once published",
            outside.join(", ")
        );
        self.report(findings, "key.identity", problem, self.remedy(tied));
    }

    fn report(
        &self,
        findings: &mut Findings,
        code: &str,
        problem: impl Into<String>,
        remedy: IdentityRemedy,
    ) {
        let finding = findings.add(code, self.object.clone(), problem, remedy.text);
        if !remedy.statements.is_empty() {
            finding.fixed_by(self.shard, remedy.statements);
        }
    }

    /// What gives rows an identity with the key's columns in it, and the statements, where these are all that is needed.
    fn remedy(&self, tied: KeyTie<'_>) -> IdentityRemedy {
        let (facts, key) = (self.facts, tied.key());
        let table = &facts.table;
        let holds = |columns: &[String]| key.iter().all(|name| columns.iter().any(|c| c == name));
        let primary = &facts.primary_key;
        let has_primary = !primary.is_empty() && !facts.deferrable_key;
        if has_primary && facts.replica_identity != 'd' && holds(primary) {
            return by(fixes::identify_by_default(table));
        }
        // Whether the application writes nulls into other columns is not ours to say.
        let given = |index: &&UniqueIndex| index.nullable.iter().all(|name| key.contains(&&**name));
        let fitting: Vec<&UniqueIndex> = self.unique.iter().filter(|i| holds(&i.columns)).collect();
        if let Some(index) = fitting.iter().copied().find(given) {
            return with_index(table, &key, index);
        }
        if has_primary {
            let rest = primary.iter().map(String::as_str);
            let rest = rest.filter(|column| !key.contains(column));
            let columns: Vec<&str> = key.iter().copied().chain(rest).collect();
            let nullable = columns.iter().filter(|name| self.is_nullable(name));
            let nullable: Vec<&str> = nullable.copied().collect();
            let (text, statements) = fixes::identify_by_new_index(table, &columns);
            let remedy = IdentityRemedy { text, statements };
            return after_columns(table, &key, &nullable, remedy);
        }
        let columns = match (primary.is_empty(), key.is_empty()) {
            (true, true) => "...".to_owned(),
            (true, false) => format!("{}, ...", key.join(", ")),
            (false, _) => primary.join(", "),
        };
        let by_index = match (fitting.first(), facts.deferrable_key) {
            (Some(index), _) => with_index(table, &key, index).text,
            (None, true) => format!("make the primary key ({columns}) not deferrable"),
            (None, false) => format!("alter table {} add primary key ({columns})", table.sql()),
        };
        if facts.replica_identity == 'f' || matches!(tied, KeyTie::Reference) {
            return IdentityRemedy {
                text: by_index,
                statements: Vec::new(),
            };
        }
        let whole = by(fixes::identify_by_row(table));
        let text = format!(
            "{by_index}; or, with which each change is searched for by the whole row: {}",
            whole.text
        );
        IdentityRemedy { text, ..whole }
    }

    fn is_nullable(&self, column: &str) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|found| found.column.name == column && !found.not_null)
    }
}

fn with_index(table: &TableName, key: &[&str], index: &UniqueIndex) -> IdentityRemedy {
    let nullable: Vec<&str> = index.nullable.iter().map(String::as_str).collect();
    let identify = fixes::identify_by(table, &index.name);
    let remedy = IdentityRemedy {
        text: identify.sql.clone(),
        statements: vec![identify],
    };
    after_columns(table, key, &nullable, remedy)
}

/// Statements, after those by which some columns are never null, with the short form of all of them. That a column of the
/// key may be null is reported by itself.
fn after_columns(
    table: &TableName,
    key: &[&str],
    nullable: &[&str],
    remedy: IdentityRemedy,
) -> IdentityRemedy {
    let others = nullable.iter().filter(|column| !key.contains(column));
    let given = others.map(|column| {
        let (table, column) = (table.sql(), quote_ident(column));
        format!("alter table {table} alter column {column} set not null; ")
    });
    let text = given
        .chain([remedy.text.trim_end_matches(';').to_owned()])
        .collect();
    let given = nullable.iter().map(|column| fixes::not_null(table, column));
    IdentityRemedy {
        text,
        statements: given.chain(remedy.statements).collect(),
    }
}

/// The statement itself.
fn by(statement: FixStatement) -> IdentityRemedy {
    let sql = statement.sql.trim_end_matches(';').to_owned();
    IdentityRemedy {
        text: sql,
        statements: vec![statement],
    }
}
