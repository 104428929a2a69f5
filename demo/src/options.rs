//! The options of a demo run.

use crate::shop::KeyShape;
use plans::request::{DualWrite, Mode, Seed};
use plans::step::{FORWARD, SEEDED, StepKind};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The options of a run. Every option has a default.
#[derive(Debug, Clone)]
pub struct Options {
    /// The operation, and the kind of map.
    pub task: DemoTask,
    /// The versions of the shards' servers.
    pub servers: Servers,
    /// The size of the data: 1 is about two million rows.
    pub scale: f64,
    /// The number of concurrent clients.
    pub clients: u32,
    /// The maximum number of transactions per second of all clients together.
    pub rate: f64,
    /// The least number of acknowledged transactions; by default 20,500 at scale 1, and fewer for a smaller scale.
    pub transactions: Option<u64>,
    /// The file to which the report is written as JSON.
    pub report: Option<PathBuf>,
    /// The file to which the migration's report is written as one HTML file.
    pub evidence: Option<PathBuf>,
    /// The file to which the histories of lists are written as JSON lines.
    pub history: Option<PathBuf>,
    /// A process to kill, and the step in which it is killed.
    pub kill: Option<Kill>,
    /// Whether a write is acknowledged before it is on the other shard (asynchronous), or only when it is durable on
    /// both.
    pub dual_write: DualWrite,
    /// Whether the agent copies the rows to an empty target, or the target is a physical standby of the source.
    pub seeding: Seed,
    /// True to roll back after the flip.
    pub rollback: bool,
    /// Steps before the flip in which a migration is aborted, one migration after the other.
    pub abort_at: Vec<StepKind>,
    /// Steps in which one migration is paused and resumed.
    pub pause_in: Vec<StepKind>,
    /// Failures that make a migration fail. They are repaired, and the migration continues.
    pub troubles: Vec<Trouble>,
    /// For how many seconds the target is unreachable, while the source's log is observed.
    pub outage_s: u32,
    /// The moment at which the controller and both agents are killed. The demo observes for a while which shard accepts
    /// writes, and then starts them again.
    pub orphan: Option<CutoverMoment>,
    /// The moment at which an agent is stopped for longer than the budget of the write-blocked window, while the
    /// application writes.
    pub stall: Option<CutoverMoment>,
    /// True to keep clusters, logs and ledger.
    pub keep: bool,
    /// Makes the run repeatable, as far as concurrency permits.
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
            seeding: Seed::Copy,
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

/// The least number of acknowledged transactions at scale 1.
const TRANSACTIONS: f64 = 20_500.0;
/// The least number of acknowledged transactions at any scale.
const MIN_TRANSACTIONS: u64 = 1_500;
const ONLINE_MOVING_TRANSACTIONS: u64 = 1_000;
const OFFLINE_MOVING_TRANSACTIONS: u64 = 100;

impl Options {
    /// Returns the least number of acknowledged transactions.
    #[must_use]
    pub fn goal(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive count"
        )]
        let scaled = (self.scale.clamp(0.0, 1.0) * TRANSACTIONS) as u64;
        self.transactions.unwrap_or(scaled.max(MIN_TRANSACTIONS))
    }

    /// Returns the least number of acknowledged transactions with moving keys at the end of an operation.
    #[must_use]
    pub fn goal_on_moving_keys(&self) -> u64 {
        match self.task.mode {
            Mode::Online => ONLINE_MOVING_TRANSACTIONS,
            Mode::Offline => OFFLINE_MOVING_TRANSACTIONS,
        }
    }

    /// Returns whether the run contains kills, failures, aborts, pauses or a rollback.
    pub(crate) fn has_faults(&self) -> bool {
        let actions_in_steps = self.abort_at.len() + self.pause_in.len() + self.troubles.len();
        self.kill.is_some()
            || self.orphan.is_some()
            || self.stall.is_some()
            || self.rollback
            || actions_in_steps > 0
    }

    fn is_synchronous(&self) -> bool {
        self.dual_write == DualWrite::Synchronous
    }

    /// Returns whether each shard and the control store have servers of their own.
    pub(crate) fn has_separate_servers(&self) -> bool {
        self.task == DemoTask::default()
            || self.has_faults()
            || self.is_synchronous()
            || self.is_seeded()
    }

    /// Returns whether the target is a standby of the source.
    pub(crate) fn is_seeded(&self) -> bool {
        self.seeding == Seed::Standby
    }

    /// Returns the steps of the migration, in order.
    pub(crate) fn steps(&self) -> &'static [StepKind] {
        match self.seeding {
            Seed::Copy => &FORWARD,
            Seed::Standby => &SEEDED,
        }
    }

    /// Checks that the options do not contradict each other.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        let has_whole_tables = self.task.shape.has_whole_tables();
        let has_shape = match self.task.shape {
            KeyShape::BigInt | KeyShape::Schema | KeyShape::Group | KeyShape::Dependents => true,
            KeyShape::TextBigInt | KeyShape::Timestamp => false,
        };
        let plain = self.task.is_single_move() && has_shape;
        let no_faults = "faults, aborts, pauses and rollbacks are only possible with an online split in two parts, of bigint keys, and with an online operation on schemas or groups";
        let problem = (self.has_faults() && !plain).then_some(no_faults);
        let not_synchronous = "synchronous dual-write is only possible with an online split in two parts, of bigint keys, and with an online operation on schemas or groups";
        let problem = problem.or((self.is_synchronous() && !plain).then_some(not_synchronous));
        let is_stopped = self.orphan.is_some() || self.stall.is_some();
        let no_orphan = "--orphan and --stall are only possible with keys in columns";
        let problem = problem.or((is_stopped && has_whole_tables).then_some(no_orphan));
        let problem = self.task.problem().or(problem).or(self.seeding_problem());
        problem.map_or(Ok(()), |reason| Err(OptionError::Contradiction { reason }))
    }

    /// Returns what contradicts the way in which the target gets its rows, if anything does.
    fn seeding_problem(&self) -> Option<&'static str> {
        let in_steps = self.kill.iter().map(|kill| kill.step);
        let in_steps = in_steps.chain(self.abort_at.iter().copied());
        let in_steps = in_steps.chain(self.pause_in.iter().copied());
        let mut in_steps = in_steps.chain(self.troubles.iter().map(|trouble| trouble.step));
        let is_absent = |step| !self.steps().contains(&step) && step != StepKind::Rollback;
        if in_steps.any(is_absent) {
            return Some(match self.seeding {
                Seed::Copy => {
                    "the steps promote and drop_surplus are only possible with --seed standby"
                }
                Seed::Standby => {
                    "with --seed standby there are no steps create_target, copy and build_indexes"
                }
            });
        }
        if !self.is_seeded() {
            return None;
        }
        let needs_ordinary_target =
            |trouble: &Trouble| matches!(trouble.kind, TroubleKind::Disk | TroubleKind::Password);
        let has_columns =
            !self.task.shape.has_whole_tables() && self.task.shape != KeyShape::Dependents;
        if !self.task.is_plain_split() || !has_columns {
            Some(
                "--seed standby is only possible with an online split in two parts, if every table has the key's columns",
            )
        } else if self.abort_at.len() > 1 {
            Some(
                "with --seed standby only one migration can be aborted: an abort leaves no standby for another one",
            )
        } else if self.servers.target.is_some() && self.servers.target != self.servers.source {
            Some("with --seed standby the target has the version of the source")
        } else if self.troubles.iter().any(needs_ordinary_target) {
            Some("with --seed standby the only failures of the target are down and away")
        } else {
            None
        }
    }
}

