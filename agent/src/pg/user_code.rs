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
use tokio_postgres::Client;

use crate::error::{At, StepError};
pub(crate) use prover::{Prover, SERVER};

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
pub(crate) async fn find(
    client: &Client,
    tables: &[MovingTable],
    shard: &str,
) -> Result<Vec<UserCode>, StepError> {
    let row = client.query_one(FIND, &[&described(tables)]).await;
    Ok(Answer::read(row, shard)?.found)
}

/// Proves, in the caller's transaction, that no untrusted code is beside the tables, and keeps that so until it ends.
///
/// One round trip once the session knows the statement. The transaction reads committed rows; for others, and for sessions
/// that do not write again and again, there is a [`Prover`].
///
/// # Errors
/// `code.untrusted`; what the server says.
pub(crate) async fn prove(
    client: &Connected,
    tables: &[MovingTable],
    shard: &str,
) -> Result<(), StepError> {
    let locked = async { locked(client, tables, shard).await };
    // In this order: what follows a statement that fails only says that the transaction is over.
    try_join(locked, check(client, tables, shard))
        .await
        .map(drop)
}

/// The statement that keeps others from giving tables code until the transaction ends: constraints, triggers, rules,
/// indexes and columns. Readers and writers go on.
pub(crate) fn lock<'a>(tables: impl IntoIterator<Item = &'a MovingTable>) -> String {
    // With partitions.
    let names: Vec<String> = tables.into_iter().map(|table| table.table.sql()).collect();
    format!("lock table {} in row exclusive mode", names.join(", "))
}

/// As [`prove`], for tables that are locked by then.
///
/// # Errors
/// As [`prove`].
pub(crate) async fn check(
    client: &Connected,
    tables: &[MovingTable],
    shard: &str,
) -> Result<(), StepError> {
    let answer = answer(client, &described(tables), shard).await?;
    answer.accept(shard)
}

/// What was proved of tables: only changed definitions are read anew.
#[derive(Debug, Default)]
pub(crate) struct Proved {
    /// By table and columns that are written: the versions of the catalog's rows, where they tell all.
    versions: Mutex<HashMap<String, String>>,
}

impl Proved {
    /// As [`prove`](prove()), for a session that does so again and again.
    ///
    /// # Errors
    /// As [`prove`](prove()).
    pub(crate) async fn prove(
        &self,
        client: &Connected,
        tables: &[MovingTable],
        shard: &str,
    ) -> Result<(), StepError> {
        let locked = locked(client, tables, shard);
        // In this order: what follows a statement that fails only says that the transaction is over.
        try_join(locked, self.look(client, tables, shard))
            .await
            .map(drop)
    }

    /// Proves tables that are locked by then.
    async fn look(
        &self,
        client: &Connected,
        tables: &[MovingTable],
        shard: &str,
    ) -> Result<(), StepError> {
        let now = versions(client, tables, shard).await?;
        let unknown = self.unknown(tables, now);
        if unknown.is_empty() {
            return Ok(());
        }
        // After the versions: what changes in between is read again the next time.
        let described = described(unknown.iter().map(|(table, _)| *table));
        let answer = answer(client, &described, shard).await?;
        let hidden_domains = answer.hidden_domains;
        answer.accept(shard)?;
        if !hidden_domains {
            let proved = unknown
                .into_iter()
                .filter_map(|(table, now)| Some((written(table), now?)));
            self.versions().extend(proved);
        }
        Ok(())
    }

    /// Tables whose versions are not those that were proved.
    fn unknown<'a>(
        &self,
        tables: &'a [MovingTable],
        now: Vec<Option<String>>,
    ) -> Vec<(&'a MovingTable, Option<String>)> {
        let known = self.versions();
        let mut unknown: Vec<_> = tables.iter().zip(now).collect();
        unknown.retain(|(table, now)| now.is_none() || known.get(&written(table)) != now.as_ref());
        unknown
    }

    fn versions(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The table and its columns that are written.
fn written(table: &MovingTable) -> String {
    let columns = table.columns.iter().map(|column| column.name.as_str());
    let names: Vec<&str> = columns.collect();
    format!("{} {names:?}", table.table)
}

/// For each table, a text: while it is equal, nothing that [`FIND`] reads of the table was written. `None` where none tells
/// all.
async fn versions(
    client: &Connected,
    tables: &[MovingTable],
    shard: &str,
) -> Result<Vec<Option<String>>, StepError> {
    let names: Vec<String> = tables.iter().map(|table| table.table.sql()).collect();
    let rows = client.query_prepared(VERSIONS, &[&names]).await;
    let rows = rows.at(format_args!(
        "shard {shard}: reading versions of the tables"
    ))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn locked(client: &Client, tables: &[MovingTable], shard: &str) -> Result<(), StepError> {
    if tables.is_empty() {
        return Ok(());
    }
    let locked = client.batch_execute(&lock(tables)).await;
    locked.at(format_args!(
        "shard {shard}: locking the tables' definitions"
    ))
}

async fn answer(client: &Connected, described: &str, shard: &str) -> Result<Answer, StepError> {
    let rows = client.query_prepared(FIND, &[&described]).await;
    Answer::read(rows.map(|mut rows| rows.remove(0)), shard)
}

/// The statement's parameter.
fn described<'a>(tables: impl IntoIterator<Item = &'a MovingTable>) -> String {
    let tables = tables.into_iter().map(|table| {
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

struct Answer {
    found: Vec<UserCode>,
    /// A domain is part of a column's type.
    hidden_domains: bool,
}

impl Answer {
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

    fn accept(self, shard: &str) -> Result<(), StepError> {
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
