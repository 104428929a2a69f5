//! Opens one session and puts it into a known state.
//!
//! Order: resolve the references, find the right server, start the connection's task, send all
//! settings in one batch. Nothing that a role or a database has set by default survives here.

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

/// What a session is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Shown in `pg_stat_activity`; the server cuts it at 63 bytes.
    pub application_name: String,
    /// True for apply: ordinary triggers and foreign keys do not fire. Needs the privilege to set
    /// `session_replication_role`.
    pub replica_role: bool,
    /// What messages call the server: a shard's name. Without one they give its host, port and database.
    pub server_name: Option<String>,
}

impl Session {
    /// An ordinary session under this name.
    pub fn named(application_name: impl Into<String>) -> Self {
        Self {
            application_name: application_name.into(),
            replica_role: false,
            server_name: None,
        }
    }

    /// The same session, whose server messages call `name`.
    #[must_use]
    pub fn on(self, name: impl Into<String>) -> Self {
        Self {
            server_name: Some(name.into()),
            ..self
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

/// Opens a session on `dsn` and prepares it as `session` says.
///
/// Takes at most `connect_timeout` of the connection string (10 s by default) for each address of
/// its hosts. Needs a tokio runtime.
///
/// # Errors
/// [`ConnectError`]; [`ConnectError::class`] tells whether to try again.
pub async fn connect(dsn: &Dsn, session: &Session) -> Result<Connected, ConnectError> {
    prepared(&dsn.resolve()?, session, dsn.opening()).await
}

/// As [`connect`], with the connection string resolved by the caller.
///
/// # Errors
/// As [`connect`].
pub async fn connect_to(resolved: &Resolved, session: &Session) -> Result<Connected, ConnectError> {
    prepared(resolved, session, None).await
}

async fn prepared(
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

/// Opens a session as it comes: with the settings of the role and the database.
///
/// For an application's own connections. The second part moves the bytes: it ends when the client
/// is dropped.
///
/// # Errors
/// As [`connect`].
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
        let settings = statements(self.session);
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
        // Once more with the settings: a look that fails rolls them back.
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
    let place = ConnectionSlot::new(link);
    let link = Lendable(Arc::clone(&place));
    let connected = config.connect_raw(link, Established).await;
    let (client, connection) =
        connected.map_err(|source| ConnectError::refused(server, resolved, source))?;
    let standing = ServerStanding::read(|name| connection.parameter(name));
    let entered = Connected::start(client, connection, place, server);
    Ok((entered, standing))
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

fn statements(session: &Session) -> String {
    if session.replica_role {
        format!(
            "set session_replication_role = replica; {}",
            settings::statements()
        )
    } else {
        settings::statements()
    }
}
