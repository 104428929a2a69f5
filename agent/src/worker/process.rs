//! Which process of an agent this is, and which ones before it are gone.
//!
//! The controller gives an agent's name to one process at a time, and waits until the last one was silent for a while.
//! A process that is started again on the same host need not wait: it shows the keys of those before it, which it finds
//! in a file beside the spools. The file is locked for as long as its process lives, so that keys are only shown of
//! processes that have ended.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use plans::id::{AgentName, InstanceId};
use plans::wire::WireSecret;

/// Keys that are kept in the file: of a process that was started many times in vain none that counts is forgotten.
const KEPT: usize = 8;

/// This process.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    pub(super) instance: InstanceId,
    /// Shown with each claim and each sign of life, and nowhere else.
    pub(super) key: WireSecret,
    pub(super) host: String,
    /// Keys of the processes before it, newest first.
    pub(super) outlived: Vec<WireSecret>,
    /// Locked while this process lives.
    _file: Option<File>,
}

impl WorkerProcess {
    /// A new process of the agent, which keeps its spools in `spools`.
    pub(super) fn start(name: &AgentName, spools: &Path) -> Self {
        let key = WireSecret::of(rand::random());
        let kept = keep(&place(name, spools), &key);
        let (file, outlived) = kept.unwrap_or_else(|error| {
            let path = place(name, spools);
            tracing::warn!(path = %path.display(), %error, "processes before this one are not known");
            (None, Vec::new())
        });
        Self {
            instance: InstanceId(uuid::Uuid::new_v4().to_string()),
            key,
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            outlived,
            _file: file,
        }
    }
}

/// The file of the agent's processes; names of agents may hold anything.
fn place(name: &AgentName, spools: &Path) -> PathBuf {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let encoded: String = name
        .as_str()
        .bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02x}"),
        })
        .collect();
    spools.join(format!("{encoded}.process"))
}

/// Writes the key in front of those that are there; the locked file, and the keys that were there.
fn keep(path: &Path, key: &WireSecret) -> std::io::Result<(Option<File>, Vec<WireSecret>)> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            tracing::warn!(path = %path.display(), "another process of this agent runs on this host");
            return Ok((None, Vec::new()));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let before: Vec<WireSecret> = text.lines().take(KEPT).map(WireSecret::shown).collect();
    let lines = std::iter::once(key).chain(&before).map(WireSecret::reveal);
    let lines: Vec<&str> = lines.take(KEPT).collect();
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(lines.join("\n").as_bytes())?;
    file.sync_data()?;
    Ok((Some(file), before))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("{test}-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_process_knows_the_keys_of_those_that_have_ended_and_of_no_other() {
        let folder = folder("process");
        let name = AgentName::from("a/1");
        let first = WorkerProcess::start(&name, &folder);
        assert_eq!(first.outlived, []);
        assert!(!first.host.is_empty());
        // The first one lives.
        let beside = WorkerProcess::start(&name, &folder);
        assert_eq!(beside.outlived, []);
        let (one, other) = (first.key.clone(), beside.key.clone());
        drop((first, beside));
        let second = WorkerProcess::start(&name, &folder);
        assert_eq!(second.outlived, std::slice::from_ref(&one));
        assert_ne!(second.key, other);
        let third = second.key.clone();
        drop(second);
        assert_eq!(WorkerProcess::start(&name, &folder).outlived, [third, one]);
        assert_eq!(WorkerProcess::start(&"a".into(), &folder).outlived, []);
    }

    #[test]
    fn the_file_is_for_its_owner_alone_and_does_not_grow() {
        let folder = folder("kept");
        let name = AgentName::from("a1");
        for _ in 0..2 * KEPT {
            drop(WorkerProcess::start(&name, &folder));
        }
        let path = folder.join("a1.process");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), KEPT);
    }

    #[test]
    fn an_agent_works_where_no_file_can_be_kept() {
        let process = WorkerProcess::start(&"a1".into(), Path::new("/dev/null/spool"));
        assert_eq!(process.outlived, []);
    }
}
