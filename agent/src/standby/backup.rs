//! The copy of the source by `pg_basebackup`.

use std::convert::Infallible;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use connect::Connected;
use plans::render::bytes;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use super::directory::DataDirectory;
use super::source::Source;
use super::{StandbyError, progress};

/// The interval between two observations.
pub(super) const INTERVAL: Duration = Duration::from_millis(500);
/// The interval between two lines about the progress.
const LINES: Duration = Duration::from_secs(5);
/// How often the agent looks whether a process has ended.
const END_TRIES: u32 = 20;
/// The progress that the server reports of the copy under this name.
const PROGRESS: &str = "
    select p.phase, p.backup_total, p.backup_streamed
    from pg_catalog.pg_stat_progress_basebackup p join pg_catalog.pg_stat_replication r using (pid)
    where r.application_name = $1";
/// `pg_basebackup` connects to no database, and pg_hba.conf has a word of its own for this.
const HINT: &str = "the role needs a line for the database `replication` in pg_hba.conf of the source, from the address of this machine, and the source two free WAL senders";

/// Copies the source into the directory. After an error, and after an interruption, the program has ended.
pub(super) async fn run(
    source: &Source,
    session: &Connected,
    slot: &str,
    command: BackupCommand<'_>,
) -> Result<(), StandbyError> {
    let mut child = command.spawn(source, slot)?;
    let mut stderr = child.stderr.take();
    let read = async {
        let mut messages = String::new();
        if let Some(stderr) = stderr.as_mut() {
            // What cannot be read is missing in the message only.
            let _ = stderr.read_to_string(&mut messages).await;
        }
        messages
    };
    let ended = tokio::select! {
        ended = async { tokio::join!(read, child.wait()) } => Some(ended),
        never = report(session, slot) => match never {},
        () = interrupted() => None,
    };
    let Some((messages, status)) = ended else {
        end(&mut child).await;
        return Err(StandbyError::new("the command was interrupted", ""));
    };
    let status = status.map_err(StandbyError::io("wait for pg_basebackup", ""))?;
    if status.success() {
        progress("the copy is complete");
        return Ok(());
    }
    let hint = if messages.contains("pg_hba.conf") {
        HINT
    } else {
        ""
    };
    Err(StandbyError::new(
        format!(
            "shard {}: pg_basebackup failed ({status}): {}",
            source.name,
            messages.trim()
        ),
        hint,
    ))
}

/// Waits until a user, a closed terminal or the service manager ends this program. From the first call on, these signals
/// end nothing else.
pub(super) async fn interrupted() {
    let [terminate, hang_up] =
        [SignalKind::terminate(), SignalKind::hangup()].map(|kind| signal(kind).ok());
    let wait = |signal: Option<Signals>| async move {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(terminate) => {}
        () = wait(hang_up) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// Ends `pg_basebackup` and its own child, which receives the log. Otherwise they would still write while the files are
/// removed.
async fn end(child: &mut Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    let Some(group) = group.and_then(Pid::from_raw) else {
        return;
    };
    // A failure means that no process is left.
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait().await;
    for _ in 0..END_TRIES {
        if test_kill_process_group(group).is_err() {
            return;
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// How `pg_basebackup` is started.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackupCommand<'a> {
    pub(super) program: &'a Path,
    pub(super) directory: &'a DataDirectory,
    pub(super) max_rate: Option<&'a str>,
}

impl BackupCommand<'_> {
    /// Starts `pg_basebackup` as the leader of a process group.
    fn spawn(self, source: &Source, slot: &str) -> Result<Child, StandbyError> {
        let resolved = source.dsn.resolve().map_err(|error| {
            StandbyError::new(error.to_string(), error.hint().unwrap_or_default())
        })?;
        let mut command = Command::new(self.program);
        for (name, value) in resolved.variables() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("PGAPPNAME", slot)
            .env("LC_ALL", "C")
            .arg("--pgdata")
            .arg(self.directory.path())
            .args(["--slot", slot, "--write-recovery-conf", "--no-password"])
            .args(["--wal-method", "stream", "--checkpoint", "fast"])
            .args(self.max_rate.map(|rate| format!("--max-rate={rate}")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let action = format!("start {}", self.program.display());
        command.spawn().map_err(StandbyError::io(&action, ""))
    }
}

/// Writes lines about the progress until it is dropped.
async fn report(session: &Connected, slot: &str) -> Infallible {
    let began = Instant::now();
    let mut last = String::new();
    let mut ticks = tokio::time::interval(LINES);
    loop {
        ticks.tick().await;
        // The progress is only for people: without it the copy continues.
        let Ok(Some(row)) = session.query_opt(PROGRESS, &[&slot]).await else {
            continue;
        };
        let line = progress_line(row.get(0), row.get(1), row.get(2), began.elapsed());
        if line != last {
            progress(&line);
            last = line;
        }
    }
}

/// Returns the line about a phase, with the copied part and the rest of the time if they are known.
fn progress_line(phase: &str, total: Option<i64>, copied: i64, elapsed: Duration) -> String {
    let Some(total) = total.filter(|total| *total > 0 && copied > 0) else {
        return format!("base backup: {phase}");
    };
    let percent = (copied.saturating_mul(100) / total).min(100);
    let seconds = i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX).max(1);
    let rate = (copied / seconds).max(1);
    let left = (total - copied).max(0) / rate;
    format!(
        "base backup: {} of {} ({percent} %), {}/s, about {left} s left",
        bytes(copied),
        bytes(total),
        bytes(rate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_is_known() {
        let mib = 1 << 20;
        let line = |total, copied| {
            progress_line(
                "streaming database files",
                total,
                copied,
                Duration::from_secs(10),
            )
        };
        assert_eq!(line(None, 7), "base backup: streaming database files");
        assert_eq!(line(Some(mib), 0), "base backup: streaming database files");
        assert_eq!(
            line(Some(400 * mib), 100 * mib),
            "base backup: 100.0 MiB of 400.0 MiB (25 %), 10.0 MiB/s, about 30 s left"
        );
        assert_eq!(
            line(Some(100 * mib), 101 * mib),
            "base backup: 101.0 MiB of 100.0 MiB (100 %), 10.0 MiB/s, about 0 s left"
        );
    }
}
