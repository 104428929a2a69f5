//! Checks what identifies the rows of a table: the primary key, the index that is its replica identity, or the whole
//! row.
//!
//! For a table without an identity the finding proposes a suitable unique index, with the statement that makes it the
//! replica identity.

use plans::fix::FixStatement;
use plans::request::Mode;
use plans::sql::quote_ident;
use plans::table::{KeyColumn, TableName};

use super::super::fixes;
use super::table::TableCheck;
use crate::inspect::findings::Findings;
use crate::postgres::definitions::UniqueIndex;

/// The remedy that gives the rows of a table an identity: the text, and the statements if they are sufficient.
struct IdentityRemedy {
    text: String,
    statements: Vec<FixStatement>,
}

/// How a table has the shard key.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeySource<'a> {
    /// In these columns.
    Columns(&'a [KeyColumn]),
    /// By the rows of a parent table.
    Through,
    /// Not at all: the table is a reference table.
    Reference,
}

impl KeySource<'_> {
    fn key_columns(&self) -> Vec<&str> {
        match self {
            Self::Columns(columns) => columns.iter().map(|column| column.name.as_str()).collect(),
            Self::Through | Self::Reference => Vec::new(),
        }
    }
}

impl TableCheck<'_> {
    /// Checks that the rows have an identity that contains the key columns.
    pub(super) fn check_identity(&self, key_source: KeySource<'_>, findings: &mut Findings) {
        // A foreign table has no identity; another finding refuses it.
        if self.facts.kind == 'f' {
            return;
        }
        let key = key_source.key_columns();
        let is_full = self.facts.replica_identity == 'f';
        let identity_columns = &self.facts.unique_by;
        let outside_columns: Vec<&str> = key
            .iter()
            .copied()
            .filter(|name| self.columns.iter().any(|c| c.column.name == *name))
            .filter(|name| !identity_columns.iter().any(|column| column == name))
            .collect();
        match (identity_columns.is_empty(), is_full) {
            (true, true) => self.report_whole_row(key_source, findings),
            (true, false) => self.report_no_identity(key_source, findings),
            // An offline move captures and publishes nothing. The agent must only be able to find a row.
            (false, _) if self.mode == Mode::Offline => {}
            (false, false) if self.facts.replica_identity == 'n' => {
                self.report_no_identity(key_source, findings);
            }
            (false, false) if !outside_columns.is_empty() => {
                self.report_key_outside(key_source, &outside_columns, findings)
            }
            (false, true | false) => {}
        }
    }

    /// Reports a table whose replica identity is the full row and that has nothing else to identify a row.
    fn report_whole_row(&self, key_source: KeySource<'_>, findings: &mut Findings) {
        let remedy = self.remedy(key_source);
        let (code, problem) = match key_source {
            KeySource::Columns(_) | KeySource::Through => (
                "table.whole_row",
                "it has no primary key, so each changed row is searched for by all of its columns",
            ),
            KeySource::Reference => (
                "table.primary_key",
                "it has no primary key; its rows could not be compared between shards",
            ),
        };
        self.report(findings, code, problem, remedy);
    }

    fn report_no_identity(&self, key_source: KeySource<'_>, findings: &mut Findings) {
        let facts = self.facts;
        let (code, problem) = match facts.replica_identity {
            'n' => (
                "table.identity",
                "its replica identity is NOTHING; while it is published, the application's updates and deletes fail",
            ),
            'i' => (
                "table.identity",
                "its replica identity is an index that no longer exists; while it is published, the application's updates and deletes fail",
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
        self.report(findings, code, problem, self.remedy(key_source));
    }

    fn report_key_outside(
        &self,
        key_source: KeySource<'_>,
        outside_columns: &[&str],
        findings: &mut Findings,
    ) {
        let identity = match self.facts.replica_identity {
            'i' => "index that is its replica identity",
            _ => "primary key",
        };
        let problem = format!(
            "the key column {} is not part of the {identity}, so the application's updates would fail while the table is published",
            outside_columns.join(", ")
        );
        self.report(findings, "key.identity", problem, self.remedy(key_source));
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

    /// Returns the remedy that gives the rows an identity with the key columns in it.
    fn remedy(&self, key_source: KeySource<'_>) -> IdentityRemedy {
        let (facts, key) = (self.facts, key_source.key_columns());
        let table = &facts.table;
        let has_key = |columns: &[String]| key.iter().all(|name| columns.iter().any(|c| c == name));
        let primary = &facts.primary_key;
        let has_primary = !primary.is_empty() && !facts.deferrable_key;
        if has_primary && facts.replica_identity != 'd' && has_key(primary) {
            return remedy_by(fixes::identify_by_default(table));
        }
        // Shardwright cannot know whether the application writes nulls into other columns.
        let is_usable =
            |index: &&UniqueIndex| index.nullable.iter().all(|name| key.contains(&&**name));
        let candidates: Vec<&UniqueIndex> =
            self.unique.iter().filter(|i| has_key(&i.columns)).collect();
        if let Some(index) = candidates.iter().copied().find(is_usable) {
            return remedy_by_index(table, &key, index);
        }
        if has_primary {
            let rest = primary.iter().map(String::as_str);
            let rest = rest.filter(|column| !key.contains(column));
            let columns: Vec<&str> = key.iter().copied().chain(rest).collect();
            let nullable = columns.iter().filter(|name| self.is_nullable(name));
            let nullable: Vec<&str> = nullable.copied().collect();
            let (text, statements) = fixes::identify_by_new_index(table, &columns);
            let remedy = IdentityRemedy { text, statements };
            return with_not_null_statements(table, &key, &nullable, remedy);
        }
        let columns = match (primary.is_empty(), key.is_empty()) {
            (true, true) => "...".to_owned(),
            (true, false) => format!("{}, ...", key.join(", ")),
            (false, _) => primary.join(", "),
        };
        let by_index = match (candidates.first(), facts.deferrable_key) {
            (Some(index), _) => remedy_by_index(table, &key, index).text,
            (None, true) => format!("make the primary key ({columns}) not deferrable"),
            (None, false) => format!("alter table {} add primary key ({columns})", table.sql()),
        };
        if facts.replica_identity == 'f' || matches!(key_source, KeySource::Reference) {
            return IdentityRemedy {
                text: by_index,
                statements: Vec::new(),
            };
        }
        let by_row = remedy_by(fixes::identify_by_row(table));
        let text = format!(
            "{by_index}; or, with which each change is searched for by the whole row: {}",
            by_row.text
        );
        IdentityRemedy { text, ..by_row }
    }

    fn is_nullable(&self, column: &str) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|found| found.column.name == column && !found.not_null)
    }
}

