//! The errors of clusters, each with a hint.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a cluster could not be created, started, stopped or removed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The programs are in none of the folders.
    #[error("postgresql {version} {what} not found in {searched}")]
    BinariesMissing {
        /// The kind of programs: server or client.
        what: &'static str,
        /// The requested major version, or `15 or newer`.
        version: String,
        /// The searched folders.
        searched: String,
    },
    /// This process runs as root, and the account for the server does not exist.
    #[error("user {user} does not exist and postgresql refuses to run as root")]
    AccountMissing {
        /// The name of the account.
        user: &'static str,
    },
    /// The server's account may not enter a folder above the cluster.
    #[error("directory {} cannot be entered by user {user}", path.display())]
    Unreachable {
        /// The first folder that it may not enter.
        path: PathBuf,
        /// The server's account.
        user: &'static str,
    },
    /// The folder in which clusters are created belongs to another user.
    #[error("directory {} is a link or belongs to another user", path.display())]
    ForeignBase {
        /// The folder.
        path: PathBuf,
    },
    /// A cluster with this name exists already.
    #[error("cluster directory {} already exists", path.display())]
    Exists {
        /// The cluster's folder.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("could not {action} {}", path.display())]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// A server program ended with an error.
    #[error("{program} failed with {status}: {output}")]
    Program {
        /// The program's name.
        program: &'static str,
        /// The exit status.
        status: std::process::ExitStatus,
        /// The last lines of its output.
        output: String,
    },
    /// The server did not start.
    #[error("cluster {name} did not start: {log}")]
    Start {
        /// The cluster's name.
        name: String,
        /// What the server logged during this start, at most its last lines.
        log: String,
    },
    /// The server is not running.
    #[error("cluster {name} is not running")]
    NotRunning {
        /// The cluster's name.
        name: String,
    },
    /// Processes of the server still ran after the time limit.
    #[error("cluster {name} still has processes after {waited:?}")]
    Lingering {
        /// The cluster's name.
        name: String,
        /// The time limit.
        waited: Duration,
    },
}

impl ClusterError {
    /// Returns what the user can do, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::BinariesMissing { .. } => Some(
                "install the package postgresql-15, or set SHARDWRIGHT_PG_BIN to the folder of its programs",
            ),
            Self::AccountMissing { .. } => {
                Some("install the package postgresql-15, or run as an ordinary user")
            }
            Self::Unreachable { .. } => {
                Some("choose a directory below folders of mode 0755, for example under /tmp")
            }
            Self::ForeignBase { .. } => Some("remove it, or set TMPDIR to a directory of your own"),
            Self::Exists { .. } => Some("choose another name, or remove the directory"),
            Self::Lingering { .. } => Some("end the processes of this server by hand"),
            Self::Io { .. }
            | Self::Program { .. }
            | Self::Start { .. }
            | Self::NotRunning { .. } => None,
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
