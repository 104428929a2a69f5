//! No code of a table's owner runs with the privileges of the agents' role (ADR 49).
//!
//! A check, a domain, a generated column, an index or a cast runs with the rights of whoever writes a row, or only plans
//! to read one, and code that runs in a session of ours can take back every `set role` of ours. So nothing is done with a
//! table beside which PostgreSQL would run code of somebody who is not trusted: each transaction locks the table
//! against a change of its definition, and then proves that there is none.

mod prover;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use connect::Connected;
use futures::future::try_join;
use plans::table::{MovingTable, TableName};
use serde::Deserialize;

use crate::error::{StepError, WithIntent};
pub(crate) use prover::{CodeProver, SERVER};

/// See the file.
const FIND: &str = include_str!("user_code.sql");
/// See the file.
const VERSIONS: &str = include_str!("user_code_versions.sql");

/// Code beside a table that is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct UserCode {
    #[serde(flatten)]
    pub(crate) table: TableName,
    /// Where it stands, for people: `check constraint c`.
    pub(crate) place: String,
    /// It is a trigger or a rule, not an expression.
    pub(crate) fires: bool,
    /// What it runs.
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

/// Untrusted code beside tables, in their order by name.
///
/// What is found may be different at the next moment, unless the tables are locked ([`lock`]).
pub(crate) async fn find_untrusted(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<UserCode>, StepError> {
    let shard = client.name();
    let row = client.query_one(FIND, &[&tables_json(tables)]).await;
    Ok(CodeAnswer::read(row, shard)?.found)
}

/// Proves, in the caller's transaction, that no untrusted code is beside the tables, and keeps that so until it ends.
///
/// One round trip once the session knows the statement. The transaction reads committed rows; for others, and for sessions
/// that do not write again and again, there is a [`CodeProver`].
///
/// # Errors
/// `code.untrusted`; what the server says.
pub(crate) async fn prove(client: &Connected, tables: &[MovingTable]) -> Result<(), StepError> {
    let locked = async { lock_tables(client, tables).await };
    // In this order: what follows a statement that fails only says that the transaction is over.
    try_join(locked, check(client, tables)).await.map(drop)
}

/// The statement that keeps others from giving tables code until the transaction ends: constraints, triggers, rules,
/// indexes and columns. Readers and writers go on. Empty where there is no table.
pub(crate) fn lock_sql<'a>(tables: impl IntoIterator<Item = &'a MovingTable>) -> String {
    lock_sql_in("row exclusive", tables)
}

/// As [`lock`], in the mode in which foreign keys are added, and which keeps writers out.
pub(crate) fn lock_sql_for_foreign_keys<'a>(
    tables: impl IntoIterator<Item = &'a MovingTable>,
) -> String {
    lock_sql_in("share row exclusive", tables)
}

fn lock_sql_in<'a>(mode: &str, tables: impl IntoIterator<Item = &'a MovingTable>) -> String {
    // With partitions.
    let names: Vec<String> = tables.into_iter().map(|table| table.table.sql()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("lock table {} in {mode} mode;", names.join(", ")),
    }
}

/// As [`prove`], for tables that are locked by then.
///
/// # Errors
/// As [`prove`].
pub(crate) async fn check(client: &Connected, tables: &[MovingTable]) -> Result<(), StepError> {
    let shard = client.name();
    query_code(client, tables).await?.require_none(shard)
}

/// What was proved of tables: only changed definitions are read anew.
#[derive(Debug, Default)]
pub(crate) struct ProvedTables {
    /// By tables and their columns that are written: the versions of the catalog's rows, where they tell all.
    versions: Mutex<HashMap<String, String>>,
}

impl ProvedTables {
    /// As [`prove`](prove()), for a session that does so again and again; the tables are locked by then ([`lock`]).
    ///
    /// # Errors
    /// As [`prove`](prove()).
    pub(crate) async fn prove(
        &self,
        client: &Connected,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        let shard = client.name();
        let list = tables_and_columns(tables);
        let now = read_versions(client, tables).await?;
        if now.is_some() && self.versions().get(&list) == now.as_ref() {
            return Ok(());
        }
        // After the versions: what changes in between is read again the next time.
        let answer = query_code(client, tables).await?;
        let remembered = now.filter(|_| !answer.hidden_domains);
        answer.require_none(shard)?;
        if let Some(versions) = remembered {
            self.versions().insert(list, versions);
        }
        Ok(())
    }

    fn versions(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tables and their columns that are written.
fn tables_and_columns(tables: &[MovingTable]) -> String {
    let mut text = String::new();
    for table in tables {
        text.push_str(&table.table.sql());
        let columns = table.columns.iter();
        columns.for_each(|column| text.extend(["\0", column.name.as_str()]));
    }
    text
}

/// While it is equal, nothing was written that [`FIND`] reads of the tables. `None` where no text tells all.
async fn read_versions(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Option<String>, StepError> {
    let shard = client.name();
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let names = serde_json::json!(names).to_string();
    let rows = client.query_prepared(VERSIONS, &[&names]).await;
    let rows = rows.at(format_args!(
        "shard {shard}: reading versions of the tables"
    ))?;
    Ok(rows[0].get(0))
}

async fn lock_tables(client: &Connected, tables: &[MovingTable]) -> Result<(), StepError> {
    let shard = client.name();
    let locked = client.batch_execute(&lock_sql(tables)).await;
    locked.at(format_args!(
        "shard {shard}: locking the tables' definitions"
    ))
}

async fn query_code(client: &Connected, tables: &[MovingTable]) -> Result<CodeAnswer, StepError> {
    let shard = client.name();
    let rows = client.query_prepared(FIND, &[&tables_json(tables)]).await;
    CodeAnswer::read(rows.map(|mut rows| rows.remove(0)), shard)
}

/// The statement's parameter.
fn tables_json(tables: &[MovingTable]) -> String {
    let tables = tables.iter().map(|table| {
        // Without its columns nothing is known of those that are left out.
        let columns: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
        serde_json::json!({
            "schema": table.table.schema,
            "name": table.table.name,
            "columns": (!columns.is_empty()).then_some(columns),
        })
    });
    serde_json::Value::Array(tables.collect()).to_string()
}

struct CodeAnswer {
    found: Vec<UserCode>,
    /// A domain is part of a column's type.
    hidden_domains: bool,
}

impl CodeAnswer {
    fn read(
        row: Result<tokio_postgres::Row, tokio_postgres::Error>,
        shard: &str,
    ) -> Result<Self, StepError> {
        let what = format!("shard {shard}: looking for code beside the tables");
        let row = row.at(&what)?;
        let found = serde_json::from_str(row.get(0)).map_err(|error| {
            StepError::refused("code.unreadable", format!("{what}: {error}"), "report this")
        })?;
        Ok(Self {
            found,
            hidden_domains: row.get(1),
        })
    }

    fn require_none(self, shard: &str) -> Result<(), StepError> {
        match self.found.first() {
            None => Ok(()),
            Some(first) => Err(StepError::refused(
                "code.untrusted",
                format!(
                    "shard {shard}, {} of table {}: {}",
                    first.place, first.table, first.problem
                ),
                first.remedy.as_str(),
            )),
        }
    }
}
