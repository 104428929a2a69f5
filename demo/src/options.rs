//! What a demo run is to do.

use crate::shop::KeyShape;
use plans::request::{DualWrite, Mode};
use plans::step::{FORWARD, StepKind};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Settings of a run; every one has a default.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which operation, on which kind of map.
    pub task: DemoTask,
    /// Versions of the shards' servers.
    pub servers: Servers,
    /// Size of the shop: 1 is about two million rows.
    pub scale: f64,
    /// Clients side by side.
    pub clients: u32,
    /// Transactions per second of all clients together, at most.
    pub rate: f64,
    /// Acknowledged transactions to reach at least; by default 20,000 at scale 1 and fewer below.
    pub transactions: Option<u64>,
    /// Where to write the report as JSON.
    pub report: Option<PathBuf>,
    /// Where to write the migration's evidence, as one HTML file.
    pub evidence: Option<PathBuf>,
    /// Where to write the histories of lists, as JSON lines.
    pub history: Option<PathBuf>,
    /// A process to kill, and in which step.
    pub kill: Option<Kill>,
    /// When writes are acknowledged while both shards are kept in step.
    pub dual_write: DualWrite,
    /// Give the keys back after the flip.
    pub rollback: bool,
    /// Abort in these steps, which come before the flip: one migration after the other.
    pub abort_at: Vec<StepKind>,
    /// Pause and resume in these steps of one migration.
    pub pause_in: Vec<StepKind>,
    /// Make trouble that ends in a failed migration, mend it, and go on.
    pub troubles: Vec<Trouble>,
    /// For so many seconds a target is away, while the source's log is watched.
    pub outage_s: u32,
    /// Kill the controller and both agents here, start nothing for a while, and watch who takes writes.
    pub orphan: Option<CutoverMoment>,
    /// An agent stands still here for longer than the budget of the write-blocked window, while the application writes.
    pub stall: Option<CutoverMoment>,
    /// Leave clusters, logs and ledger in place.
    pub keep: bool,
    /// Makes the run repeatable, as far as concurrency allows.
    pub seed: u64,
    /// The folder of `shardwright`, `shardwright-agent` and `shardwright-ledger`; by default that of this program.
    pub programs: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            task: DemoTask::default(),
            servers: Servers::default(),
            scale: 1.0,
            clients: 8,
            rate: 800.0,
            transactions: None,
            report: None,
            evidence: None,
            history: None,
            kill: None,
            dual_write: DualWrite::Asynchronous,
            rollback: false,
            abort_at: Vec::new(),
            pause_in: Vec::new(),
            troubles: Vec::new(),
            outage_s: 10,
            orphan: None,
            stall: None,
            keep: false,
            seed: 1,
            programs: None,
        }
    }
}

const TRANSACTIONS: f64 = 20_500.0;
const FEWEST_TRANSACTIONS: u64 = 1_500;
const MOVING_ONLINE: u64 = 1_000;
const MOVING_OFFLINE: u64 = 100;

impl Options {
    /// Acknowledged transactions to reach at least.
    #[must_use]
    pub fn goal(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive count"
        )]
        let scaled = (self.scale.clamp(0.0, 1.0) * TRANSACTIONS) as u64;
        self.transactions.unwrap_or(scaled.max(FEWEST_TRANSACTIONS))
    }

    /// Acknowledged transactions on moving keys to reach at least when an operation ends.
    #[must_use]
    pub fn goal_on_moving_keys(&self) -> u64 {
        match self.task.mode {
            Mode::Online => MOVING_ONLINE,
            Mode::Offline => MOVING_OFFLINE,
        }
    }

    /// Whether the run is disturbed on purpose.
    pub(crate) fn disturbed(&self) -> bool {
        let steps = self.abort_at.len() + self.pause_in.len() + self.troubles.len();
        self.kill.is_some()
            || self.orphan.is_some()
            || self.stall.is_some()
            || self.rollback
            || steps > 0
    }

    fn is_synchronous(&self) -> bool {
        self.dual_write == DualWrite::Synchronous
    }

    /// Whether each shard has a server of its own, and the control store another.
    pub(crate) fn apart(&self) -> bool {
        self.task == DemoTask::default() || self.disturbed() || self.is_synchronous()
    }

    /// Checks that the options do not contradict each other.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        let plain = self.task.is_plain_split() && self.task.shape == KeyShape::Number;
        let disturbed = "only an online split in two parts, of bigint keys, can be disturbed";
        let wrong = (self.disturbed() && !plain).then_some(disturbed);
        let synchronous = "only an online split in two parts, of bigint keys, can be synchronous";
        let wrong = wrong.or((self.is_synchronous() && !plain).then_some(synchronous));
        let wrong = self.task.problem().or(wrong);
        wrong.map_or(Ok(()), |reason| Err(OptionError::Contradiction { reason }))
    }
}

