//! The server's first process: found by its pid file, stopped in order, or crashed on purpose.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::process::{Process, have_ended_within, wait_until};

const PID_FILE: &str = "postmaster.pid";
const FREEZE_LIMIT: Duration = Duration::from_secs(2);
/// SIGKILL works at once except in uninterruptible disk waits.
pub(crate) const KILL_LIMIT: Duration = Duration::from_secs(30);

/// The running postmaster of a data folder; a stale pid file gives none.
pub(crate) fn running(data: &Path) -> Option<Process> {
    let process = Process::find(pid_file_line(data, 0)?.parse().ok()?)?;
    // The postmaster works in its data folder: this tells it from a process that got its id later.
    let work_dir = std::fs::read_link(format!("/proc/{}/cwd", process.pid)).ok()?;
    (work_dir == data.canonicalize().ok()?).then_some(process)
}

/// The port of the running server, as its pid file says.
pub(crate) fn port(data: &Path) -> Option<u16> {
    pid_file_line(data, 3)?.parse().ok()
}

/// Whether the running server accepts connections within `limit`.
pub(crate) fn ready_within(data: &Path, limit: Duration) -> bool {
    wait_until(limit, || {
        pid_file_line(data, 7).is_some_and(|state| state == "ready")
    })
}

/// Stops the server by `signal` and says whether every process ended within `limit`.
pub(crate) fn stop(postmaster: Process, signal: Signal, limit: Duration) -> bool {
    postmaster.signal(signal);
    have_ended_within(&[postmaster], limit)
}

/// Kills the server as a power cut would: all processes at once, nothing is cleaned up.
pub(crate) fn crash(postmaster: Process) -> bool {
    let processes = frozen_family(postmaster);
    for process in &processes {
        process.signal(Signal::KILL);
    }
    have_ended_within(&processes, KILL_LIMIT)
}

/// Stops all of the server's processes where they stand.
pub(crate) fn freeze(postmaster: Process) {
    for process in frozen_family(postmaster) {
        process.freeze(FREEZE_LIMIT);
    }
}

/// The postmaster, frozen so that no child is forked between the look and what follows, and its children.
fn frozen_family(postmaster: Process) -> Vec<Process> {
    postmaster.freeze(FREEZE_LIMIT);
    let mut processes = postmaster.children();
    processes.insert(0, postmaster);
    processes
}

/// Lets the processes of a frozen server go on, the postmaster last.
pub(crate) fn thaw(postmaster: Process) {
    for process in postmaster.children() {
        process.signal(Signal::CONT);
    }
    postmaster.signal(Signal::CONT);
}

/// Removes the lock files of a server that is not running.
///
/// The server removes them itself, unless their process id is in use again or its zombie was never reaped.
/// That no process of a crashed server is left is checked by the server by means of its shared memory.
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

/// Frees the small System V segment that a crashed server leaves behind; a restart would do the same.
pub(crate) fn release_shared_memory(data: &Path) {
    let Some(line) = pid_file_line(data, 6) else {
        return;
    };
    if let Some(id) = line.split_whitespace().nth(1) {
        let freed = Command::new("ipcrm").args(["-m", id]).output();
        tracing::debug!(
            segment = id,
            ok = freed.is_ok_and(|it| it.status.success()),
            "freed"
        );
    }
}

/// Lines: pid, data folder, start time, port, socket folder, address, shared memory key and id, state.
fn pid_file_line(data: &Path, index: usize) -> Option<String> {
    let text = std::fs::read_to_string(data.join(PID_FILE)).ok()?;
    text.lines().nth(index).map(|line| line.trim().to_owned())
}
