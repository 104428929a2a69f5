//! The identity of this agent process, and the keys of earlier processes that have ended.
//!
//! The controller accepts only one process per agent name at a time. It accepts a new process only after the previous
//! one has been silent for a while. A process that restarts on the same host need not wait: it sends the keys of the
//! earlier processes, which it reads from a file in the folder of the spools. Each process locks the file while it
//! runs, so only keys of ended processes are sent.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use plans::id::{AgentName, InstanceId};
use plans::wire::WireSecret;

/// Maximum number of keys in the file. It is large enough that the keys of a few processes that fail at their start do
/// not replace the key of the last process that worked.
const MAX_KEYS: usize = 8;

/// The identity of this process.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    pub(super) instance: InstanceId,
    /// The secret key of this process, which it sends only with claims and heartbeats.
    pub(super) key: WireSecret,
    pub(super) host: String,
    /// Keys of earlier processes, the newest first.
    pub(super) ended_keys: Vec<WireSecret>,
    /// The key file. It is locked while this process runs.
    _file: Option<File>,
}

impl WorkerProcess {
    /// Starts a new process of the agent `name`, which keeps its spools in `spools`.
    pub(super) fn start(name: &AgentName, spools: &Path) -> Self {
        let key = WireSecret::from_bits(rand::random());
        let locked = lock_and_add_key(&key_file_path(name, spools), &key);
        let (file, ended_keys) = locked.unwrap_or_else(|error| {
            let path = key_file_path(name, spools);
            tracing::warn!(path = %path.display(), %error, "the keys of earlier processes cannot be read");
            (None, Vec::new())
        });
        Self {
            instance: InstanceId(uuid::Uuid::new_v4().to_string()),
            key,
            host: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            ended_keys,
            _file: file,
        }
    }
}

/// Returns the path of the agent's key file. The path encodes the name, which may contain any character.
fn key_file_path(name: &AgentName, spools: &Path) -> PathBuf {
    let is_unescaped = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let encoded: String = name
        .as_str()
        .bytes()
        .map(|byte| match is_unescaped(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02x}"),
        })
        .collect();
    spools.join(format!("{encoded}.process"))
}

/// Locks the key file and writes `key` before the keys in it. Returns the locked file and the earlier keys; no file and
/// no keys if another process has locked it.
fn lock_and_add_key(
    path: &Path,
    key: &WireSecret,
) -> std::io::Result<(Option<File>, Vec<WireSecret>)> {
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
    let earlier: Vec<WireSecret> = text
        .lines()
        .take(MAX_KEYS)
        .map(WireSecret::from_text)
        .collect();
    let lines = std::iter::once(key).chain(&earlier).map(WireSecret::reveal);
    let lines: Vec<&str> = lines.take(MAX_KEYS).collect();
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(lines.join("\n").as_bytes())?;
    file.sync_data()?;
    Ok((Some(file), earlier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn create_folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("{test}-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_process_reads_only_the_keys_of_ended_processes() {
        let folder = create_folder("process");
        let name = AgentName::from("a/1");
        let first = WorkerProcess::start(&name, &folder);
        assert_eq!(first.ended_keys, []);
        assert!(!first.host.is_empty());
        // The first process still holds the lock.
        let concurrent = WorkerProcess::start(&name, &folder);
        assert_eq!(concurrent.ended_keys, []);
        let (first_key, concurrent_key) = (first.key.clone(), concurrent.key.clone());
        drop((first, concurrent));
        let second = WorkerProcess::start(&name, &folder);
        assert_eq!(second.ended_keys, std::slice::from_ref(&first_key));
        assert_ne!(second.key, concurrent_key);
        let second_key = second.key.clone();
        drop(second);
        assert_eq!(
            WorkerProcess::start(&name, &folder).ended_keys,
            [second_key, first_key]
        );
        assert_eq!(WorkerProcess::start(&"a".into(), &folder).ended_keys, []);
    }

    #[test]
    fn only_the_user_can_read_the_key_file_and_its_size_is_limited() {
        let folder = create_folder("kept");
        let name = AgentName::from("a1");
        for _ in 0..2 * MAX_KEYS {
            drop(WorkerProcess::start(&name, &folder));
        }
        let path = folder.join("a1.process");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), MAX_KEYS);
    }

    #[test]
    fn an_agent_starts_without_a_key_file() {
        let process = WorkerProcess::start(&"a1".into(), Path::new("/dev/null/spool"));
        assert_eq!(process.ended_keys, []);
    }
}
