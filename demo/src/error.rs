//! Why a run did not end as it was meant to.

use crate::api::ApiError;
use crate::checker::CheckError;
use crate::ledger::BaselineError;
use crate::leftovers::LeftoversError;
use crate::shop::ShopError;
use plans::state::migration::MigrationState;
use std::path::PathBuf;

/// A run that did not end as it was meant to. Everything that it started was stopped again.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A database server.
    #[error(transparent)]
    Cluster(#[from] cluster::ClusterError),
    /// A connection string.
    #[error(transparent)]
    Dsn(#[from] connect::DsnError),
    /// Options that contradict each other.
    #[error(transparent)]
    Options(#[from] crate::options::OptionError),
    /// The shop's tables and rows.
    #[error(transparent)]
    Shop(#[from] ShopError),
    /// The first digest.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// The client library.
    #[error(transparent)]
    Client(#[from] client::ClientError),
    /// The controller.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The checker.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The count of what is left.
    #[error(transparent)]
    Leftovers(#[from] LeftoversError),
    /// A file, a socket or a task.
    #[error("could not {action}")]
    Io {
        /// What was tried.
        action: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A program is not where it should be.
    #[error("program {} is missing", path.display())]
    ProgramMissing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A program ended by itself.
    #[error("{program} gave no verdict: {output}")]
    Program {
        /// Its name.
        program: String,
        /// What it wrote.
        output: String,
    },
    /// A small disk could not be mounted.
    #[error("could not mount a disk at {}: {output}", path.display())]
    NoMount {
        /// Where.
        path: PathBuf,
        /// What mount said.
        output: String,
    },
    /// A clock for one server could not be built.
    #[error("could not build a clock: {output}")]
    NoClock {
        /// What the compiler said.
        output: String,
    },
    /// Nothing of what was asked for can be done on this machine.
    #[error("none of these cases can be run here: {}", reasons.join("; "))]
    LeftOut {
        /// What is missing.
        reasons: Vec<String>,
    },
    /// Something did not happen in time.
    #[error("waited {seconds} s in vain for {what}")]
    Stalled {
        /// What was waited for.
        what: String,
        /// For how long.
        seconds: u64,
    },
    /// The migration stopped.
    #[error("migration {id} is {state}: {reason}")]
    Stopped {
        /// The migration.
        id: String,
        /// Its state.
        state: MigrationState,
        /// The steps' failures.
        reason: String,
    },
    /// The report says so.
    #[error("the run ended, but not as it must: {}", problems.join("; "))]
    Unclean {
        /// What is amiss.
        problems: Vec<String>,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl DemoError {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// What mends it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Cluster(error) => error.hint().map(str::to_owned),
            Self::Client(error) => error.hint().map(str::to_owned),
            Self::ProgramMissing { .. } => {
                Some("build all programs first: cargo build --release".to_owned())
            }
            Self::NoMount { .. } => {
                Some("a disk that is full takes a file system of its own: run it as root, with the right to mount".to_owned())
            }
            Self::NoClock { .. } => Some("install a C compiler: scripts/setup demo".to_owned()),
            Self::Unclean { .. } | Self::Stopped { .. } | Self::Stalled { .. } => {
                Some("run it again with --keep and look at the logs".to_owned())
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
