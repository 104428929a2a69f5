//! Opens one session and puts it into a known state.
//!
//! Order: resolve the references, connect within a limit, start the connection's task, send all
//! settings in one batch. Nothing that a role or a database has set by default survives here.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

use crate::{ConnectError, Dsn};

/// What every session of ours has, whatever the role or the database sets by default.
///
/// Timeouts are off because each step keeps its own deadline; the formats make text values equal
/// on both sides; the last statement reaches the timeouts that not every version knows.
const SETTINGS: &str = "\
    set statement_timeout = 0; \
    set lock_timeout = 0; \
    set idle_in_transaction_session_timeout = 0; \
    set synchronous_commit = on; \
    set client_encoding = 'UTF8'; \
    set standard_conforming_strings = on; \
    set \"DateStyle\" = 'ISO'; \
    set \"IntervalStyle\" = 'postgres'; \
    set \"TimeZone\" = 'UTC'; \
    set extra_float_digits = 3; \
    set bytea_output = 'hex'; \
    set search_path = ''; \
    set row_security = off; \
    set default_transaction_isolation = 'read committed'; \
    set default_transaction_read_only = off; \
    set default_transaction_deferrable = off; \
    select set_config(name, '0', false) from pg_catalog.pg_settings \
    where name in ('idle_session_timeout', 'transaction_timeout')";

/// What a session is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Shown in `pg_stat_activity`; the server cuts it at 63 bytes.
    pub application_name: String,
    /// True for apply: ordinary triggers and foreign keys do not fire. Needs the privilege to set
    /// `session_replication_role`.
    pub replica_role: bool,
}

impl Session {
    /// An ordinary session under this name.
    pub fn named(application_name: impl Into<String>) -> Self {
        Self {
            application_name: application_name.into(),
            replica_role: false,
        }
    }

    /// The same session with `session_replication_role = replica`.
    #[must_use]
    pub fn as_replica(self) -> Self {
        Self {
            replica_role: true,
            ..self
        }
    }
}

/// An open session: the client, and the task that moves its bytes. Dropping it ends both.
#[derive(Debug)]
pub struct Connected {
    client: Client,
    task: JoinHandle<()>,
    server: String,
}

impl Connected {
    /// The server as `host:port/dbname`, for messages.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Ends the session and waits until the server was told.
    pub async fn close(self) {
        drop(self.client);
        // An abnormal end was logged by the task; either way the session is over.
        let _ = self.task.await;
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

/// Opens a session on `dsn` and prepares it as `session` says.
///
/// Takes at most `connect_timeout` of the connection string (10 s by default). Needs a tokio runtime.
///
/// # Errors
/// [`ConnectError`]; [`ConnectError::class`] tells whether to try again.
pub async fn connect(dsn: &Dsn, session: &Session) -> Result<Connected, ConnectError> {
    let resolved = dsn.resolve()?;
    let server = resolved.server();
    let limit = resolved.connect_timeout;
    let mut config = resolved.config();
    config.application_name(&session.application_name);

    match timeout(limit, open(&config, session, &server)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ConnectError::Timeout {
            server,
            after: limit,
        }),
    }
}

async fn open(
    config: &tokio_postgres::Config,
    session: &Session,
    server: &str,
) -> Result<Connected, ConnectError> {
    let (client, connection) =
        config
            .connect(NoTls)
            .await
            .map_err(|source| ConnectError::Open {
                server: server.to_owned(),
                source,
            })?;
    let name = server.to_owned();
    let task = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(server = %name, %error, "connection ended");
        }
    });
    client
        .batch_execute(&settings(session))
        .await
        .map_err(|source| ConnectError::Setup {
            server: server.to_owned(),
            source,
        })?;
    Ok(Connected {
        client,
        task,
        server: server.to_owned(),
    })
}

fn settings(session: &Session) -> String {
    if session.replica_role {
        format!("set session_replication_role = replica; {SETTINGS}")
    } else {
        SETTINGS.to_owned()
    }
}

/// The limit on connecting if the connection string names none.
pub(crate) const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
