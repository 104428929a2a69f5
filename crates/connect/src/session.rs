//! Opens one session and applies fixed settings.
//!
//! It resolves the references, finds a suitable server, starts the connection's task, and sends all settings in one
//! message. They override all defaults of the role and the database.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_postgres::config::{self, SslNegotiation};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::connected::Connected;
use crate::dial::Link;
use crate::lend::{ConnectionSlot, Established, Lendable};
use crate::resolved::{ChannelBinding, Host, Resolved};
use crate::route::{self, ServerStanding, SessionKind};
use crate::settings;
use crate::{ConnectError, Dsn, Opening};

/// The properties of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The name in `pg_stat_activity`. The server truncates it to 63 bytes.
    pub application_name: String,
    /// True for the apply of changes: ordinary triggers and foreign keys are not executed. The role must be permitted
    /// to set `session_replication_role`.
    pub replica_role: bool,
    /// The name of the server in messages, for example a shard's name. Without it messages contain host, port and
    /// database.
    pub server_name: Option<String>,
}

impl Session {
    /// Creates an ordinary session with this name.
    pub fn named(application_name: impl Into<String>) -> Self {
        Self {
            application_name: application_name.into(),
            replica_role: false,
            server_name: None,
        }
    }

    /// Sets the name of the server in messages.
    #[must_use]
    pub fn on(self, name: impl Into<String>) -> Self {
        Self {
            server_name: Some(name.into()),
            ..self
        }
    }

    /// Sets `session_replication_role = replica`.
    #[must_use]
    pub fn as_replica(self) -> Self {
        Self {
            replica_role: true,
            ..self
        }
    }
}

/// Opens a session on `dsn` with the properties `session`.
///
/// For each address of its hosts it takes at most `connect_timeout` of the connection string (10 s by default). It
/// needs a tokio runtime.
///
/// # Errors
/// [`ConnectError`]; [`ConnectError::class`] states whether a retry is useful.
pub async fn connect(dsn: &Dsn, session: &Session) -> Result<Connected, ConnectError> {
    open_prepared(&dsn.resolve()?, session, dsn.opening()).await
}

/// Does the same as [`connect`], with a resolved connection string.
///
/// # Errors
/// Those of [`connect`].
pub async fn connect_to(resolved: &Resolved, session: &Session) -> Result<Connected, ConnectError> {
    open_prepared(resolved, session, None).await
}

async fn open_prepared(
    resolved: &Resolved,
    session: &Session,
    opening: Option<&Opening>,
) -> Result<Connected, ConnectError> {
    let kind = PreparedSession {
        resolved,
        session,
        opening,
    };
    route::open(resolved, &kind).await
}

/// Opens a session with the default settings of the role and the database, for an application's own connections.
///
/// The second returned value is the task that transfers the bytes. It ends when the client is dropped.
///
/// # Errors
/// Those of [`connect`].
pub async fn connect_plain(dsn: &Dsn) -> Result<(Client, JoinHandle<()>), ConnectError> {
    let resolved = dsn.resolve()?;
    let kind = PlainSession {
        resolved: &resolved,
    };
    let entered = route::open(&resolved, &kind).await?;
    Ok(entered.into_parts())
}

struct PreparedSession<'a> {
    resolved: &'a Resolved,
    session: &'a Session,
    opening: Option<&'a Opening>,
}

struct PlainSession<'a> {
    resolved: &'a Resolved,
}

impl SessionKind for PreparedSession<'_> {
    type Entered = Connected;
    type Ready = Connected;

    async fn enter(
        &self,
        link: Link,
        host: &Host,
        server: &str,
    ) -> Result<(Connected, ServerStanding), ConnectError> {
        let name = Some(self.session.application_name.as_str());
        let (entered, standing) = enter(link, (self.resolved, host), name, server).await?;
        Ok((
            entered.called(self.session.server_name.as_deref()),
            standing,
        ))
    }

    async fn prepare(&self, entered: Connected, server: &str) -> Result<Connected, ConnectError> {
        let settings = setting_statements(self.session);
        let quick_check = self.opening.map(|opening| &opening.quick_check);
        if let Some(quick_check) = quick_check
            && is_true(
                entered
                    .simple_query(&format!("{settings}; {quick_check}"))
                    .await,
            )
        {
            return Ok(entered);
        }
        // The settings are sent again, because the failed quick check has rolled them back.
        let proof = self.opening.map_or("", |opening| &opening.proof);
        let prepared = entered.batch_execute(&format!("{settings}; {proof}")).await;
        prepared.map_err(|source| ConnectError::Setup {
            server: server.to_owned(),
            source,
        })?;
        Ok(entered)
    }
}

fn is_true(answered: Result<Vec<SimpleQueryMessage>, tokio_postgres::Error>) -> bool {
    let rows = answered.unwrap_or_default().into_iter();
    let mut rows = rows.filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        SimpleQueryMessage::CommandComplete(_) | _ => None,
    });
    rows.next_back().is_some_and(|row| row.get(0) == Some("t"))
}

impl SessionKind for PlainSession<'_> {
    type Entered = Connected;
    type Ready = Connected;

    async fn enter(
        &self,
        link: Link,
        host: &Host,
        server: &str,
    ) -> Result<(Connected, ServerStanding), ConnectError> {
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
) -> Result<(Connected, ServerStanding), ConnectError> {
    let mut config = config(resolved, host);
    if let Some(name) = name {
        config.application_name(name);
    }
    let slot = ConnectionSlot::new(link);
    let link = Lendable(Arc::clone(&slot));
    let connected = config.connect_raw(link, Established).await;
    let (client, connection) =
        connected.map_err(|source| ConnectError::refused(server, resolved, source))?;
    let standing = ServerStanding::read(|name| connection.parameter(name));
    let entered = Connected::start(client, connection, slot, server);
    Ok((entered, standing))
}

/// Returns the driver's configuration. TLS is already established, so the driver must not request it.
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

fn setting_statements(session: &Session) -> String {
    if session.replica_role {
        format!(
            "set session_replication_role = replica; {}",
            settings::statements()
        )
    } else {
        settings::statements()
    }
}
