//! Why a run did not end as intended.

use crate::api::ApiError;
use crate::checker::CheckError;
use crate::ledger::BaselineError;
use crate::leftovers::LeftoversError;
use crate::shop::ShopError;
use plans::state::migration::MigrationState;
use std::path::PathBuf;

/// A run that did not end as intended. All programs that it had started were stopped.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// An error of a database server.
    #[error(transparent)]
    Cluster(#[from] cluster::ClusterError),
    /// An invalid connection string.
    #[error(transparent)]
    Dsn(#[from] connect::DsnError),
    /// Options that contradict each other.
    #[error(transparent)]
    Options(#[from] crate::options::OptionError),
    /// An error with the application's tables and rows.
    #[error(transparent)]
    Shop(#[from] ShopError),
    /// The baseline could not be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// An error of the client library.
    #[error(transparent)]
    Client(#[from] client::ClientError),
    /// An error of the controller.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// An error of the checker.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The leftover objects could not be counted.
    #[error(transparent)]
    Leftovers(#[from] LeftoversError),
    /// An error of a file, a socket or a task.
    #[error("could not {action}")]
    Io {
        /// What was tried.
        action: String,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// A program does not exist.
    #[error("program {} is missing", path.display())]
    ProgramMissing {
        /// The path where it was expected.
        path: PathBuf,
    },
    /// The checker program printed no result.
    #[error("{program} printed no result: {output}")]
    Program {
        /// The name of the program.
        program: String,
        /// Its output.
        output: String,
    },
    /// A small disk could not be mounted.
    #[error("could not mount a disk at {}: {output}", path.display())]
    NoMount {
        /// The mount point.
        path: PathBuf,
        /// The output of mount.
        output: String,
    },
    /// The library for a server's own clock could not be built.
    #[error("could not build the library for a server's own clock: {output}")]
    NoClock {
        /// The output of the compiler.
        output: String,
    },
    /// This machine permits none of the requested cases.
    #[error("this machine can run none of these cases: {}", reasons.join("; "))]
    LeftOut {
        /// What is missing.
        reasons: Vec<String>,
    },
    /// Something did not happen within its time limit.
    #[error("waited {seconds} s for {what}, which did not happen")]
    Stalled {
        /// What was expected.
        what: String,
        /// The time limit in seconds.
        seconds: u64,
    },
    /// The migration stopped.
    #[error("migration {id} is {state}: {reason}")]
    Stopped {
        /// The migration.
        id: String,
        /// The state of the migration.
        state: MigrationState,
        /// The failures of its steps.
        reason: String,
    },
    /// The report contains problems.
    #[error("the run ended with problems: {}", problems.join("; "))]
    Unclean {
        /// The problems.
        problems: Vec<String>,
    },
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

impl DemoError {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// Returns what the user can do, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Cluster(error) => error.hint().map(str::to_owned),
            Self::Client(error) => error.hint().map(str::to_owned),
            Self::ProgramMissing { .. } => {
                Some("build all programs first: cargo build --release".to_owned())
            }
            Self::NoMount { .. } => {
                Some("a full disk needs its own file system: run the demo as root, with the permission to mount".to_owned())
            }
            Self::NoClock { .. } => Some("install a C compiler: scripts/setup demo".to_owned()),
            Self::Unclean { .. } | Self::Stopped { .. } | Self::Stalled { .. } => {
                Some("run it again with --keep, and read the logs in its folder".to_owned())
            }
            Self::Dsn(_)
            | Self::Options(_)
            | Self::Shop(_)
            | Self::Baseline(_)
            | Self::Api(_)
            | Self::Check(_)
            | Self::Leftovers(_)
            | Self::Io { .. }
            | Self::Program { .. }
            | Self::LeftOut { .. }
            | Self::Interrupted => None,
        }
    }
}
