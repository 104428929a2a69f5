//! The postmaster, the first process of a server: finds it by its pid file, stops it, or crashes it intentionally.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::process::{Process, have_ended_within, wait_until};

const PID_FILE: &str = "postmaster.pid";
/// The longest wait until a process has stopped after SIGSTOP.
const FREEZE_LIMIT: Duration = Duration::from_secs(2);
/// The longest wait after SIGKILL. It works immediately, except while a process waits for a disk.
pub(crate) const KILL_LIMIT: Duration = Duration::from_secs(30);

/// Returns the running postmaster of a data folder. A stale pid file returns `None`.
pub(crate) fn running(data: &Path) -> Option<Process> {
    let process = Process::find(pid_file_line(data, 0)?.parse().ok()?)?;
    // A postmaster's working directory is its data folder. This distinguishes it from a later process with the same id.
    let work_dir = std::fs::read_link(format!("/proc/{}/cwd", process.pid)).ok()?;
    (work_dir == data.canonicalize().ok()?).then_some(process)
}

/// Returns the port of the running server, according to its pid file.
pub(crate) fn port(data: &Path) -> Option<u16> {
    pid_file_line(data, 3)?.parse().ok()
}

/// Returns whether the running server accepts connections within `limit`.
pub(crate) fn ready_within(data: &Path, limit: Duration) -> bool {
    wait_until(limit, || {
        pid_file_line(data, 7).is_some_and(|state| state == "ready")
    })
}

/// Stops the server with `signal`. Returns whether every process ended within `limit`.
pub(crate) fn stop(postmaster: Process, signal: Signal, limit: Duration) -> bool {
    postmaster.signal(signal);
    have_ended_within(&[postmaster], limit)
}

/// Kills all processes of the server at once, without a shutdown, as in a power failure.
pub(crate) fn crash(postmaster: Process) -> bool {
    let processes = freeze_all(postmaster);
    for process in &processes {
        process.signal(Signal::KILL);
    }
    have_ended_within(&processes, KILL_LIMIT)
}

/// Freezes all processes of the server with SIGSTOP.
pub(crate) fn freeze(postmaster: Process) {
    for process in freeze_all(postmaster) {
        process.freeze(FREEZE_LIMIT);
    }
}

/// Freezes the postmaster, so that it cannot start more processes, and returns it and its child processes.
fn freeze_all(postmaster: Process) -> Vec<Process> {
    postmaster.freeze(FREEZE_LIMIT);
    let mut processes = postmaster.children();
    processes.insert(0, postmaster);
    processes
}

/// Continues the processes of a frozen server, the postmaster last.
pub(crate) fn thaw(postmaster: Process) {
    for process in postmaster.children() {
        process.signal(Signal::CONT);
    }
    postmaster.signal(Signal::CONT);
}

/// Removes the lock files of a server that is not running.
///
/// The server itself keeps them if their process id is in use again, or if its zombie was never reaped. The server
/// checks by its shared memory that no process of a crashed server is left.
pub(crate) fn remove_stale_locks(dir: &Path) -> std::io::Result<()> {
    let is_socket_lock = |path: &Path| path.extension().is_some_and(|it| it == "lock");
    let entries = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path());
    let locks: Vec<PathBuf> = entries.filter(|path| is_socket_lock(path)).collect();
    for path in locks.into_iter().chain([dir.join("data").join(PID_FILE)]) {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Removes the small System V memory segment that a crashed server leaves. A restart would also remove it.
pub(crate) fn release_shared_memory(data: &Path) {
    let Some(line) = pid_file_line(data, 6) else {
        return;
    };
    if let Some(id) = line.split_whitespace().nth(1) {
        let removed = Command::new("ipcrm").args(["-m", id]).output();
        tracing::debug!(
            segment = id,
            ok = removed.is_ok_and(|it| it.status.success()),
            "removed a shared memory segment"
        );
    }
}

/// Returns a line of the pid file. The lines are: pid, data folder, start time, port, socket folder, address, shared
/// memory key and id, state.
fn pid_file_line(data: &Path, index: usize) -> Option<String> {
    let text = std::fs::read_to_string(data.join(PID_FILE)).ok()?;
    text.lines().nth(index).map(|line| line.trim().to_owned())
}
