//! Why the controller did not do what was asked.

use crate::store::StoreError;
use plans::failure::Failure;
use plans::id::{Epoch, MigrationId};
use plans::plan::PlanFileError;
use plans::planner::PlanError;
use plans::request::RequestError;
use plans::shard_map::MapError;
use plans::state::IllegalTransition;
use plans::state::migration::MigrationState;

/// Why the controller did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Not possible in the migration's state.
    #[error(
        "{command} is not possible: migration {migration} is {state}, its keys are {ownership}"
    )]
    Illegal {
        /// What was asked.
        command: String,
        /// The migration.
        migration: MigrationId,
        /// Where it is.
        state: MigrationState,
        /// Who owns the keys.
        ownership: plans::state::cutover::Ownership,
        /// What is possible instead.
        hint: Option<&'static str>,
    },
    /// A machine refused a transition.
    #[error(transparent)]
    Transition(#[from] IllegalTransition),
    /// The caller does not own the migration any more.
    #[error("stale epoch {theirs} of migration {migration}: it is now {current}")]
    StaleEpoch {
        /// The migration.
        migration: MigrationId,
        /// The caller's.
        theirs: Epoch,
        /// The one in force.
        current: Epoch,
    },
    /// A report about a step that its agent does not hold.
    #[error("step {step} of migration {migration} is not running under epoch {epoch}")]
    NotRunning {
        /// The migration.
        migration: MigrationId,
        /// The step.
        step: String,
        /// The caller's epoch.
        epoch: Epoch,
    },
    /// The agent speaks another protocol.
    #[error("the agent speaks protocol {theirs}, this controller speaks {ours}")]
    Protocol {
        /// The agent's.
        theirs: u32,
        /// Ours.
        ours: u32,
    },
    /// The connection string holds a password.
    #[error("the connection string of shard {shard} holds a password")]
    InlinePassword {
        /// The shard.
        shard: String,
    },
    /// A field has no usable value.
    #[error("{what}")]
    Invalid {
        /// Which, and why.
        what: String,
    },
    /// A body that is not JSON of the form asked for.
    #[error("the body cannot be read: {message}")]
    Malformed {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
    /// The map cannot be made.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The request cannot be read.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// No plan can be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The plan file cannot be used.
    #[error(transparent)]
    PlanFile(#[from] PlanFileError),
    /// What the plan was made for has changed.
    #[error("the plan is stale: {}", changed.join("; "))]
    Stale {
        /// Each thing that changed.
        changed: Vec<String>,
    },
    /// Nobody can look at the shards.
    #[error("no agent is connected")]
    NoAgent,
    /// An agent took the survey and never answered.
    #[error("the agent did not answer the survey in time")]
    SurveyLost,
    /// The survey found an obstacle.
    #[error("the shards could not be surveyed: {}", .0.message)]
    Survey(Failure),
    /// The change lost against others again and again.
    #[error("migration {migration} is changing too fast")]
    Contended {
        /// The migration.
        migration: MigrationId,
    },
    /// A fail point was armed.
    #[error(transparent)]
    Injected(#[from] fail_point::Injected),
}

impl ControlError {
    /// No migration, map or shard has this name.
    pub(crate) fn missing(what: &'static str, name: &str) -> Self {
        Self::Store(StoreError::Missing {
            what,
            name: name.to_owned(),
        })
    }
}
