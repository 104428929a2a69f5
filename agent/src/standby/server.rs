//! The new server: its programs, its settings, its start, and its stream.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cluster::{Binaries, ClusterError};
use connect::{Connected, Dsn};
use plans::render::bytes;
use tokio::process::Command;

use super::backup::INTERVAL;
use super::directory::DataDirectory;
use super::source::{Source, open_session};
use super::{NewStandbyServer, StandbyError, progress};
use crate::error::WithIntent;
use crate::shard::identity;

/// The file of settings that `alter system` and `pg_basebackup` write. The last value in it counts.
const SETTINGS: &str = "postgresql.auto.conf";
/// The file of settings that a server needs in its data directory, unless its command names another one.
const CONFIGURATION: &str = "postgresql.conf";
/// Settings that the command sets itself.
const OWN_SETTINGS: [&str; 4] = [
    "port",
    "primary_conninfo",
    "primary_slot_name",
    "data_directory",
];
/// The server's own messages until it opens its log.
const START_LOG: &str = "start.log";
/// How long `pg_ctl` waits until the server is consistent, in seconds.
const START_LIMIT: &str = "3600";
/// How long the server may take until it streams.
const STREAM_LIMIT: Duration = Duration::from_secs(300);
/// The slot from which a standby streams.
const OWN_SLOT: &str = "select pg_catalog.current_setting('primary_slot_name')";
/// Whether the standby uses the slot, whether the slot has lost log, and how far the source is ahead of what the standby
/// has received.
const SLOT_STATE: &str = "
    select active, wal_status = 'lost',
           coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), restart_lsn), 0)::bigint
    from pg_catalog.pg_replication_slots where slot_name = $1";

/// How the server is created, started and reached.
#[derive(Debug)]
pub(super) struct StandbyServer<'a> {
    new: &'a NewStandbyServer,
    dsn: &'a Dsn,
    port: u16,
    pub(super) pg_basebackup: PathBuf,
    /// `pg_ctl`; `None`: the user's command starts the server.
    pg_ctl: Option<PathBuf>,
}

impl<'a> StandbyServer<'a> {
    /// Checks the connection string and the settings, and finds the programs.
    pub(super) async fn of(
        new: &'a NewStandbyServer,
        dsn: &'a Dsn,
        source: &Source,
    ) -> Result<Self, StandbyError> {
        let is_own =
            |(name, _): &&(String, String)| OWN_SETTINGS.contains(&&name.to_lowercase()[..]);
        if let Some((name, _)) = new.settings.iter().find(is_own) {
            return Err(StandbyError::new(
                format!("--set {name}: the command sets it itself"),
                "the port of the server is that of --dsn",
            ));
        }
        // A secret that cannot be read is found before the copy.
        let resolved = dsn.resolve().map_err(|error| {
            StandbyError::new(
                format!("the connection string of the standby: {error}"),
                error.hint().unwrap_or_default(),
            )
        })?;
        let [host] = &resolved.hosts[..] else {
            return Err(StandbyError::new(
                "the connection string of the standby names several hosts",
                "name the one host of the new server",
            ));
        };
        let database = source.dsn.resolve().map(|source| source.dbname);
        if database.is_ok_and(|database| database != resolved.dbname) {
            return Err(StandbyError::new(
                format!(
                    "the connection string of the standby leads to database {}, and not to that of shard {}",
                    resolved.dbname, source.name
                ),
                "name the same database: a standby has all databases of its source",
            ));
        }
        let missing = |error: ClusterError| {
            StandbyError::new(error.to_string(), error.hint().unwrap_or_default())
        };
        let pg_ctl = match &new.start_command {
            Some(_) => None,
            None => Some(
                Binaries::find(Some(source.major))
                    .map_err(missing)?
                    .path("pg_ctl"),
            ),
        };
        let backup = Binaries::for_backup(source.major).map_err(missing)?;
        let server = Self {
            new,
            dsn,
            port: host.port,
            pg_basebackup: backup.path("pg_basebackup"),
            pg_ctl,
        };
        server.refuse_running_server().await?;
        Ok(server)
    }

    /// Fails if a server answers at the connection string: the new one does not exist yet.
    async fn refuse_running_server(&self) -> Result<(), StandbyError> {
        match self.session().await {
            Err(_) => Ok(()),
            Ok(_) => Err(StandbyError::new(
                format!("a server answers at {} already", self.dsn.server()),
                "name a host and port at which only the new server will be",
            )),
        }
    }

    async fn session(&self) -> Result<Connected, StandbyError> {
        open_session(self.dsn, self.new.name.as_str(), "shardwright standby").await
    }