mod seed;
mod servers;
mod task;
mod trouble;

pub use seed::SeedOption;
pub use servers::Servers;
pub use task::{
    DemoTask, KeyDivision, MapOperation, parse_group, parse_measure, parse_shape, parse_strategy,
};
pub use trouble::{AfterRepair, CutoverMoment, Trouble, TroubleKind};

/// A process that takes part in a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The agent that performs the step.
    Agent,
    /// The controller.
    Controller,
    /// The PostgreSQL server of the source.
    Source,
    /// The PostgreSQL server of the target.
    Target,
    /// The PostgreSQL server of the control store.
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

    /// Returns the name on the command line and in the report.
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
    /// The process.
    pub process: Process,
    /// The step.
    pub step: StepKind,
}

/// Why `PROCESS@STEP` or the name of a step is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The text does not have this form.
    #[error("{text:?} is not of the form NAME@STEP")]
    Form {
        /// The text.
        text: String,
    },
    /// The process does not exist.
    #[error("{text:?} is not a process: agent, controller, source, target or store")]
    Process {
        /// The text.
        text: String,
    },
    /// The operation does not exist.
    #[error("{text:?} is not an operation: split, merge, move, isolate, drain or rebalance")]
    Operation {
        /// The text.
        text: String,
    },
    /// The group of tables does not exist.
    #[error("{text:?} is not a group of tables: {groups}")]
    Group {
        /// The text.
        text: String,
        /// The names of the groups.
        groups: String,
    },
    /// The strategy does not exist.
    #[error("{text:?} is not a strategy: range, hash, list, schema, group or dependents")]
    Strategy {
        /// The text.
        text: String,
    },
    /// The shape of the key does not exist.
    #[error("{text:?} is not a key of the demo: bigint, text,bigint or timestamptz")]
    Shape {
        /// The text.
        text: String,
    },
    /// The measure does not exist.
    #[error("{text:?} is not a measure: rows, bytes or writes")]
    Measure {
        /// The text.
        text: String,
    },
    /// The options exclude each other.
    #[error("{reason}")]
    Contradiction {
        /// The options, and the reason.
        reason: &'static str,
    },
    /// The failure does not exist.
    #[error("{text:?} is not a trouble: password, disk, down or away")]
    Trouble {
        /// The text.
        text: String,
    },
    /// The moment does not exist.
    #[error(
        "{text:?} is not a moment of the cutover: fenced, before_check, before_seal, sealed or flipped"
    )]
    Moment {
        /// The text.
        text: String,
    },
    /// The case of fault injection does not exist.
    #[error(
        "{text:?} is not a case: COMPONENT@STEP/FAULT, for example agent@copy/kill; the faults are {faults}"
    )]
    Case {
        /// The text.
        text: String,
        /// The names of the faults.
        faults: String,
    },
    /// The step does not exist.
    #[error("{text:?} is not a step; the steps are {}", step_names())]
    Step {
        /// The text.
        text: String,
    },
}

