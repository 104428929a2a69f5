//! Sessions of the replication protocol: slots with their snapshots, and the stream of changes.
//!
//! Order: a publication exists before its slot; [`ReplicationSession::create_slot`] makes the slot
//! and keeps the exported snapshot alive for as long as the session is kept idle;
//! [`ChangeStream::open`] then reads from the slot, as often as needed.
//! The server learns only positions that were confirmed, never what was merely received.
//! Absent: publications and the removal of slots (plain SQL), streaming of open transactions.

mod backlog;
mod config;
mod door;
mod error;
mod origin;
mod source;
mod start;
mod stream;
mod trimming;

use bytes::Bytes;
use connect::{Dsn, Session, Walsender};
use pgwire_replication::{PgWireError, ReplicationClient};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::lsn::Lsn;
use door::{ProxyOptions, ReplicationProxy};
pub use error::ReplicationError;
pub(crate) use error::{PUBLICATION_CHANGED, SLOT_GAP, SLOT_LOST, SLOT_MISSING};
pub use stream::{ChangeStream, FeedbackMode, RawEvent, StreamEvent, StreamStart};

/// Which server this is, and which history of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemIdentity {
    /// Made by initdb; a physical standby shares it.
    pub system_id: u64,
    /// Advances with each promotion.
    pub timeline: u32,
}

/// Asks a plain session of a primary for its [`SystemIdentity`]: the number as text, the timeline in hexadecimal digits.
pub(crate) const IDENTIFY: &str = "select system_identifier::text, \
    pg_catalog.substring(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) \
    from pg_catalog.pg_control_system()";

/// A slot that was just made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedSlot {
    /// Everything that commits after this position is decoded.
    pub consistent_point: Lsn,
    /// For `set transaction snapshot`; sees exactly what the slot will not send.
    pub snapshot: Option<String>,
}

/// What a new slot is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotOptions {
    /// Dropped by the server when the session ends.
    pub temporary: bool,
    /// Export a snapshot that lives until the session is used again or ends.
    pub export: bool,
    /// Standbys keep a copy of it, and it sends nothing that they lack; PostgreSQL 17 and newer only.
    pub failover: bool,
}

/// A replication session that has not started to stream.
///
/// It holds what was made on it: a temporary slot, an exported snapshot. Dropping it ends both.
pub struct ReplicationSession {
    client: ReplicationClient,
    server: String,
    backend: ServerProcess,
}

/// One row of text values.
type TextRow = Vec<Option<Bytes>>;

impl ReplicationSession {
    /// Connects and authenticates, within the `connect_timeout` of `dsn`.
    ///
    /// # Errors
    /// [`ReplicationError`]; its `class` tells whether to try again.
    pub async fn open(dsn: &Dsn, application_name: &str) -> Result<Self, ReplicationError> {
        let passage = ProxyOptions {
            feedback: FeedbackMode::Easy,
            trims: false,
        };
        Self::connect(dsn, application_name, config::session(), passage).await
    }

    async fn connect(
        dsn: &Dsn,
        application_name: &str,
        mut config: pgwire_replication::ReplicationConfig,
        passage: ProxyOptions,
    ) -> Result<Self, ReplicationError> {
        const INTENT: &str = "open a replication session";
        const IDENTITY: &str = "open a replication session in the registered database";
        let walsender = Walsender::open(dsn, application_name, &config::settings()).await?;
        let (server, limit) = (walsender.server().to_owned(), walsender.connect_timeout());
        let failed = |source| ReplicationError::from_wire(&server, INTENT, source);
        let door =
            ReplicationProxy::open(walsender, passage).map_err(|error| failed(error.into()))?;
        config.host = door.folder().to_string_lossy().into_owned();
        config.port = door::PORT;
        let mut client = ReplicationClient::connect_gated(config)
            .await
            .map_err(failed)?;
        let prepared = timeout(limit, client.simple_query(PREPARE)).await;
        drop(door); // the client is through, or will never be
        let Ok(prepared) = prepared else {
            client.abort();
            return Err(ReplicationError::Timeout {
                server,
                after: limit,
            });
        };
        let row = one_row(prepared.map_err(failed)?, &server, INTENT)?;
        if let Some(opening) = dsn.opening() {
            let opened = client.simple_query(&opening.proof).await;
            opened.map_err(|source| ReplicationError::from_wire(&server, IDENTITY, source))?;
        }
        let pid = column(&row, 0).and_then(|text| text.parse().ok());
        let start = column(&row, 1).map(str::to_owned);
        let (Some(pid), Some(start)) = (pid, start) else {
            return Err(ReplicationError::malformed(&server, INTENT));
        };
        Ok(Self {
            client,
            server,
            backend: ServerProcess {
                dsn: dsn.clone(),
                session: Session::named(application_name),
                pid,
                start,
            },
        })
    }

    /// The server as `host:port/dbname`, for messages.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Process id of the session's walsender, as in `pg_stat_activity`.
    pub fn backend_pid(&self) -> i32 {
        self.backend.pid
    }

