//! Physical standbys: a second cluster that follows the first one's log, and is promoted.
//!
//! Absent: whether commits wait for the standby; that is `synchronous_standby_names` of the first server, the caller's.

use crate::create::SUPERUSER;
use crate::server::{run, tail};
use crate::{Cluster, ClusterError, Options};
use std::path::Path;
use std::process::Command;

const PROMOTE_LIMIT: &str = "60";

impl Cluster {
    /// Makes a standby of this running server by `pg_basebackup`; it is not started. It has the same password, and
    /// follows under `name`.
    ///
    /// # Errors
    /// Those of [`Cluster::create`], or what `pg_basebackup` says.
    pub fn standby(&self, name: &str, options: Options) -> Result<Self, ClusterError> {
        let file = self.password_file();
        let password = std::fs::read_to_string(&file).map_err(ClusterError::io("read", &file))?;
        let from = format!(
            "host={} port={} user={SUPERUSER} application_name={name}",
            self.host(),
            self.port()
        );
        Self::make(options, |standby| {
            standby.furnish(&password)?;
            let begun = standby.dir.join("data.begun");
            let mut command = standby.program("pg_basebackup");
            command.env("PGPASSWORD", &password);
            command
                .arg("--dbname")
                .arg(from)
                .arg("--pgdata")
                .arg(&begun);
            command.args(["--write-recovery-conf", "--wal-method", "stream"]);
            command.args(["--checkpoint", "fast", "--no-sync"]);
            standby.done("pg_basebackup", command)?;
            std::fs::rename(&begun, standby.data()).map_err(ClusterError::io("rename", &begun))
        })
    }

    /// As [`Cluster::standby`], of this stopped server by its files: for programs that lack `pg_basebackup`, which
    /// copies no server that is newer than itself. It names a database when it follows, as a standby that keeps slots
    /// must.
    ///
    /// # Errors
    /// Those of [`Cluster::create`], or what `cp` says.
    pub fn standby_by_files(&self, name: &str, options: Options) -> Result<Self, ClusterError> {
        let file = self.password_file();
        let password = std::fs::read_to_string(&file).map_err(ClusterError::io("read", &file))?;
        let from = format!(
            "host={} port={} user={SUPERUSER} dbname={SUPERUSER} application_name={name} password={}",
            self.host(),
            self.port(),
            password.trim()
        );
        Self::make(options, |standby| {
            standby.furnish(&password)?;
            let begun = standby.dir.join("data.begun");
            let mut command = standby.account.command(Path::new("cp"), &standby.dir);
            command.arg("--archive").arg(self.data()).arg(&begun);
            standby.done("cp", command)?;
            for (name, text) in [
                (
                    "postgresql.auto.conf",
                    format!("primary_conninfo = '{from}'\n"),
                ),
                ("standby.signal", String::new()),
            ] {
                let path = begun.join(name);
                std::fs::write(&path, text).map_err(ClusterError::io("write", &path))?;
                standby.account.give(&path)?;
            }
            std::fs::rename(&begun, standby.data()).map_err(ClusterError::io("rename", &begun))
        })
    }

    /// Puts the data of a copy, made by [`Cluster::standby`] and never started, in the place of this stopped server's,
    /// which then starts as of the copy's moment and follows nobody.
    ///
    /// # Errors
    /// [`ClusterError::Io`]; the server's own data may be gone then.
    pub fn restore(&self, copy: &Self) -> Result<(), ClusterError> {
        let (data, from) = (self.data(), copy.data());
        let signal = from.join("standby.signal");
        std::fs::remove_file(&signal).map_err(ClusterError::io("remove", &signal))?;
        std::fs::remove_dir_all(&data).map_err(ClusterError::io("remove", &data))?;
        std::fs::rename(&from, &data).map_err(ClusterError::io("rename", &from))
    }

    /// Ends the recovery of a running standby; returns once the server takes writes.
    ///
    /// # Errors
    /// What `pg_ctl` says, after a minute at the latest.
    pub fn promote(&self) -> Result<(), ClusterError> {
        let mut command = self.program("pg_ctl");
        command.args(["promote", "--silent", "--wait", "--timeout", PROMOTE_LIMIT]);
        command.arg("--pgdata").arg(self.data());
        self.done("pg_ctl", command)
    }

    fn program(&self, name: &str) -> Command {
        self.account.command(&self.binaries.path(name), &self.dir)
    }

    fn done(&self, program: &'static str, command: Command) -> Result<(), ClusterError> {
        let (status, output) = run(command, program, &self.dir)?;
        if status.success() {
            return Ok(());
        }
        Err(ClusterError::Program {
            program,
            status,
            output: tail(&output),
        })
    }
}
