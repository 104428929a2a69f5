//! The options of a new cluster.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Binaries, ClusterError};

/// The number in the name of the next temporary cluster of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The options of a new cluster: its folder, its programs and its settings.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder in which the cluster's folder is created. If it does not exist, it is created with mode 0755.
    pub dir: PathBuf,
    /// The name of the cluster's folder.
    pub name: String,
    /// Server settings. They override the default settings.
    pub settings: Vec<(String, String)>,
    /// Additional environment variables of the server.
    pub variables: Vec<(String, OsString)>,
    /// True to keep the folder when the [`crate::Cluster`] is dropped. [`crate::sweep`] never removes a kept cluster.
    pub keep: bool,
    /// The programs; `None`: the newest installed ones.
    pub binaries: Option<Binaries>,
}

impl Options {
    /// Creates options for a cluster `name` in the folder `dir`.
    pub fn new(dir: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        let (dir, name) = (dir.into(), name.into());
        Self {
            dir,
            name,
            settings: Vec::new(),
            variables: Vec::new(),
            keep: false,
            binaries: None,
        }
    }

    /// Creates options for a cluster in [`temporary_base`], with a name that no other cluster has.
    pub fn temporary(name: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self::new(
            temporary_base(),
            format!("{name}-{}-{number}", std::process::id()),
        )
    }

    /// Adds a server setting.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Adds an environment variable of the server.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Keeps the folder when the cluster is dropped.
    #[must_use]
    pub fn keep(mut self) -> Self {
        self.keep = true;
        self
    }

    /// Uses these programs.
    #[must_use]
    pub fn binaries(mut self, binaries: Binaries) -> Self {
        self.binaries = Some(binaries);
        self
    }

    /// Returns the text of the server's configuration file. If a setting occurs twice, the later line applies.
    pub(crate) fn render(&self, port: u16, socket_dir: &Path) -> String {
        let sockets = socket_dir.to_string_lossy();
        // The full name of a socket can have at most 107 bytes. If the path is too long, the server has TCP only.
        let fits = sockets.len() + ".s.PGSQL.65535.lock".len() <= 107;
        let port = port.to_string();
        let defaults = [
            ("listen_addresses", "127.0.0.1"),
            ("port", port.as_str()),
            (
                "unix_socket_directories",
                if fits { sockets.as_ref() } else { "" },
            ),
            ("unix_socket_permissions", "0700"),
            ("wal_level", "logical"),
            ("max_connections", "200"),
            ("max_wal_senders", "20"),
            ("max_replication_slots", "20"),
            ("max_prepared_transactions", "10"),
            ("fsync", "on"),
            // The memory is in files of the data folder, so that no files remain in /dev/shm after a crash.
            ("dynamic_shared_memory_type", "mmap"),
            ("log_line_prefix", "%m [%p] %a "),
            ("logging_collector", "off"),
        ];
        let options = self
            .settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let lines = defaults.into_iter().chain(options);
        lines
            .map(|(name, value)| format!("{name} = {}\n", quote(value)))
            .collect()
    }
}

/// Returns the folder of this user's temporary clusters, below the system's temporary folder.
pub fn temporary_base() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("shardwright-clusters-{user}"))
}

/// Creates the folder for clusters, or checks that an existing one is safe to use.
pub(crate) fn prepare_base(dir: &Path) -> Result<(), ClusterError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let parent = dir.parent().unwrap_or(dir);
    std::fs::create_dir_all(parent).map_err(ClusterError::io("create", parent))?;
    match std::fs::create_dir(dir) {
        Ok(()) => std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755))
            .map_err(ClusterError::io("set the mode of", dir)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let meta = dir
                .symlink_metadata()
                .map_err(ClusterError::io("read", dir))?;
            let is_own_folder = meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw();
            if is_own_folder {
                Ok(())
            } else {
                Err(ClusterError::ForeignBase {
                    path: dir.to_owned(),
                })
            }
        }
        Err(error) => Err(ClusterError::io("create", dir)(error)),
    }
}

fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_settings_come_last_and_are_quoted() {
        let options = Options::new("/x", "y")
            .setting("fsync", "off")
            .setting("a", "it's \\");
        let text = options.render(5, Path::new("/x/y"));
        assert!(
            text.ends_with("fsync = 'off'\na = 'it''s \\\\'\n"),
            "{text}"
        );
        assert!(
            text.contains("port = '5'\nunix_socket_directories = '/x/y'\n"),
            "{text}"
        );
    }

    #[test]
    fn a_path_that_is_too_long_for_a_socket_gives_tcp_only() {
        let text = Options::new("/x", "y").render(5, Path::new(&"/long".repeat(20)));
        assert!(text.contains("unix_socket_directories = ''"), "{text}");
    }
}
