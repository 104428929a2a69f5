//! An open session.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Connection, Row, Statement};

use crate::lend::{ConnectionSlot, Lendable, Lent};

/// An open session: the client, and the task that transfers its bytes. Dropping the value ends both.
pub struct Connected {
    client: Client,
    slot: Arc<Mutex<ConnectionSlot>>,
    /// Prepared statements by their text. They end with the session.
    statements: Mutex<HashMap<String, Statement>>,
    task: JoinHandle<()>,
    server: String,
    name: Option<String>,
}

impl Connected {
    /// Starts the task that transfers the bytes of `connection`. `slot` holds the connection's stream.
    pub(crate) fn start(
        client: Client,
        connection: Connection<Lendable, Lendable>,
        slot: Arc<Mutex<ConnectionSlot>>,
        server: &str,
    ) -> Self {
        Self {
            client,
            slot,
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

    /// Returns the client and the task.
    pub(crate) fn into_parts(self) -> (Client, JoinHandle<()>) {
        (self.client, self.task)
    }

    /// Returns the connected server as `host:port/dbname`, for messages.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the name of the server in messages: the name with which the session was opened, or else
    /// [`Connected::server`].
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.server)
    }

    /// Does the same as [`Client::query`], and keeps the prepared statement. The next call then needs only one round
    /// trip.
    ///
    /// # Errors
    /// Those of [`Client::query`].
    pub async fn query_prepared(
        &self,
        text: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.prepared(text).await?;
        self.client.query(&statement, params).await
    }

    /// Returns a prepared statement, which the session keeps. Afterwards [`Connected::query_prepared`] sends the
    /// statement when its future is first polled.
    ///
    /// # Errors
    /// Those of [`Client::prepare`].
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

    /// Lends the connection to code that implements the protocol itself (COPY). The session must otherwise be idle.
    ///
    /// # Errors
    /// An error if the session has ended.
    pub async fn lend(&mut self) -> Result<Lent<'_>, tokio_postgres::Error> {
        Lent::take(&self.client, &self.slot).await
    }

    /// Ends the session, and waits until the message that ends it was sent.
    pub async fn close(self) {
        drop(self.client);
        // The task has already logged an abnormal end. In both cases the session has ended.
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
