//! Ensures that no code of a table's owner runs with the privileges of the agents' role (ADR 49).
//!
//! A check, a domain, a generated column, an index or a cast runs with the privileges of the role that writes a row, or
//! only plans to read one. Code that runs in a session of the agent can revert every `set role` of the session. The
//! agent therefore uses no table for which PostgreSQL would run code of an untrusted role. Each transaction locks the
//! table against a change of its definition, and then checks that there is no such code.

mod prover;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use connect::Connected;
use futures::future::try_join;
use plans::failure::StepCode;
use plans::table::{MovingTable, TableName};
use serde::Deserialize;

use crate::error::{StepError, WithIntent};
pub(crate) use prover::{CodeProver, SERVER};

/// The query for untrusted code; the file explains it.
const FIND: &str = include_str!("user_code.sql");
/// The query for the versions of the catalog's rows; the file explains it.
const VERSIONS: &str = include_str!("user_code_versions.sql");

/// Code of a table that an untrusted role owns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct UserCode {
    #[serde(flatten)]
    pub(crate) table: TableName,
    /// The object with the code, for people: `check constraint c`.
    pub(crate) place: String,
    /// True for a trigger or a rule, false for an expression.
    pub(crate) fires: bool,
    /// What the code runs.
    pub(crate) problem: String,
    pub(crate) remedy: String,
}

/// Returns the untrusted code of the tables, in the order of their names.
///
/// The result may be outdated at once, unless the tables are locked ([`lock_sql`]).
pub(crate) async fn find_untrusted(
    client: &Connected,
    tables: &[MovingTable],
) -> Result<Vec<UserCode>, StepError> {
    let shard = client.name();
    let row = client.query_one(FIND, &[&tables_json(tables)]).await;
    Ok(CodeAnswer::read(row, shard)?.found)
}

/// Locks the tables in the caller's transaction, and checks that they have no untrusted code. The lock keeps this true
/// until the transaction ends.
///
/// It takes one round trip once the session has prepared the statement. The transaction must read committed rows. For
/// other transactions, and for sessions that do not write repeatedly, use a [`CodeProver`].
///
/// # Errors
/// `code.untrusted`; an error of the server.
pub(crate) async fn prove(client: &Connected, tables: &[MovingTable]) -> Result<(), StepError> {
    let locked = async { lock_tables(client, tables).await };
    // The lock comes first: if it fails, the error of the statement after it would only be that the transaction has
    // ended.
    try_join(locked, check(client, tables)).await.map(drop)
}

/// Returns the statement that prevents other sessions from adding code to the tables until the transaction ends:
/// constraints, triggers, rules, indexes and columns. Readers and writers can continue. Empty if there is no table.
pub(crate) fn lock_sql<'a>(tables: impl IntoIterator<Item = &'a MovingTable>) -> String {
    lock_sql_in("row exclusive", tables)
}

/// As [`lock_sql`], in the mode in which foreign keys are added. It also excludes writers.
pub(crate) fn lock_sql_for_foreign_keys<'a>(
    tables: impl IntoIterator<Item = &'a MovingTable>,
) -> String {
    lock_sql_in("share row exclusive", tables)
}

fn lock_sql_in<'a>(mode: &str, tables: impl IntoIterator<Item = &'a MovingTable>) -> String {
    // LOCK TABLE includes the partitions.
    let names: Vec<String> = tables.into_iter().map(|table| table.table.sql()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("lock table {} in {mode} mode;", names.join(", ")),
    }
}

/// As [`prove`], for tables that are locked already.
///
/// # Errors
/// As [`prove`].
pub(crate) async fn check(client: &Connected, tables: &[MovingTable]) -> Result<(), StepError> {
    let shard = client.name();
    query_code(client, tables).await?.require_none(shard)
}

/// The tables that were proved. Only changed definitions are read again.
#[derive(Debug, Default)]
pub(crate) struct ProvedTables {
    /// Versions of the catalog's rows, by tables and written columns, if the versions show every change.
    versions: Mutex<HashMap<String, String>>,
}

impl ProvedTables {
    /// As [`prove`](prove()), for a session that repeats it. The tables must be locked already ([`lock_sql`]).
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
        // The definitions are read after the versions: a change between the two is found the next time.
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

/// Returns the tables and their written columns as text.
fn tables_and_columns(tables: &[MovingTable]) -> String {
    let mut text = String::new();
    for table in tables {
        text.push_str(&table.table.sql());
        let columns = table.columns.iter();
        columns.for_each(|column| text.extend(["\0", column.name.as_str()]));
    }
    text
}

/// Returns a text that stays equal as long as nothing changes that [`FIND`] reads of the tables, or `None` if no text
/// shows every change.
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

/// Locks the definitions of the tables.
async fn lock_tables(client: &Connected, tables: &[MovingTable]) -> Result<(), StepError> {
    let shard = client.name();
    let locked = client.batch_execute(&lock_sql(tables)).await;
    locked.at(format_args!(
        "shard {shard}: locking the tables' definitions"
    ))
}

/// Queries the untrusted code of the tables.
async fn query_code(client: &Connected, tables: &[MovingTable]) -> Result<CodeAnswer, StepError> {
    let shard = client.name();
    let rows = client.query_prepared(FIND, &[&tables_json(tables)]).await;
    CodeAnswer::read(rows.map(|mut rows| rows.remove(0)), shard)
}

/// Returns the parameter of the statement.
fn tables_json(tables: &[MovingTable]) -> String {
    let tables = tables.iter().map(|table| {
        // Without a list of columns, the query assumes nothing about the columns that a write leaves out.
        let columns: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
        serde_json::json!({
            "schema": table.table.schema,
            "name": table.table.name,
            "columns": (!columns.is_empty()).then_some(columns),
        })
    });
    serde_json::Value::Array(tables.collect()).to_string()
}

/// The answer of the query for untrusted code.
struct CodeAnswer {
    found: Vec<UserCode>,
    /// True if a domain is part of a column's type.
    hidden_domains: bool,
}

impl CodeAnswer {
    fn read(
        row: Result<tokio_postgres::Row, tokio_postgres::Error>,
        shard: &str,
    ) -> Result<Self, StepError> {
        let what = format!("shard {shard}: searching for code of the tables");
        let row = row.at(&what)?;
        let found = serde_json::from_str(row.get(0)).map_err(|error| {
            StepError::listed(StepCode::CodeUnreadable, format!("{what}: {error}"))
        })?;
        Ok(Self {
            found,
            hidden_domains: row.get(1),
        })
    }

    /// Fails if the answer contains untrusted code.
    fn require_none(self, shard: &str) -> Result<(), StepError> {
        match self.found.first() {
            None => Ok(()),
            Some(first) => Err(StepError::refused(
                StepCode::CodeUntrusted,
                format!(
                    "shard {shard}, {} of table {}: {}",
                    first.place, first.table, first.problem
                ),
                first.remedy.as_str(),
            )),
        }
    }
}