/// Returns the steps in which something can be done: those of both ways in which the target gets its rows, and the
/// rollback.
fn known_steps() -> impl Iterator<Item = StepKind> {
    let of_a_move = |step: &StepKind| FORWARD.contains(step) || SEEDED.contains(step);
    let steps = StepKind::ALL.into_iter().filter(of_a_move);
    steps.chain([StepKind::Rollback])
}

fn step_names() -> String {
    known_steps()
        .map(StepKind::name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the step with this name.
///
/// # Errors
/// [`OptionError::Step`] with the existing names.
pub fn parse_step(text: &str) -> Result<StepKind, OptionError> {
    known_steps()
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

    #[test]
    fn a_seeded_run_has_the_steps_of_a_seeded_move() {
        let at = |step, seeding| Options {
            kill: Some(Kill {
                process: Process::Target,
                step,
            }),
            seeding,
            ..Options::default()
        };
        for (step, seeding) in [
            (StepKind::Promote, Seed::Standby),
            (StepKind::DropSurplus, Seed::Standby),
            (StepKind::Rollback, Seed::Standby),
            (StepKind::Copy, Seed::Copy),
        ] {
            at(step, seeding).check().unwrap();
        }
        for (step, seeding) in [
            (StepKind::Promote, Seed::Copy),
            (StepKind::Copy, Seed::Standby),
        ] {
            at(step, seeding).check().unwrap_err();
        }
        let offline = DemoTask {
            mode: Mode::Offline,
            ..DemoTask::default()
        };
        let offline = Options {
            task: offline,
            seeding: Seed::Standby,
            ..Options::default()
        };
        offline.check().unwrap_err();
    }
}
