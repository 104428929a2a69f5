//! A session that reads what tables run, for others.

use std::sync::atomic::{AtomicBool, Ordering};

use connect::Connected;
use plans::table::MovingTable;
use tokio_postgres::SimpleQueryMessage;

use super::{ProvedTables, lock_sql};
use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;

/// Says which start of which server a transaction is in: no two have the same moment.
pub(crate) const SERVER: &str = "pg_catalog.pg_postmaster_start_time()::pg_catalog.text";

/// A session that reads what tables run for sessions that have locked them, whose own catalog is as old as their snapshot,
/// or who would have to plan the look first.
///
/// The lock is always of the session that reads or writes the tables: a third session that kept it would wait for our
/// reader, the reader for a session that queues for the lock, and that one for the third: a deadlock that the server does
/// not detect. For the same reason the prover takes no lock on a table.
#[derive(Debug)]
pub(crate) struct CodeProver {
    session: Connected,
    shard: String,
    /// Where the session is.
    server: Option<String>,
    /// Others were on another server: a standby was promoted.
    is_on_other_server: AtomicBool,
    proved: ProvedTables,
}

impl CodeProver {
    /// Opens the session on `shard`.
    ///
    /// # Errors
    /// What the server says.
    pub(crate) async fn open(shard: &Shard) -> Result<Self, StepError> {
        let session = shard.session("code").await?;
        let set = format!("set plan_cache_mode = force_generic_plan; select {SERVER}");
        let server = session.simple_query(&set).await;
        let server = server.at(format_args!("shard {}", shard.name))?;
        Ok(Self {
            session,
            shard: shard.name.clone(),
            server: first_value(&server),
            is_on_other_server: AtomicBool::new(false),
            proved: ProvedTables::default(),
        })
    }

    /// Whether another one is needed: the session has ended, or is not where others are.
    pub(crate) fn must_be_replaced(&self) -> bool {
        self.session.is_closed() || self.is_on_other_server.load(Ordering::Acquire)
    }

    /// As [`prove`](super::prove), in a transaction of `client` whose snapshot may be of any age.
    ///
    /// # Errors
    /// As [`prove`](super::prove); `code.server` where the two sessions are on two servers.
    pub(crate) async fn prove(
        &self,
        client: &Connected,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        self.prove_after(client, "", tables).await
    }

    /// Begins a transaction of `client` and proves the tables in it.
    ///
    /// # Errors
    /// As [`CodeProver::prove`].
    pub(crate) async fn begin(
        &self,
        client: &Connected,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        self.prove_after(client, "begin; ", tables).await
    }

    /// As [`CodeProver::prove`], after some other statement.
    ///
    /// # Errors
    /// As [`CodeProver::prove`].
    pub(crate) async fn prove_after(
        &self,
        client: &Connected,
        before: &str,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        let lock = lock_sql(tables);
        self.check_same_server(client, &format!("{before}{lock}"))
            .await?;
        self.prove_locked(tables).await
    }

    /// Proves that `client`, whose tables are looked at next, is on the same server.
    ///
    /// # Errors
    /// `code.server`; what the server says.
    pub(crate) async fn check_same_server(
        &self,
        client: &Connected,
        before: &str,
    ) -> Result<(), StepError> {
        let what = format!("shard {}: locking the tables' definitions", self.shard);
        let answered = client
            .simple_query(&format!("{before}select {SERVER}"))
            .await;
        self.check_server(first_value(&answered.at(&what)?).as_deref())
    }

    /// As [`CodeProver::check_same_server`], of a transaction that has read [`SERVER`].
    ///
    /// # Errors
    /// `code.server`.
    pub(crate) fn check_server(&self, server: Option<&str>) -> Result<(), StepError> {
        if server == self.server.as_deref() {
            return Ok(());
        }
        self.is_on_other_server.store(true, Ordering::Release);
        Err(StepError::passing(
            "code.server",
            format!(
                "shard {}: the session that looks for code beside the tables is on another server than the one that locks them",
                self.shard
            ),
        ))
    }

    /// As [`prove`](super::prove), for tables that another session, which was met, has locked.
    ///
    /// # Errors
    /// As [`prove`](super::prove).
    pub(crate) async fn prove_locked(&self, tables: &[MovingTable]) -> Result<(), StepError> {
        if tables.is_empty() {
            return Ok(());
        }
        self.proved.prove(&self.session, tables).await
    }
}

/// The first value that a statement returned.
fn first_value(messages: &[SimpleQueryMessage]) -> Option<String> {
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(ToOwned::to_owned),
        SimpleQueryMessage::CommandComplete(_) | _ => None,
    })
}
