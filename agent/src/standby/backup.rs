//! The copy of the source by `pg_basebackup`.

use std::convert::Infallible;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cluster::Binaries;
use connect::Connected;
use plans::render::bytes;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

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
    directory: &DataDirectory,
    max_rate: Option<&str>,
) -> Result<(), StandbyError> {
    let mut child = spawn(source, slot, directory, max_rate)?;
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
    Err(StandbyError::new(
        format!(
            "shard {}: pg_basebackup failed ({status}): {}",
            source.name,
            messages.trim()
        ),
        HINT,
    ))
}

/// Waits until a user or the service manager ends this program.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        },
        Err(_) => drop(tokio::signal::ctrl_c().await),
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

/// Starts `pg_basebackup` as the leader of a process group.
fn spawn(
    source: &Source,
    slot: &str,
    directory: &DataDirectory,
    max_rate: Option<&str>,
) -> Result<Child, StandbyError> {
    let program = Binaries::for_backup(source.major)
        .map_err(|error| StandbyError::new(error.to_string(), error.hint().unwrap_or_default()))?
        .path("pg_basebackup");
    let resolved = source
        .dsn
        .resolve()
        .map_err(|error| StandbyError::new(error.to_string(), error.hint().unwrap_or_default()))?;
    let mut command = Command::new(&program);
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
        .arg(directory.path())
        .args(["--slot", slot, "--write-recovery-conf", "--no-password"])
        .args(["--wal-method", "stream", "--checkpoint", "fast"])
        .args(max_rate.map(|rate| format!("--max-rate={rate}")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let started = command.spawn();
    started.map_err(StandbyError::io(
        &format!("start {}", program.display()),
        "",
    ))
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
