//! A cluster: start it, stop it, crash it, remove it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::account::Account;
use crate::{Binaries, ClusterError, Options, owner, port, postmaster};

pub(crate) const SETTINGS_FILE: &str = "shardwright.conf";
/// The number of ports with which a start is tried, unless the port is fixed.
const PORT_ATTEMPTS: u32 = 10;
/// The longest wait until a server is ready.
const START_LIMIT: Duration = Duration::from_secs(120);
/// The longest wait for a fast shutdown.
const FAST_LIMIT: Duration = Duration::from_secs(120);
/// The longest wait for an immediate shutdown.
const IMMEDIATE_LIMIT: Duration = Duration::from_secs(30);
/// The number of lines of a program's output that an error contains.
const REPORTED_LINES: usize = 20;

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// The server ends its sessions and writes a checkpoint.
    Fast,
    /// The server's processes end immediately. The next start performs crash recovery.
    Immediate,
}

/// A private PostgreSQL cluster.
///
/// Dropping the value stops the server, and removes the folder unless it is to be kept.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) options: Options,
    pub(crate) binaries: Binaries,
    pub(crate) account: Account,
    pub(crate) dir: PathBuf,
    pub(crate) port: AtomicU16,
    /// Set by the first start. From then on clients may know the port, so it must not change.
    pub(crate) port_is_fixed: AtomicBool,
}

