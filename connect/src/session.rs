//! Opens one session and puts it into a known state.
//!
//! Order: resolve the references, find the right server, start the connection's task, send all
//! settings in one batch. Nothing that a role or a database has set by default survives here.

use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;
use tokio_postgres::config::{self, SslNegotiation};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Connection, Row, Statement};

use crate::dial::Link;
use crate::lend::{Established, Lendable, Lent, Place};
use crate::resolved::{ChannelBinding, Host, Resolved};
use crate::route::{self, Kind, Standing};
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
    set lc_monetary = 'C'; \
    set xmloption = 'content'; \
    set array_nulls = on; \
    set search_path = ''; \
    set row_security = off; \
    set jit = off; \
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
pub struct Connected {
    client: Client,
    pub(crate) place: Arc<Mutex<Place>>,
    /// By their text; they end with the session.
    statements: Mutex<HashMap<String, Statement>>,
    task: JoinHandle<()>,
    server: String,
}

impl Connected {
    /// The server as `host:port/dbname`, for messages: the one of the list that the session is on.
    pub fn server(&self) -> &str {
        &self.server
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
        Lent::take(self).await
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

/// Opens a session on `dsn` and prepares it as `session` says.
///
/// Takes at most `connect_timeout` of the connection string (10 s by default) for each address of
/// its hosts. Needs a tokio runtime.
///
/// # Errors
/// [`ConnectError`]; [`ConnectError::class`] tells whether to try again.
pub async fn connect(dsn: &Dsn, session: &Session) -> Result<Connected, ConnectError> {
    connect_to(&dsn.resolve()?, session).await
}

/// As [`connect`], with the connection string resolved by the caller.
///
/// # Errors
/// As [`connect`].
pub async fn connect_to(resolved: &Resolved, session: &Session) -> Result<Connected, ConnectError> {
    let kind = Prepared { resolved, session };
    route::open(resolved, &kind).await
}

/// Opens a session as it comes: with the settings of the role and the database.
///
/// For an application's own connections. The second part moves the bytes: it ends when the client
/// is dropped.
///
/// # Errors
/// As [`connect`].
pub async fn connect_plain(dsn: &Dsn) -> Result<(Client, JoinHandle<()>), ConnectError> {
    let resolved = dsn.resolve()?;
    let kind = Plain {
        resolved: &resolved,
    };
    let entered = route::open(&resolved, &kind).await?;
    Ok((entered.client, entered.task))
}

struct Prepared<'a> {
    resolved: &'a Resolved,
    session: &'a Session,
}

struct Plain<'a> {
    resolved: &'a Resolved,
}

impl Kind for Prepared<'_> {
    type Entered = Connected;
    type Ready = Connected;

    async fn enter(
        &self,
        link: Link,
        host: &Host,
        server: &str,
    ) -> Result<(Connected, Standing), ConnectError> {
        let name = Some(self.session.application_name.as_str());
        enter(link, (self.resolved, host), name, server).await
    }

    async fn prepare(&self, entered: Connected, server: &str) -> Result<Connected, ConnectError> {
        let settings = settings(self.session);
        let prepared = entered.client.batch_execute(&settings).await;
        prepared.map_err(|source| ConnectError::Setup {
            server: server.to_owned(),
            source,
        })?;
        Ok(entered)
    }
}

impl Kind for Plain<'_> {
    type Entered = Connected;
    type Ready = Connected;

    async fn enter(
        &self,
        link: Link,
        host: &Host,
        server: &str,
    ) -> Result<(Connected, Standing), ConnectError> {
        enter(link, (self.resolved, host), None, server).await
    }

    async fn prepare(&self, entered: Connected, _server: &str) -> Result<Connected, ConnectError> {
        Ok(entered)
    }
}

async fn enter(
    link: Link,
    (resolved, host): (&Resolved, &Host),
    name: Option<&str>,
    server: &str,
) -> Result<(Connected, Standing), ConnectError> {
    let mut config = config(resolved, host);
    if let Some(name) = name {
        config.application_name(name);
    }
    let place = Place::new(link);
    let link = Lendable(Arc::clone(&place));
    let connected = config.connect_raw(link, Established).await;
    let (client, connection) =
        connected.map_err(|source| ConnectError::refused(server, resolved, source))?;
    let standing = Standing::read(|name| connection.parameter(name));
    let entered = Connected {
        client,
        place,
        statements: Mutex::default(),
        task: tokio::spawn(run(connection, server.to_owned())),
        server: server.to_owned(),
    };
    Ok((entered, standing))
}

async fn run(connection: Connection<Lendable, Lendable>, server: String) {
    if let Err(error) = connection.await {
        tracing::debug!(server, %error, "connection ended");
    }
}

/// The link is as protected as it is to be; so tokio-postgres neither asks for TLS nor begins it.
fn config(resolved: &Resolved, host: &Host) -> tokio_postgres::Config {
    let mut config = tokio_postgres::Config::new();
    config
        .user(&resolved.user)
        .dbname(&resolved.dbname)
        .ssl_mode(config::SslMode::Require)
        .ssl_negotiation(SslNegotiation::Direct)
        .channel_binding(match resolved.channel_binding {
            ChannelBinding::Disable => config::ChannelBinding::Disable,
            ChannelBinding::Prefer => config::ChannelBinding::Prefer,
            ChannelBinding::Require => config::ChannelBinding::Require,
        });
    if let Some(password) = &host.password {
        config.password(password);
    }
    if let Some(options) = &resolved.options {
        config.options(options);
    }
    config
}

fn settings(session: &Session) -> String {
    if session.replica_role {
        format!("set session_replication_role = replica; {SETTINGS}")
    } else {
        SETTINGS.to_owned()
    }
}
