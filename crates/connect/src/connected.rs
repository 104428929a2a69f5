//! An open session, as whoever opened it has it.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Connection, Row, Statement};

use crate::lend::{ConnectionSlot, Lendable, Lent};

/// An open session: the client, and the task that moves its bytes. Dropping it ends both.
pub struct Connected {
    client: Client,
    place: Arc<Mutex<ConnectionSlot>>,
    /// By their text; they end with the session.
    statements: Mutex<HashMap<String, Statement>>,
    task: JoinHandle<()>,
    server: String,
    name: Option<String>,
}

impl Connected {
    /// Begins to move the bytes of `connection`, which has `place`, in a task of its own.
    pub(crate) fn start(
        client: Client,
        connection: Connection<Lendable, Lendable>,
        place: Arc<Mutex<ConnectionSlot>>,
        server: &str,
    ) -> Self {
        Self {
            client,
            place,
            statements: Mutex::default(),
            task: tokio::spawn(run(connection, server.to_owned())),
            server: server.to_owned(),
            name: None,
        }
    }

    pub(crate) fn called(self, name: Option<&str>) -> Self {
        Self {
            name: name.map(str::to_owned),
            ..self
        }
    }

    /// The client and the task.
    pub(crate) fn into_parts(self) -> (Client, JoinHandle<()>) {
        (self.client, self.task)
    }

    /// The server as `host:port/dbname`, for messages: the one of the list that the session is on.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What messages call the server: the name that the session was opened with, or else [`Connected::server`].
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.server)
    }

    /// As [`Client::query`], with the statement kept for the next time, which then takes a single round trip.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub async fn query_prepared(
        &self,
        text: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.prepared(text).await?;
        self.client.query(&statement, params).await
    }

    /// A statement that is kept: once it was asked for, [`Connected::query_prepared`] sends it with its first poll.
    ///
    /// # Errors
    /// As [`Client::prepare`].
    pub async fn prepared(&self, text: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(known) = self.statements().get(text) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.statements().insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    fn statements(&self) -> MutexGuard<'_, HashMap<String, Statement>> {
        self.statements
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends the connection to whoever speaks the protocol itself, for as long as the session is idle otherwise.
    ///
    /// # Errors
    /// The session is over.
    pub async fn lend(&mut self) -> Result<Lent<'_>, tokio_postgres::Error> {
        Lent::take(&self.client, &self.place).await
    }

    /// Ends the session and waits until the server was told.
    pub async fn close(self) {
        drop(self.client);
        // An abnormal end was logged by the task; either way the session is over.
        let _ = self.task.await;
    }
}

impl Debug for Connected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Connected({})", self.server)
    }
}

impl Deref for Connected {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

impl DerefMut for Connected {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

async fn run(connection: Connection<Lendable, Lendable>, server: String) {
    if let Err(error) = connection.await {
        tracing::debug!(server, %error, "connection ended");
    }
}