mod servers;
mod task;
mod trouble;

pub use servers::Servers;
pub use task::{DemoTask, MapOperation, parse_measure, parse_shape, parse_strategy};
pub use trouble::{AfterRepair, CutoverMoment, Trouble, TroubleKind};

/// A process that takes part in a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The agent that performs the step.
    Agent,
    /// The controller.
    Controller,
    /// The PostgreSQL server that the keys leave.
    Source,
    /// The PostgreSQL server that the keys come to.
    Target,
    /// The PostgreSQL server with the control store.
    Store,
}

impl Process {
    pub(crate) const ALL: [Self; 5] = [
        Self::Agent,
        Self::Controller,
        Self::Source,
        Self::Target,
        Self::Store,
    ];

    /// The name on the command line and in the report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Controller => "controller",
            Self::Source => "source",
            Self::Target => "target",
            Self::Store => "store",
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A process to kill with SIGKILL while a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kill {
    /// Which process.
    pub process: Process,
    /// In which step.
    pub step: StepKind,
}

/// Why `PROCESS@STEP` or a step's name is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Not of the form.
    #[error("{text:?} is not of the form NAME@STEP")]
    Form {
        /// What was given.
        text: String,
    },
    /// No such process.
    #[error("{text:?} is not a process: agent, controller, source, target or store")]
    Process {
        /// What was given.
        text: String,
    },
    /// No such operation.
    #[error("{text:?} is not an operation: split, merge, move, isolate, drain or rebalance")]
    Operation {
        /// What was given.
        text: String,
    },
    /// No such strategy.
    #[error("{text:?} is not a strategy: range, hash or list")]
    Strategy {
        /// What was given.
        text: String,
    },
    /// No such shape of a key.
    #[error("{text:?} is not a key of the demo: bigint, text,bigint or timestamptz")]
    Shape {
        /// What was given.
        text: String,
    },
    /// No such measure.
    #[error("{text:?} is not a measure: rows, bytes or writes")]
    Measure {
        /// What was given.
        text: String,
    },
    /// Options that exclude each other.
    #[error("{reason}")]
    Contradiction {
        /// Which, and why.
        reason: &'static str,
    },
    /// No such trouble.
    #[error("{text:?} is not a trouble: password, disk, down or away")]
    Trouble {
        /// What was given.
        text: String,
    },
    /// No such moment.
    #[error(
        "{text:?} is not a moment of the cutover: fenced, before_check, before_seal, sealed or flipped"
    )]
    Moment {
        /// What was given.
        text: String,
    },
    /// No case of the torture.
    #[error(
        "{text:?} is no case: COMPONENT@STEP/FAULT, for example agent@copy/kill; the faults are {faults}"
    )]
    Case {
        /// What was given.
        text: String,
        /// The faults' names.
        faults: String,
    },
    /// No such step.
    #[error("{text:?} is not a step; the steps are {}", step_names())]
    Step {
        /// What was given.
        text: String,
    },
}

fn step_names() -> String {
    FORWARD.map(StepKind::name).join(", ")
}

/// The step called `text`.
///
/// # Errors
/// [`OptionError::Step`], with the names that exist.
pub fn parse_step(text: &str) -> Result<StepKind, OptionError> {
    let all = FORWARD.into_iter().chain([StepKind::Rollback]);
    all.into_iter()
        .find(|step| step.name() == text)
        .ok_or_else(|| OptionError::Step {
            text: text.to_owned(),
        })
}

impl FromStr for Kill {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let (process, step) = text.split_once('@').ok_or_else(|| OptionError::Form {
            text: text.to_owned(),
        })?;
        let process = Process::ALL
            .into_iter()
            .find(|known| known.name() == process)
            .ok_or_else(|| OptionError::Process {
                text: process.to_owned(),
            })?;
        let step = parse_step(step)?;
        Ok(Self { process, step })
    }
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.process, self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_names_a_process_and_a_step() {
        let kill: Kill = "agent@copy".parse().unwrap();
        assert_eq!((kill.process, kill.step), (Process::Agent, StepKind::Copy));
        let error = "disk@copy".parse::<Kill>().unwrap_err();
        assert!(matches!(error, OptionError::Process { .. }));
        let error = "agent@lunch".parse::<Kill>().unwrap_err();
        assert!(error.to_string().contains("open_capture"), "{error}");
    }
}
