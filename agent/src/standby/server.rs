//! The new server: its settings, its start, and its stream.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cluster::Binaries;
use connect::{Connected, Dsn, Session, connect};
use plans::render::bytes;
use plans::sql::quote_literal;
use tokio::process::Command;

use super::backup::INTERVAL;
use super::directory::DataDirectory;
use super::source::Source;
use super::{NewStandbyServer, StandbyError, progress};
use crate::error::WithIntent;
use crate::shard::identity;

/// The file of settings that `alter system` and `pg_basebackup` write. The last value in it counts.
const SETTINGS: &str = "postgresql.auto.conf";
/// The file of settings that a server needs in its data directory, unless its command names another one.
const CONFIGURATION: &str = "postgresql.conf";
/// The server's own messages until it opens its log.
const START_LOG: &str = "start.log";
/// How long `pg_ctl` waits until the server is consistent, in seconds.
const START_LIMIT: &str = "3600";
/// How long the server may take until it streams.
const STREAM_LIMIT: Duration = Duration::from_secs(300);
/// Whether the standby uses the slot, and how far the source is ahead of what the standby has received.
const SLOT_STATE: &str = "
    select active, coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn), 0)::bigint
    from pg_catalog.pg_replication_slots where slot_name = $1";

/// How the server is started and reached.
#[derive(Debug)]
pub(super) struct StandbyServer<'a> {
    new: &'a NewStandbyServer,
    dsn: &'a Dsn,
    port: String,
    /// `pg_ctl`; `None`: the user's command starts the server.
    pg_ctl: Option<PathBuf>,
}

impl<'a> StandbyServer<'a> {
    /// Finds what the start needs.
    pub(super) fn of(
        new: &'a NewStandbyServer,
        dsn: &'a Dsn,
        major: u32,
    ) -> Result<Self, StandbyError> {
        let (_, port, _) = dsn.place().ok_or_else(|| {
            StandbyError::new(
                "the connection string of the standby names no host",
                "name the host and port by which agents reach the new server",
            )
        })?;
        let pg_ctl = match &new.start_command {
            Some(_) => None,
            None => Some(
                Binaries::find(Some(major))
                    .map_err(|error| {
                        StandbyError::new(
                            error.to_string(),
                            "install the server programs of the source's version, or give --start-command",
                        )
                    })?
                    .path("pg_ctl"),
            ),
        };
        // A secret that cannot be read is found before the copy.
        dsn.resolve().map_err(|error| {
            StandbyError::new(
                format!("the connection string of the standby: {error}"),
                error.hint().unwrap_or_default(),
            )
        })?;
        Ok(Self {
            new,
            dsn,
            port,
            pg_ctl,
        })
    }

    /// Writes the settings of the standby.
    pub(super) fn prepare(&self, directory: &DataDirectory) -> Result<(), StandbyError> {
        let configuration = directory.path().join(CONFIGURATION);
        if self.pg_ctl.is_some() && !configuration.exists() {
            return Err(StandbyError::new(
                format!(
                    "the copy has no {CONFIGURATION}: the source keeps its configuration outside of its data directory"
                ),
                "create the configuration of the new server where its packages expect it, and give --start-command, for example `pg_ctlcluster 15 shard_b start`",
            ));
        }
        let path = directory.path().join(SETTINGS);
        let port = ("port".to_owned(), self.port.clone());
        let settings = std::iter::once(&port).chain(&self.new.settings);
        let lines: String = settings
            .map(|(name, value)| format!("{name} = {}\n", quote_literal(value)))
            .collect();
        let action = format!("write {}", path.display());
        let file = std::fs::OpenOptions::new().append(true).open(&path);
        file.and_then(|mut file| file.write_all(lines.as_bytes()))
            .map_err(StandbyError::io(&action, ""))
    }

    /// Starts the server, and waits until it is consistent.
    pub(super) async fn start(&self, directory: &DataDirectory) -> Result<(), StandbyError> {
        progress("starting the standby");
        let log = directory.path().join(START_LOG);
        let mut command = match (&self.pg_ctl, &self.new.start_command) {
            (Some(pg_ctl), _) => {
                let mut command = Command::new(pg_ctl);
                command.arg("--pgdata").arg(directory.path());
                command.arg("--log").arg(&log);
                command.args(["--wait", "--timeout", START_LIMIT, "--silent", "start"]);
                command
            }
            (None, text) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(text.as_deref().unwrap_or_default());
                command
            }
        };
        // The server inherits what is not closed.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let status = command.status().await;
        let status = status.map_err(StandbyError::io("start the server", ""))?;
        if status.success() {
            return Ok(());
        }
        Err(StandbyError::new(
            format!("the standby did not start ({status})"),
            format!(
                "{} or the server's log has the reason; the copy is complete and stays: start the server, then `shardwright shard add {} --dsn '{}'`",
                log.display(),
                self.new.name,
                self.new.dsn
            ),
        ))
    }

    /// Waits until the standby streams from the slot, and checks that it is a standby of this source.
    pub(super) async fn wait_until_it_streams(
        &self,
        source: &Source,
        session: &Connected,
        slot: &str,
    ) -> Result<(), StandbyError> {
        let began = Instant::now();
        while began.elapsed() < STREAM_LIMIT {
            let state = session.query_opt(SLOT_STATE, &[&slot]).await;
            let state = state.at(format_args!("shard {}: observing the slot", source.name))?;
            if let Some(row) = state.filter(|row| row.get(0)) {
                progress(&format!(
                    "the standby streams; it is {} behind",
                    bytes(row.get(1))
                ));
                return self.check_identity(source).await;
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Err(self.stays(format!(
            "the standby does not stream from replication slot {slot} of shard {}",
            source.name
        )))
    }

    /// Checks that the connection string leads to a standby of the source.
    async fn check_identity(&self, source: &Source) -> Result<(), StandbyError> {
        let session = Session::named("shardwright standby").on(format!("shard {}", self.new.name));
        let session = connect(self.dsn, &session).await;
        let session = session.map_err(|error| self.stays(error.to_string()))?;
        let found = identity::read(&session).await;
        let found = found.at(format_args!("shard {}: identifying it", self.new.name))?;
        if found.standby && found.system == source.identity.system {
            return Ok(());
        }
        Err(self.stays(format!(
            "{} is no standby of shard {}",
            self.dsn.server(),
            source.name
        )))
    }

    /// Returns an error after which the server and its slot stay.
    fn stays(&self, why: String) -> StandbyError {
        StandbyError::new(
            why,
            format!(
                "the server runs and keeps its slot: correct the cause, then `shardwright shard add {} --dsn '{}'`; to give it up, stop the server, remove its files, and run `shardwright cleanup`",
                self.new.name, self.new.dsn
            ),
        )
    }
}
