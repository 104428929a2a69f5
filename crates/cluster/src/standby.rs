//! Physical standbys: a second cluster that replays the log of the first one, and can be promoted.
//!
//! This module does not decide whether commits wait for the standby: the caller sets `synchronous_standby_names` of the
//! first server.

use crate::create::SUPERUSER;
use crate::server::{run, tail};
use crate::{Binaries, Cluster, ClusterError, Options};
use std::path::Path;
use std::process::Command;

/// The time limit of a promotion in seconds.
const PROMOTE_LIMIT: &str = "60";

impl Cluster {
    /// Creates a standby of this running server with `pg_basebackup`. It does not start it. The standby has the same
    /// password, and its `application_name` is `name`.
    ///
    /// # Errors
    /// Those of [`Cluster::create`], or the error of `pg_basebackup`.
    pub fn standby(&self, name: &str, options: Options) -> Result<Self, ClusterError> {
        self.base_backup(name, None, options)
    }

    /// Does the same as [`Cluster::standby`]. The standby streams from a new physical replication slot `slot` of this
    /// server, which therefore retains the log that the standby needs.
    ///
    /// # Errors
    /// Those of [`Cluster::standby`].
    pub fn standby_with_slot(
        &self,
        name: &str,
        slot: &str,
        options: Options,
    ) -> Result<Self, ClusterError> {
        self.base_backup(name, Some(slot), options)
    }

    fn base_backup(
        &self,
        name: &str,
        slot: Option<&str>,
        options: Options,
    ) -> Result<Self, ClusterError> {
        let password = self.password()?;
        let from = self.connection(name);
        Self::create_with(options, |standby| {
            standby.write_files_beside_data(&password)?;
            let incomplete = standby.dir.join("data.begun");
            let programs = Binaries::for_backup_without_connection(standby.binaries.major())?;
            let program = programs.path("pg_basebackup");
            let mut command = standby.account.command(&program, &standby.dir);
            command.env("PGPASSWORD", &password);
            command.arg("--dbname").arg(&from);
            command.arg("--pgdata").arg(&incomplete);
            command.args(["--wal-method", "stream"]);
            command.args(["--checkpoint", "fast", "--no-sync"]);
            if let Some(slot) = slot {
                command.args(["--create-slot", "--slot", slot]);
            }
            standby.run_to_success("pg_basebackup", command)?;
            let from = format!("{from} password={password}");
            standby.become_standby(&incomplete, &from, slot)
        })
    }

    fn password(&self) -> Result<String, ClusterError> {
        let file = self.password_file();
        let text = std::fs::read_to_string(&file).map_err(ClusterError::io("read", &file))?;
        Ok(text.trim().to_owned())
    }

    /// Returns the connection string by which the standby `name` connects to this server, without the password. It names
    /// a database, as a standby that synchronizes slots needs.
    fn connection(&self, name: &str) -> String {
        let (host, port) = (self.host(), self.port());
        format!(
            "host={host} port={port} dbname={SUPERUSER} user={SUPERUSER} application_name={name}"
        )
    }

    /// Makes a copy of a server's files the data of this standby.
    fn become_standby(
        &self,
        copy: &Path,
        from: &str,
        slot: Option<&str>,
    ) -> Result<(), ClusterError> {
        let slot = slot.map_or_else(String::new, |slot| {
            format!("primary_slot_name = '{slot}'\n")
        });
        for (name, text) in [
            (
                "postgresql.auto.conf",
                format!("primary_conninfo = '{from}'\n{slot}"),
            ),
            ("standby.signal", String::new()),
        ] {
            let path = copy.join(name);
            std::fs::write(&path, text).map_err(ClusterError::io("write", &path))?;
            self.account.make_owner_of(&path)?;
        }
        std::fs::rename(copy, self.data()).map_err(ClusterError::io("rename", copy))
    }

    /// Does the same as [`Cluster::standby`] for this stopped server, by a copy of its files. It is for installations
    /// whose `pg_basebackup` is older than the server, and therefore cannot copy it.
    ///
    /// # Errors
    /// Those of [`Cluster::create`], or the error of `cp`.
    pub fn standby_by_files(&self, name: &str, options: Options) -> Result<Self, ClusterError> {
        let password = self.password()?;
        let from = self.connection(name);
        Self::create_with(options, |standby| {
            standby.write_files_beside_data(&password)?;
            let incomplete = standby.dir.join("data.begun");
            let mut command = standby.account.command(Path::new("cp"), &standby.dir);
            command.arg("--archive").arg(self.data()).arg(&incomplete);
            standby.run_to_success("cp", command)?;
            let from = format!("{from} password={password}");
            standby.become_standby(&incomplete, &from, None)
        })
    }

    /// Replaces the data of this stopped server with those of a copy, which [`Cluster::standby`] has made and which was
    /// never started. The server then starts as of the time of the copy, and is not a standby.
    ///
    /// # Errors
    /// [`ClusterError::Io`]. The server's own data may then be lost.
    pub fn restore(&self, copy: &Self) -> Result<(), ClusterError> {
        let (data, from) = (self.data(), copy.data());
        let signal = from.join("standby.signal");
        std::fs::remove_file(&signal).map_err(ClusterError::io("remove", &signal))?;
        std::fs::remove_dir_all(&data).map_err(ClusterError::io("remove", &data))?;
        std::fs::rename(&from, &data).map_err(ClusterError::io("rename", &from))
    }

    /// Promotes a running standby, and returns when the server accepts writes.
    ///
    /// # Errors
    /// The error of `pg_ctl`, after a minute at the latest.
    pub fn promote(&self) -> Result<(), ClusterError> {
        let mut command = self.program("pg_ctl");
        command.args(["promote", "--silent", "--wait", "--timeout", PROMOTE_LIMIT]);
        command.arg("--pgdata").arg(self.data());
        self.run_to_success("pg_ctl", command)
    }

    /// Returns the command of a program of this server, under the server's account.
    fn program(&self, name: &str) -> Command {
        self.account.command(&self.binaries.path(name), &self.dir)
    }

    /// Executes a program of the server, and fails if its status is not 0.
    fn run_to_success(&self, program: &'static str, command: Command) -> Result<(), ClusterError> {
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
