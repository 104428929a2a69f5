//! Sessions of the replication protocol: they create slots and read streams of changes.
//!
//! A publication must exist before its slot. [`ReplicationSession::create_slot`] creates the slot and exports a
//! snapshot, which exists until the session is used again or ends. [`ChangeStream::open`] then reads from the slot, any
//! number of times. The agent confirms only positions up to which all changes are durable on the other side (I3), not
//! received positions.
//!
//! This module does not create publications or drop slots (SQL does), and does not stream transactions that are in
//! progress.

mod backlog;
mod config;
mod connection;
mod error;
mod frames;
mod origin;
mod source;
mod start;
mod stream;
mod walsender;

use connect::{Dsn, Session, Walsender};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::lsn::Lsn;
use connection::{ReplicationConnection, TextRow};
pub use error::ReplicationError;
use error::WireError;
pub use stream::{ChangeStream, FeedbackMode, RawEvent, StreamEvent, StreamStart};

/// The identity of a server and of its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemIdentity {
    /// The system identifier that initdb chose. A physical standby has the same one.
    pub system_id: u64,
    /// The timeline, which advances with each promotion.
    pub timeline: u32,
}

impl SystemIdentity {
    /// Returns whether this server has the log of `before` up to a position at which a standby was promoted.
    fn is_promotion_of(self, before: Self) -> bool {
        self.system_id == before.system_id && self.timeline > before.timeline
    }
}

/// Reads the [`SystemIdentity`] of a primary by SQL: the system identifier as text, the timeline in hexadecimal.
pub(crate) const IDENTIFY: &str = "select system_identifier::text, \
    pg_catalog.substring(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8) \
    from pg_catalog.pg_control_system()";

/// The result of creating a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedSlot {
    /// The slot sends every transaction that commits after this position.
    pub consistent_point: Lsn,
    /// The name of the exported snapshot, for SET TRANSACTION SNAPSHOT. The snapshot sees exactly the transactions that
    /// the slot does not send.
    pub snapshot: Option<String>,
}

/// The properties of a new slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotOptions {
    /// The server drops the slot when the session ends.
    pub temporary: bool,
    /// The server exports a snapshot, which exists until the session is used again or ends.
    pub export: bool,
    /// Standbys synchronize the slot, and it sends nothing that they have not received. Only PostgreSQL 17 and newer
    /// have such slots.
    pub failover: bool,
}

/// A replication session that has not started to stream.
///
/// Its temporary slot and its exported snapshot exist until it is dropped.
pub struct ReplicationSession {
    connection: ReplicationConnection,
    server: String,
    backend: ServerProcess,
}

impl ReplicationSession {
    /// Connects and authenticates, within the `connect_timeout` of `dsn`.
    ///
    /// # Errors
    /// Returns [`ReplicationError`]; its `class` states whether a retry can succeed.
    pub async fn open(dsn: &Dsn, application_name: &str) -> Result<Self, ReplicationError> {
        const INTENT: &str = "open a replication session";
        const IDENTITY: &str = "open a replication session in the registered database";
        let walsender = Walsender::open(dsn, application_name, &config::settings()).await?;
        let (server, limit) = (walsender.server().to_owned(), walsender.connect_timeout());
        let mut connection = ReplicationConnection::new(walsender);
        let Ok(prepared) = timeout(limit, connection.query(PREPARE)).await else {
            return Err(ReplicationError::Timeout {
                server,
                after: limit,
            });
        };
        let prepared = prepared.map_err(|error| error.during(&server, INTENT))?;
        let row = one_row(prepared, &server, INTENT)?;
        if let Some(opening) = dsn.opening() {
            let opened = connection.query(&opening.proof).await;
            opened.map_err(|error| error.during(&server, IDENTITY))?;
        }
        let pid = column(&row, 0).and_then(|text| text.parse().ok());
        let start = column(&row, 1).map(str::to_owned);
        let (Some(pid), Some(start)) = (pid, start) else {
            return Err(ReplicationError::malformed(&server, INTENT));
        };
        Ok(Self {
            connection,
            server,
            backend: ServerProcess {
                dsn: dsn.clone(),
                session: Session::named(application_name),
                pid,
                start,
            },
        })
    }

    /// Returns the server as `host:port/dbname`, for messages.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the process id of the session's walsender, as in `pg_stat_activity`.
    pub fn backend_pid(&self) -> i32 {
        self.backend.pid
    }

    /// Reads a setting of the session.
    #[cfg(test)]
    pub(crate) async fn setting(&mut self, name: &str) -> String {
        let rows = self.connection.query(&format!("show {name}")).await;
        let row = one_row(rows.expect("shown"), &self.server, "show a setting").expect("a row");
        column(&row, 0).expect("a value").to_owned()
    }

