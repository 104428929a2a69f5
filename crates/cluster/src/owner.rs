//! Records which process owns a cluster, and removes clusters whose process has ended.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::process::Process;
use crate::{ClusterError, postmaster};

/// The file in a cluster's folder that names the process to which the cluster belongs: process id, start time, boot id,
/// and whether the cluster is kept.
const OWNER_FILE: &str = "owner";
/// The file in the base folder that a sweep locks.
const SWEEP_LOCK: &str = ".sweep";
/// The last word of the owner file of a cluster that no sweep removes.
const KEPT: &str = "kept";
/// The longest wait for an immediate stop. It takes milliseconds, unless the server is frozen.
const QUIT_LIMIT: Duration = Duration::from_secs(10);

/// Records in the owner file that the cluster in `dir` belongs to this process, and whether it is kept.
pub(crate) fn claim(dir: &Path, keep: bool) -> Result<(), ClusterError> {
    let path = dir.join(OWNER_FILE);
    let own = i32::try_from(std::process::id())
        .ok()
        .and_then(Process::find);
    let started = own.map_or(0, |process| process.started);
    let policy = if keep { KEPT } else { "temporary" };
    let text = format!("{} {started} {} {policy}\n", std::process::id(), boot_id());
    std::fs::write(&path, text).map_err(ClusterError::io("write", &path))
}

/// Stops and removes the clusters in `base` whose owner has ended. Returns their number.
///
/// Clusters that are to be kept, and folders that are no clusters, stay unchanged.
///
/// # Errors
/// [`ClusterError::Io`] if a folder cannot be read or removed, [`ClusterError::Lingering`] if a server does not stop.
pub fn sweep(base: &Path) -> Result<usize, ClusterError> {
    if !base.is_dir() {
        return Ok(0);
    }
    let path = base.join(SWEEP_LOCK);
    let lock = std::fs::File::create(&path).map_err(ClusterError::io("create", &path))?;
    lock.lock().map_err(ClusterError::io("lock", &path))?;
    let mut swept = 0;
    for entry in std::fs::read_dir(base)
        .map_err(ClusterError::io("read", base))?
        .flatten()
    {
        if is_orphan(&entry.path()) {
            remove(&entry.path())?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Stops the processes that run in the cluster's folder, and removes the folder. The owner file is removed last.
pub(crate) fn remove(dir: &Path) -> Result<(), ClusterError> {
    let data = dir.join("data");
    if let Some(process) = postmaster::running(&data) {
        let ended = postmaster::stop(process, Signal::QUIT, QUIT_LIMIT);
        if !ended && !postmaster::crash(process) {
            let name = dir.display().to_string();
            return Err(ClusterError::Lingering {
                name,
                waited: postmaster::KILL_LIMIT,
            });
        }
    }
    postmaster::release_shared_memory(&data);
    // The folder with the owner file is removed last: if the removal is interrupted, the next sweep completes it.
    for path in [data.as_path(), dir] {
        match std::fs::remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(ClusterError::io("remove", path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether the process of this cluster has ended, and the cluster is not kept.
fn is_orphan(dir: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(dir.join(OWNER_FILE)) else {
        return false;
    };
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [pid, started, boot, policy] = fields[..] else {
        return false;
    };
    let (Ok(pid), Ok(started)) = (pid.parse(), started.parse()) else {
        return false;
    };
    let is_owner_alive = boot == boot_id() && Process { pid, started }.is_alive();
    !is_owner_alive && policy != KEPT
}

/// Returns the kernel's id of this boot: process ids of an earlier boot mean nothing.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| "unknown".to_owned(), |id| id.trim().to_owned())
}
