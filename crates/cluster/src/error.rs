//! What can go wrong with a cluster, and what mends it.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// A cluster could not be made, started, stopped or removed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No folder holds the programs.
    #[error("postgresql {version} {what} not found in {searched}")]
    BinariesMissing {
        /// Server or client programs.
        what: &'static str,
        /// The major version asked for, or `15 or newer`.
        version: String,
        /// The folders that were searched.
        searched: String,
    },
    /// The process is root and the account for the server does not exist.
    #[error("user {user} does not exist and postgresql refuses to run as root")]
    AccountMissing {
        /// The account that was looked up.
        user: &'static str,
    },
    /// The server's account cannot enter a folder above the cluster.
    #[error("directory {} cannot be entered by user {user}", path.display())]
    Unreachable {
        /// The first folder that is closed.
        path: PathBuf,
        /// The account of the server.
        user: &'static str,
    },
    /// Somebody else owns the folder that clusters are to be made in.
    #[error("directory {} is a link or belongs to another user", path.display())]
    ForeignBase {
        /// The folder.
        path: PathBuf,
    },
    /// A cluster of this name is there already.
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
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A server program ended with an error.
    #[error("{program} failed with {status}: {output}")]
    Program {
        /// The program's name.
        program: &'static str,
        /// Its exit status.
        status: std::process::ExitStatus,
        /// The end of what it wrote.
        output: String,
    },
    /// The server did not start.
    #[error("cluster {name} did not start: {log}")]
    Start {
        /// The cluster's name.
        name: String,
        /// What the server logged during this start, at most the last lines.
        log: String,
    },
    /// The server is not running.
    #[error("cluster {name} is not running")]
    NotRunning {
        /// The cluster's name.
        name: String,
    },
    /// Processes of the server outlived the time that they were given.
    #[error("cluster {name} still has processes after {waited:?}")]
    Lingering {
        /// The cluster's name.
        name: String,
        /// The time that was waited.
        waited: Duration,
    },
}

impl ClusterError {
    /// What mends it, where that is known.
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
            Self::Lingering { .. } => Some("end the listed server's processes by hand"),
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