impl Cluster {
    /// Starts the server, and returns when it accepts connections. Does nothing if it is running.
    ///
    /// If another program has taken the port before the first start, another port is chosen.
    ///
    /// # Errors
    /// [`ClusterError::Start`] contains what the server logged.
    pub fn start(&self) -> Result<(), ClusterError> {
        for attempt in 1.. {
            if self.postmaster_pid().is_some() {
                self.wait_until_ready()?;
                break;
            }
            if self.port() == 0 {
                let free = port::free().map_err(ClusterError::io("find a port for", &self.dir))?;
                self.port.store(free, Ordering::Relaxed);
            }
            self.write_settings()?;
            let Err(log) = self.run_pg_ctl_start()? else {
                break;
            };
            let retry = attempt < PORT_ATTEMPTS && !self.port_is_fixed.load(Ordering::Relaxed);
            if !(retry && log.contains("could not bind")) {
                return Err(ClusterError::Start {
                    name: self.name().to_owned(),
                    log,
                });
            }
            self.port.store(0, Ordering::Relaxed);
        }
        self.port_is_fixed.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Stops the server, and returns when its postmaster has ended. Does nothing if it is stopped.
    ///
    /// # Errors
    /// [`ClusterError::Lingering`] after two minutes, or after half a minute for an immediate stop.
    pub fn stop(&self, how: Shutdown) -> Result<(), ClusterError> {
        let (signal, limit) = match how {
            Shutdown::Fast => (Signal::INT, FAST_LIMIT),
            Shutdown::Immediate => (Signal::QUIT, IMMEDIATE_LIMIT),
        };
        let stopped = postmaster::running(&self.data())
            .is_none_or(|process| postmaster::stop(process, signal, limit));
        if stopped {
            Ok(())
        } else {
            Err(self.lingering_error(limit))
        }
    }

    /// Stops the server with a fast shutdown, and starts it again on the same port.
    ///
    /// # Errors
    /// Those of [`Cluster::stop`] and [`Cluster::start`].
    pub fn restart(&self) -> Result<(), ClusterError> {
        self.stop(Shutdown::Fast)?;
        self.start()
    }

    /// Crashes the server: sends SIGKILL to all of its processes, and returns when they have ended.
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`], or [`ClusterError::Lingering`] after half a minute.
    pub fn kill(&self) -> Result<(), ClusterError> {
        let process =
            postmaster::running(&self.data()).ok_or_else(|| ClusterError::NotRunning {
                name: self.name().to_owned(),
            })?;
        if postmaster::crash(process) {
            Ok(())
        } else {
            Err(self.lingering_error(postmaster::KILL_LIMIT))
        }
    }

    /// Freezes all processes of the server. None of them runs until [`Cluster::thaw`].
    ///
    /// # Errors
    /// [`ClusterError::NotRunning`].
    pub fn freeze(&self) -> Result<(), ClusterError> {
        let process =
            postmaster::running(&self.data()).ok_or_else(|| ClusterError::NotRunning {
                name: self.name().to_owned(),
            })?;
        postmaster::freeze(process);
        Ok(())
    }

    /// Continues the processes of a frozen server. Does nothing if the server is stopped.
    pub fn thaw(&self) {
        if let Some(process) = postmaster::running(&self.data()) {
            postmaster::thaw(process);
        }
    }

    /// Returns the process id of the postmaster, if the server runs.
    pub fn postmaster_pid(&self) -> Option<i32> {
        postmaster::running(&self.data()).map(|process| process.pid)
    }

    /// Returns the address on which the server listens.
    pub fn host(&self) -> &'static str {
        "127.0.0.1"
    }

    /// Returns the TCP port; 0 before the first start.
    pub fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    /// Returns the name of the cluster.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Returns the cluster's folder. It also contains the unix socket, if its path is short enough.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the server's data folder.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Returns the path of the server log.
    pub fn log_file(&self) -> PathBuf {
        self.dir.join("log")
    }

    /// Returns the path of the file with the password of `postgres`. The file has no line feed.
    pub fn password_file(&self) -> PathBuf {
        self.dir.join("password")
    }

    /// Returns the programs that the cluster uses.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Returns a connection string whose password is a reference to [`Cluster::password_file`].
    ///
    /// It is the password of `postgres`. Other roles have it only if the caller sets it.
    pub fn dsn(&self, dbname: &str, user: &str) -> String {
        self.dsn_by(self.port(), dbname, user)
    }

    /// Returns the same connection string for a proxy that listens on `port`.
    pub fn dsn_by(&self, port: u16, dbname: &str, user: &str) -> String {
        let password = format!("${{file:{}}}", self.password_file().display());
        format!(
            "host={} port={} user={} dbname={} password={}",
            self.host(),
            port,
            quote(user),
            quote(dbname),
            quote(&password)
        )
    }

    /// Runs `pg_ctl start`. The inner error is what the server logged.
    fn run_pg_ctl_start(&self) -> Result<Result<(), String>, ClusterError> {
        let data = self.data();
        postmaster::remove_stale_locks(&self.dir).map_err(ClusterError::io("clear", &self.dir))?;
        let log = self.log_file();
        let old_length = std::fs::read(&log).map_or(0, |text| text.len());
        let mut command = self
            .account
            .command(&self.binaries.path("pg_ctl"), &self.dir);
        let variables = self.options.variables.iter();
        command.envs(variables.map(|(name, value)| (name, value)));
        command.args(["start", "--silent", "--wait", "--timeout"]);
        command.arg(START_LIMIT.as_secs().to_string());
        command.arg("--pgdata").arg(&data).arg("--log").arg(&log);
        let (status, output) = run(command, "pg_ctl", &self.dir)?;
        if status.success() {
            return Ok(Ok(()));
        }
        let logged = std::fs::read(&log).unwrap_or_default();
        let logged =
            String::from_utf8_lossy(logged.get(old_length..).unwrap_or_default()).into_owned();
        Ok(Err(tail(if logged.trim().is_empty() {
            &output
        } else {
            &logged
        })))
    }

    fn wait_until_ready(&self) -> Result<(), ClusterError> {
        if postmaster::ready_within(&self.data(), START_LIMIT) {
            return Ok(());
        }
        let log = format!("running, but not ready after {START_LIMIT:?}");
        Err(ClusterError::Start {
            name: self.name().to_owned(),
            log,
        })
    }

    fn write_settings(&self) -> Result<(), ClusterError> {
        let path = self.data().join(SETTINGS_FILE);
        let text = self.options.render(self.port(), &self.dir);
        std::fs::write(&path, text).map_err(ClusterError::io("write", &path))?;
        self.account.make_owner_of(&path)
    }

    /// Returns the error for a server that has not stopped in this time.
    fn lingering_error(&self, waited: Duration) -> ClusterError {
        ClusterError::Lingering {
            name: self.name().to_owned(),
            waited,
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let done = if self.options.keep {
            self.stop(Shutdown::Fast)
        } else {
            owner::remove(&self.dir)
        };
        if let Err(error) = done {
            tracing::warn!(cluster = self.name(), %error, "cluster not cleaned up");
        }
    }
}

/// Executes a program and returns its status and its output, stdout before stderr.
pub(crate) fn run(
    mut command: Command,
    program: &'static str,
    dir: &Path,
) -> Result<(std::process::ExitStatus, String), ClusterError> {
    tracing::debug!(program, cluster = %dir.display(), "running");
    let path = PathBuf::from(command.get_program());
    let output = command.output().map_err(ClusterError::io("run", &path))?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status, String::from_utf8_lossy(&text).into_owned()))
}

/// Returns the last [`REPORTED_LINES`] lines.
pub(crate) fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(REPORTED_LINES)..].join("\n")
}

/// Quotes a value for a connection string.
fn quote(value: &str) -> String {
    if !value.is_empty() && !value.contains([' ', '\'', '\\']) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}