    /// What the session has for a setting.
    #[cfg(test)]
    pub(crate) async fn setting(&mut self, name: &str) -> String {
        let rows = self.client.simple_query(&format!("show {name}")).await;
        let row = one_row(rows.expect("shown"), &self.server, "show a setting").expect("a row");
        column(&row, 0).expect("a value").to_owned()
    }

    /// Asks the server who it is. Ends the life of an exported snapshot.
    ///
    /// # Errors
    /// [`ReplicationError`].
    pub async fn identify_system(&mut self) -> Result<SystemIdentity, ReplicationError> {
        const INTENT: &str = "identify the system";
        let answer = self.client.identify_system().await;
        let answer =
            answer.map_err(|source| ReplicationError::from_wire(&self.server, INTENT, source))?;
        let system_id = answer.system_id.parse();
        let system_id = system_id.map_err(|_| ReplicationError::malformed(&self.server, INTENT))?;
        Ok(SystemIdentity {
            system_id,
            timeline: answer.timeline,
        })
    }

    /// Makes a logical slot for pgoutput; the publication must exist already.
    ///
    /// Waits for every transaction that runs on the server, without a limit: put one around this
    /// call. Giving up (dropping the future) terminates the server process in the background, for
    /// it would go on waiting and leave the slot behind; the session is then over.
    ///
    /// # Errors
    /// [`ReplicationError::SlotExists`], [`ReplicationError::InvalidName`] or what the server says.
    pub async fn create_slot(
        &mut self,
        name: &str,
        options: SlotOptions,
    ) -> Result<CreatedSlot, ReplicationError> {
        const INTENT: &str = "create a replication slot";
        config::check_name("replication slot", name)?;
        let temporary = if options.temporary { " TEMPORARY" } else { "" };
        let snapshot = if options.export { "export" } else { "nothing" };
        let failover = if options.failover { ", FAILOVER" } else { "" };
        let command = format!(
            "CREATE_REPLICATION_SLOT \"{name}\"{temporary} LOGICAL pgoutput (SNAPSHOT '{snapshot}'{failover})"
        );

        let unfinished = TerminateOnDrop(Some(self.backend.clone()));
        let rows = self.client.simple_query(&command).await;
        unfinished.disarm();

        let rows = rows.map_err(|source| self.slot_error(name, INTENT, source))?;
        let row = one_row(rows, &self.server, INTENT)?;
        let consistent_point = column(&row, 1)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| ReplicationError::malformed(&self.server, INTENT))?;
        Ok(CreatedSlot {
            consistent_point,
            snapshot: column(&row, 2).map(str::to_owned),
        })
    }

    fn slot_error(
        &self,
        slot: &str,
        intent: &'static str,
        source: PgWireError,
    ) -> ReplicationError {
        match error::sqlstate(&source) {
            Some("42710") => ReplicationError::SlotExists {
                server: self.server.clone(),
                slot: slot.to_owned(),
            },
            _ => ReplicationError::from_wire(&self.server, intent, source),
        }
    }
}

/// The server process of a session; the start time tells it from a later one with its pid.
#[derive(Debug, Clone)]
struct ServerProcess {
    dsn: Dsn,
    session: Session,
    pid: i32,
    start: String,
}

impl ServerProcess {
    async fn terminate(&self) -> anyhow::Result<()> {
        let connected = connect::connect(&self.dsn, &self.session).await?;
        let terminate = "select pg_terminate_backend(pid) from pg_stat_activity \
                         where pid = $1 and backend_start = $2::text::timestamptz";
        connected
            .query(terminate, &[&self.pid, &self.start])
            .await?;
        connected.close().await;
        Ok(())
    }
}

/// Terminates a server process, unless disarmed.
struct TerminateOnDrop(Option<ServerProcess>);

impl TerminateOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for TerminateOnDrop {
    fn drop(&mut self) {
        let (Some(backend), Ok(runtime)) = (self.0.take(), Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            if let Err(error) = backend.terminate().await {
                let (server, pid) = (backend.dsn.server(), backend.pid);
                let error = format!("{error:#}");
                tracing::warn!(
                    server,
                    pid,
                    error,
                    "an abandoned slot creation was not terminated"
                );
            }
        });
    }
}

impl std::fmt::Debug for ReplicationSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "ReplicationSession({}, pid {})",
            self.server, self.backend.pid
        )
    }
}

/// Names the server process, and lifts the timeout that only later versions have.
const PREPARE: &str = "\
    select pid, backend_start::pg_catalog.text, \
    (select pg_catalog.max(pg_catalog.set_config(name, '0', false)) \
    from pg_catalog.pg_settings where name = 'transaction_timeout') \
    from pg_catalog.pg_stat_activity where pid = pg_catalog.pg_backend_pid()";

fn one_row(
    rows: Vec<TextRow>,
    server: &str,
    intent: &'static str,
) -> Result<TextRow, ReplicationError> {
    let mut rows = rows.into_iter();
    match (rows.next(), rows.next()) {
        (Some(row), None) => Ok(row),
        _ => Err(ReplicationError::malformed(server, intent)),
    }
}

fn column(row: &TextRow, at: usize) -> Option<&str> {
    row.get(at)?
        .as_deref()
        .and_then(|bytes| str::from_utf8(bytes).ok())
}
