//! A session that checks, for other sessions, which code tables run.

use std::sync::atomic::{AtomicBool, Ordering};

use connect::Connected;
use plans::failure::StepCode;
use plans::table::MovingTable;
use tokio_postgres::SimpleQueryMessage;

use super::{ProvedTables, lock_sql};
use crate::error::{StepError, WithIntent};
use crate::shard::database::Shard;
use crate::shard::give_way;

/// SQL that identifies a start of a server: no two starts have the same time.
pub(crate) const SERVER: &str = "pg_catalog.pg_postmaster_start_time()::pg_catalog.text";

/// A session that checks which code tables run. Other sessions use it if their snapshot is old, so that their view of
/// the catalog is too, or if they would have to plan the query first.
///
/// The session that reads or writes the tables always holds the lock on them. If a third session held it, three
/// sessions could wait for each other: the third for the reader, the reader for a session that queues for the lock, and
/// that session for the third. The server does not detect this deadlock. For the same reason the prover takes no lock
/// on a table.
#[derive(Debug)]
pub(crate) struct CodeProver {
    session: Connected,
    shard: String,
    /// The server of the session.
    server: Option<String>,
    /// True if another session was on another server, because a standby was promoted.
    is_on_other_server: AtomicBool,
    proved: ProvedTables,
}

impl CodeProver {
    /// Opens the session on `shard`.
    ///
    /// # Errors
    /// An error of the server.
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

    /// Returns whether a new prover is necessary: its session has ended, or is on another server than the sessions that
    /// it checks for.
    pub(crate) fn must_be_replaced(&self) -> bool {
        self.session.is_closed() || self.is_on_other_server.load(Ordering::Acquire)
    }

    /// As [`prove`](super::prove), in a transaction of `client` with a snapshot of any age.
    ///
    /// # Errors
    /// As [`prove`](super::prove); `code.server` if the two sessions are on different servers.
    pub(crate) async fn prove(
        &self,
        client: &Connected,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        self.prove_after(client, "", tables).await
    }

    /// Begins a transaction of `client` and proves the tables in it. It gives way to sessions of the application that
    /// lock the same tables.
    ///
    /// # Errors
    /// As [`CodeProver::prove`].
    pub(crate) async fn begin(
        &self,
        client: &Connected,
        tables: &[MovingTable],
    ) -> Result<(), StepError> {
        if tables.len() < 2 {
            return self.prove_after(client, "begin; ", tables).await;
        }
        let what = format!("shard {}: locking the tables' definitions", self.shard);
        let locked = give_way::begin_locked(client, &lock_sql(tables)).await;
        locked.at(&what)?;
        self.check_same_server(client, "").await?;
        self.prove_locked(tables).await
    }

    /// As [`CodeProver::prove`], in one round trip with the statements `before`.
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

    /// Checks that `client` is on the server of the prover, in one round trip with the statements `before`. The caller
    /// then proves the tables of `client`.
    ///
    /// # Errors
    /// `code.server`; an error of the server.
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

    /// As [`CodeProver::check_same_server`], for a transaction that has read [`SERVER`] itself.
    ///
    /// # Errors
    /// `code.server`.
    pub(crate) fn check_server(&self, server: Option<&str>) -> Result<(), StepError> {
        if server == self.server.as_deref() {
            return Ok(());
        }
        self.is_on_other_server.store(true, Ordering::Release);
        Err(StepError::passing(
            StepCode::CodeServer,
            format!(
                "shard {}: the session that checks the code of the tables is on another server than the session that locks them",
                self.shard
            ),
        ))
    }

    /// As [`prove`](super::prove), for tables that another session on the same server has locked.
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

/// Returns the first value that a statement returned.
fn first_value(messages: &[SimpleQueryMessage]) -> Option<String> {
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(ToOwned::to_owned),
        SimpleQueryMessage::CommandComplete(_) | _ => None,
    })
}
