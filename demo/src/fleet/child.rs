//! A process (controller or agent) that the demo starts, kills, restarts and stops. Its output goes to a log file.

use crate::error::DemoError;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

const STOP_LIMIT: Duration = Duration::from_secs(60);
const TAIL_LINES: usize = 25;

/// A program with its arguments, and its process while it runs.
#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    program: PathBuf,
    args: Vec<String>,
    log: PathBuf,
    /// The folder for temporary files.
    scratch: PathBuf,
    /// The port of a proxy through which the program reaches the controller; `None`: it connects directly.
    proxy_port: Option<u16>,
    process: Option<tokio::process::Child>,
}

impl Child {
    pub(crate) fn new(
        name: &str,
        program: PathBuf,
        args: &[&str],
        log: PathBuf,
        scratch: PathBuf,
    ) -> Self {
        Self {
            name: name.to_owned(),
            program,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            log,
            scratch,
            proxy_port: None,
            process: None,
        }
    }

    /// Routes requests to the controller through the proxy on `port`. The program still gets the controller's own
    /// address, and its requests contain that address.
    pub(crate) fn route_through_proxy(&mut self, port: u16) {
        self.proxy_port = Some(port);
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Starts the program with these fail points.
    pub(crate) fn start(&mut self, fail_points: &str) -> Result<(), DemoError> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let failed = |path: &Path| DemoError::io(format!("start {}", path.display()));
        let log = log.map_err(failed(&self.log))?;
        let errors = log.try_clone().map_err(failed(&self.log))?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env("TMPDIR", &self.scratch)
            .env(
                "SHARDWRIGHT_SPOOL_DIR",
                spool_folder(self.log.parent().unwrap_or(&self.log)).join(&self.name),
            )
            .env(fail_point::VARIABLE, fail_points)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            // An interrupt at the terminal reaches only the demo, which then stops its programs.
            .process_group(0)
            .kill_on_drop(true);
        if let Some(port) = self.proxy_port {
            command.env("http_proxy", format!("http://127.0.0.1:{port}"));
        }
        self.process = Some(command.spawn().map_err(failed(&self.program))?);
        Ok(())
    }

    /// Returns the process id while the program runs.
    pub(crate) fn pid(&self) -> Option<i32> {
        let id = self.process.as_ref()?.id()?;
        i32::try_from(id).ok()
    }

    /// Returns whether the log of the program contains this text.
    pub(crate) fn has_logged(&self, text: &str) -> bool {
        let log = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log).contains(text)
    }

    /// Kills the program with SIGKILL, and returns when the process has ended.
    pub(crate) async fn kill(&mut self) -> Result<(), DemoError> {
        if let Some(mut process) = self.process.take() {
            let failed = DemoError::io(format!("kill {}", self.program.display()));
            process.kill().await.map_err(failed)?;
        }
        Ok(())
    }

    /// Stops the program with SIGTERM, or with SIGKILL if it does not end.
    pub(crate) async fn stop(&mut self) -> Result<(), DemoError> {
        if let Some(pid) = self.pid().and_then(Pid::from_raw) {
            // It is no error if the process has already ended.
            let _ = kill_process(pid, Signal::TERM);
        }
        if let Some(process) = &mut self.process
            && tokio::time::timeout(STOP_LIMIT, process.wait())
                .await
                .is_ok()
        {
            self.process = None;
        }
        self.kill().await
    }
}

/// Returns the folder with the agents' spools, for a run with its files in `dir`.
pub(crate) fn spool_folder(dir: &Path) -> PathBuf {
    dir.join("spool")
}

/// Returns the last lines of a log, with its name.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    format!("--- {}\n{}\n", log.display(), last.join("\n"))
}