fn remedy_by_index(table: &TableName, key: &[&str], index: &UniqueIndex) -> IdentityRemedy {
    let nullable: Vec<&str> = index.nullable.iter().map(String::as_str).collect();
    let identify = fixes::identify_by(table, &index.name);
    let remedy = IdentityRemedy {
        text: identify.sql.clone(),
        statements: vec![identify],
    };
    with_not_null_statements(table, key, &nullable, remedy)
}

/// Prepends the statements that set nullable columns NOT NULL, and writes the short form of all statements. The short
/// form omits the key columns, because another finding reports that they are nullable.
fn with_not_null_statements(
    table: &TableName,
    key: &[&str],
    nullable: &[&str],
    remedy: IdentityRemedy,
) -> IdentityRemedy {
    let other_columns = nullable.iter().filter(|column| !key.contains(column));
    let set_not_null = other_columns.map(|column| {
        let (table, column) = (table.sql(), quote_ident(column));
        format!("alter table {table} alter column {column} set not null; ")
    });
    let text = set_not_null
        .chain([remedy.text.trim_end_matches(';').to_owned()])
        .collect();
    let set_not_null = nullable
        .iter()
        .map(|column| fixes::set_not_null(table, column));
    IdentityRemedy {
        text,
        statements: set_not_null.chain(remedy.statements).collect(),
    }
}

/// Returns a remedy that consists of one statement.
fn remedy_by(statement: FixStatement) -> IdentityRemedy {
    let sql = statement.sql.trim_end_matches(';').to_owned();
    IdentityRemedy {
        text: sql,
        statements: vec![statement],
    }
}