    /// Writes the settings of the standby.
    pub(super) fn prepare(
        &self,
        directory: &DataDirectory,
        slot: &str,
    ) -> Result<(), StandbyError> {
        let configuration = directory.path().join(CONFIGURATION);
        if self.pg_ctl.is_some() && !configuration.exists() {
            let why = format!(
                "the copy has no {CONFIGURATION}: the source keeps its configuration outside of its data directory"
            );
            return Err(self.stays(&why, slot));
        }
        let path = directory.path().join(SETTINGS);
        let port = ("port".to_owned(), self.port.to_string());
        let settings = std::iter::once(&port).chain(&self.new.settings);
        let lines: String = settings
            .map(|(name, value)| format!("{name} = {}\n", quote_setting(value)))
            .collect();
        let file = std::fs::OpenOptions::new().append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(lines.as_bytes()));
        written.map_err(|error| {
            self.stays(
                &format!("could not write {}: {error}", path.display()),
                slot,
            )
        })
    }

    /// Starts the server, and waits until it streams from the slot.
    pub(super) async fn start_and_wait(
        &self,
        directory: &DataDirectory,
        source: &Source,
        slot: &str,
    ) -> Result<(), StandbyError> {
        // The session that created the slot may have been lost during the copy.
        let session = source.session(slot).await;
        self.start(directory, slot).await?;
        self.wait_until_it_streams(source, session.ok(), slot)
            .await?;
        self.check_identity(source, slot).await
    }

    /// Starts the server, and waits until it is consistent.
    async fn start(&self, directory: &DataDirectory, slot: &str) -> Result<(), StandbyError> {
        progress("starting the standby");
        let log = directory.path().join(START_LOG);
        let (mut command, log) = match (&self.pg_ctl, &self.new.start_command) {
            (Some(pg_ctl), _) => {
                let mut command = Command::new(pg_ctl);
                command.arg("--pgdata").arg(directory.path());
                command.arg("--log").arg(&log);
                command.args(["--wait", "--timeout", START_LIMIT, "--silent", "start"]);
                (command, log.display().to_string())
            }
            (None, text) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(text.as_deref().unwrap_or_default());
                (command, "the server's log".to_owned())
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let why = match command.status().await {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => format!("the start of the standby failed ({status}); see {log}"),
            Err(error) => format!("could not run the start of the standby: {error}"),
        };
        Err(self.stays(&why, slot))
    }

    /// Waits until a standby streams from the slot.
    async fn wait_until_it_streams(
        &self,
        source: &Source,
        mut session: Option<Connected>,
        slot: &str,
    ) -> Result<(), StandbyError> {
        let began = Instant::now();
        while began.elapsed() < STREAM_LIMIT {
            let known = match session.take() {
                Some(session) => Some(session),
                None => source.session(slot).await.ok(),
            };
            // A lost session is opened again.
            if let Some(known) = known
                && let Ok(state) = known.query_opt(SLOT_STATE, &[&slot]).await
            {
                match state.map(|row| (row.get(0), row.get::<_, Option<bool>>(1), row.get(2))) {
                    Some((true, _, behind)) => {
                        progress(&format!(
                            "the standby streams; it is {} behind",
                            bytes(behind)
                        ));
                        return Ok(());
                    }
                    Some((_, Some(true), _)) | None => {
                        return Err(StandbyError::new(
                            format!(
                                "replication slot {slot} of shard {} has lost log",
                                source.name
                            ),
                            "stop the server, remove its files, and create the standby again; max_slot_wal_keep_size of the source limits the log of a slot",
                        ));
                    }
                    Some(_) => session = Some(known),
                }
            }
            tokio::time::sleep(INTERVAL).await;
        }
        let why = format!(
            "no server streams from replication slot {slot} of shard {} after {STREAM_LIMIT:?}",
            source.name
        );
        Err(self.stays(&why, slot))
    }

    /// Checks that the connection string leads to the new standby, and to no other one.
    async fn check_identity(&self, source: &Source, slot: &str) -> Result<(), StandbyError> {
        let stays = |error: StandbyError| self.stays(&error.to_string(), slot);
        let session = self.session().await.map_err(stays)?;
        let action = format!("shard {}: identifying it", self.new.name);
        let failed = |error: crate::error::StepError| self.stays(&error.to_string(), slot);
        let found = identity::read(&session).await.at(&action).map_err(failed)?;
        let own_slot = session.query_one(OWN_SLOT, &[]).await;
        let own_slot = own_slot.at(&action).map_err(failed)?;
        let is_new = own_slot.get::<_, Option<&str>>(0) == Some(slot);
        let (system, database) = (&source.identity.system, &source.identity.database);
        if found.standby && is_new && (&found.system, &found.database) == (system, database) {
            return Ok(());
        }
        let why = format!(
            "{} is not the new standby, or not the database of shard {}",
            self.dsn.server(),
            source.name
        );
        Err(self.stays(&why, slot))
    }

    /// Returns an error after which the copy and its slot stay.
    pub(super) fn stays(&self, why: &str, slot: &str) -> StandbyError {
        let Self { new, .. } = self;
        StandbyError::new(
            why,
            format!(
                "the copy in {} is complete and stays, with replication slot {slot} on shard {}, which `cleanup --apply` drops while no server streams from it. \
                 Correct the cause, start the server if it does not run, then `shardwright shard add {} --dsn '{}'`. \
                 To give it up: stop the server, remove its files, then `shardwright cleanup --apply`",
                new.data_dir.display(),
                new.source,
                new.name,
                new.dsn
            ),
        )
    }
}

/// Returns a value as a string of a file of settings, in which a backslash begins an escape.
fn quote_setting(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_quoted_as_a_file_of_settings_requires() {
        assert_eq!(quote_setting("4GB"), "'4GB'");
        assert_eq!(quote_setting(r"cp '%p' C:\x"), r"'cp ''%p'' C:\\x'");
    }
}