    /// Reads the server's identity. This ends the exported snapshot.
    ///
    /// # Errors
    /// Returns [`ReplicationError`] if the query fails.
    pub async fn identify_system(&mut self) -> Result<SystemIdentity, ReplicationError> {
        const INTENT: &str = "identify the system";
        let rows = self.connection.query("IDENTIFY_SYSTEM").await;
        let rows = rows.map_err(|error| error.during(&self.server, INTENT))?;
        let row = one_row(rows, &self.server, INTENT)?;
        let system_id = column(&row, 0).and_then(|text| text.parse().ok());
        let timeline = column(&row, 1).and_then(|text| text.parse().ok());
        let (Some(system_id), Some(timeline)) = (system_id, timeline) else {
            return Err(ReplicationError::malformed(&self.server, INTENT));
        };
        Ok(SystemIdentity {
            system_id,
            timeline,
        })
    }

    /// Reads where the log of `timeline` branched off from that of the timeline before it: the parent timeline and the
    /// switch point. Returns `None` for a timeline without a parent.
    ///
    /// # Errors
    /// Returns [`ReplicationError`] if the query fails or the history cannot be read.
    pub(crate) async fn timeline_parent(
        &mut self,
        timeline: u32,
    ) -> Result<Option<(u32, Lsn)>, ReplicationError> {
        let history = self.timeline_history(timeline).await?;
        match history.last() {
            Some(parent) => Ok(Some(*parent)),
            None if timeline == 1 => Ok(None),
            None => Err(ReplicationError::malformed(&self.server, HISTORY_INTENT)),
        }
    }

    /// Reads the timelines before `timeline`, the oldest first, each with the position at which the next one branched
    /// off. Timeline 1 has none.
    ///
    /// # Errors
    /// Returns [`ReplicationError`] if the query fails.
    pub(crate) async fn timeline_history(
        &mut self,
        timeline: u32,
    ) -> Result<Vec<(u32, Lsn)>, ReplicationError> {
        if timeline == 1 {
            return Ok(Vec::new());
        }
        let command = format!("TIMELINE_HISTORY {timeline}");
        let rows = self.connection.query(&command).await;
        let rows = rows.map_err(|error| error.during(&self.server, HISTORY_INTENT))?;
        let row = one_row(rows, &self.server, HISTORY_INTENT)?;
        let history = column(&row, 1).unwrap_or_default();
        Ok(history.lines().filter_map(parse_history_line).collect())
    }

    /// Creates a logical slot for pgoutput. The publication must exist.
    ///
    /// The server waits, without a limit, until all transactions that were running have ended; the caller must set a
    /// time limit. If the caller drops the future, the agent terminates the server process in the background. Otherwise
    /// the process would continue to wait, and then leave a slot. The session cannot be used afterwards.
    ///
    /// # Errors
    /// Returns [`ReplicationError::SlotExists`], [`ReplicationError::InvalidName`] or the error of the server.
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
        let rows = self.connection.query(&command).await;
        unfinished.disarm();

        let rows = rows.map_err(|error| self.slot_error(name, INTENT, error))?;
        let row = one_row(rows, &self.server, INTENT)?;
        let consistent_point = column(&row, 1)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| ReplicationError::malformed(&self.server, INTENT))?;
        Ok(CreatedSlot {
            consistent_point,
            snapshot: column(&row, 2).map(str::to_owned),
        })
    }

    fn slot_error(&self, slot: &str, intent: &'static str, error: WireError) -> ReplicationError {
        match error.sqlstate() {
            Some("42710") => ReplicationError::SlotExists {
                server: self.server.clone(),
                slot: slot.to_owned(),
            },
            _ => error.during(&self.server, intent),
        }
    }
}

/// The server process of a session. The start time distinguishes it from a later process with the same pid.
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

/// Terminates a server process when it is dropped, unless it was disarmed.
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

/// Reads the pid and the start time of the server process, and disables `transaction_timeout`, which only PostgreSQL 17
/// and newer have.
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

/// What the agent does when it reads the history of a timeline, for errors.
const HISTORY_INTENT: &str = "read the history of the timeline";

/// Parses a line of a timeline history: the timeline, the switch point and the reason, separated by tabs. Returns `None`
/// for a comment or an empty line.
fn parse_history_line(line: &str) -> Option<(u32, Lsn)> {
    let mut fields = line.split_ascii_whitespace();
    let timeline = fields.next()?.parse().ok()?;
    Some((timeline, fields.next()?.parse().ok()?))
}
