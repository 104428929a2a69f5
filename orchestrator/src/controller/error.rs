//! Why the controller did not do what was asked.

use super::identify::DsnRefused;
use crate::store::StoreError;
use plans::failure::Failure;
use plans::id::{AgentName, Epoch, MapName, MapVersion, MigrationId, ShardName};
use plans::key::Key;
use plans::plan::PlanFileError;
use plans::planner::PlanError;
use plans::request::RequestError;
use plans::shard_map::{MapError, RuleBreak};
use plans::state::IllegalTransition;
use plans::state::migration::MigrationState;
use plans::throttle::InvalidSetting;
use plans::wire::Protocols;
use std::time::Duration;

/// What a call about a migration lacks of its owner's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// It was claimed by another token.
    #[error("token {0} did not claim it")]
    Token(String),
    /// Nothing is shown.
    #[error("the call shows no secret of its dispatch")]
    NoSecret,
    /// Something else is shown.
    #[error("the call shows the secret of another dispatch")]
    OtherSecret,
}

impl From<DsnRefused> for ControlError {
    fn from(refused: DsnRefused) -> Self {
        Self::Dsn(Box::new(refused))
    }
}

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
        hint: Option<String>,
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
    /// The migration is not as it was when the caller looked.
    #[error("migration {migration} has changed since: it is at revision {current}")]
    Changed {
        /// The migration.
        migration: MigrationId,
        /// Its revision now.
        current: i64,
    },
    /// A report could not be written in the form that was asked for.
    #[error("the report could not be written")]
    Report(#[source] askama::Error),
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
    /// Agent and controller have no version of the messages in common.
    #[error("the agent speaks {theirs}, this controller {ours}")]
    Protocol {
        /// The agent's.
        theirs: Protocols,
        /// Ours.
        ours: Protocols,
    },
    /// The work is another process's: the token, or the secret of the dispatch, is not the owner's.
    #[error("migration {migration} under epoch {epoch} is the work of agent {agent}: {why}")]
    NotOwner {
        /// The migration.
        migration: MigrationId,
        /// The owner's epoch.
        epoch: Epoch,
        /// The owner.
        agent: AgentName,
        /// What the call lacks.
        why: BindingError,
    },
    /// The owner does not show what the target must have before its keys are given to it.
    #[error("the evidence for migration {migration} does not hold: {what}")]
    Evidence {
        /// The migration.
        migration: MigrationId,
        /// What is missing, or is not as the controller knows it.
        what: String,
    },
    /// An inspection is answered by somebody else than who was given it.
    #[error("this inspection was given to another token than {token}")]
    NotRequested {
        /// Who answers.
        token: String,
    },
    /// Another process has the agent's name, and may live.
    #[error("the name {agent} is in use by a process on host {theirs}; this one is on host {ours}")]
    NameInUse {
        /// The name.
        agent: AgentName,
        /// Where the process runs that has it.
        theirs: String,
        /// Where the one runs that is refused.
        ours: String,
        /// The name is free once the other process was silent for so long.
        silence: Duration,
    },
    /// An agent's token opens nothing to an agent of another name.
    #[error("the token of agent {token} does not let agent {agent} in")]
    OtherAgent {
        /// What the agent calls itself.
        agent: AgentName,
        /// Whom the token is for.
        token: String,
    },
    /// An agent's token is bound to labels that a shard of the migration does not carry.
    #[error(
        "migration {migration} is out of this token's reach: shard {shard} does not carry its labels"
    )]
    OutOfReach {
        /// The migration.
        migration: MigrationId,
        /// The shard.
        shard: ShardName,
    },
    /// An agent's token is bound to labels that a shard does not carry about which the agent tells something.
    #[error("shard {shard} is out of this token's reach: it does not carry its labels")]
    UnseenByToken {
        /// The shard.
        shard: ShardName,
    },
    /// The connection string holds a password.
    #[error("the connection string of shard {shard} holds a password")]
    InlinePassword {
        /// The shard.
        shard: String,
    },
    /// The connection string cannot be read; what is wrong with it is told without repeating a value.
    #[error("the connection string of shard {shard} cannot be read: {source}")]
    UnreadableDsn {
        /// The shard.
        shard: String,
        /// Why.
        source: connect::DsnError,
    },
    /// A field has no usable value.
    #[error("{what}")]
    Invalid {
        /// Which, and why.
        what: String,
    },
    /// A limit that cannot have this value.
    #[error(transparent)]
    Limit(#[from] InvalidSetting),
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
    /// A connection string that does not lead to the shard's database.
    #[error(transparent)]
    Dsn(Box<DsnRefused>),
    /// Nobody can look at the shards.
    #[error("no agent is connected")]
    NoAgent,
    /// An agent took the inspection and never answered.
    #[error("the agent did not answer in time what it sees on the shards")]
    InspectionLost,
    /// The agent could not look at the shards.
    #[error("the shards could not be looked at: {}", .0.message)]
    Inspection(Failure),
    /// The agent answered something else than it was asked.
    #[error("the agent answered another question than it was asked")]
    OtherAnswer,
    /// An order that needs every shard to have been seen.
    #[error("shard {shard} could not be looked at")]
    Unseen {
        /// The shard.
        shard: ShardName,
    },
    /// The shards prove more than the control store knows.
    #[error("{why}")]
    StoreOlder {
        /// What proves it.
        why: String,
    },
    /// An order for an operation that none of its migrations can take.
    #[error("{command} is not possible: operation {operation} is {state}")]
    NoneCan {
        /// What was asked.
        command: String,
        /// The operation.
        operation: MigrationId,
        /// Where it is.
        state: super::operations::OperationState,
        /// What is possible instead.
        hint: Option<String>,
    },
    /// An offline move has no stream back.
    #[error(
        "rollback is not possible: migration {migration} moved its keys offline, and offline moves keep no stream back"
    )]
    MovedOffline {
        /// The migration.
        migration: MigrationId,
        /// The map.
        map: MapName,
        /// Where the keys were.
        from: ShardName,
        /// Where they are.
        to: ShardName,
    },
    /// The keys cannot go back.
    #[error("migration {migration} cannot be rolled back: {reason}")]
    NoRollBack {
        /// The migration.
        migration: MigrationId,
        /// Why.
        reason: String,
    },
    /// The plan breaks rules of the map and gives no reason.
    #[error("the plan breaks rules of the map: {}", broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    RulesBroken {
        /// Each break.
        broken: Vec<RuleBreak>,
    },
    /// Load and checks need the map's tables.
    #[error("map {map} lists no tables")]
    NoTables {
        /// The map.
        map: MapName,
    },
    /// The request to mend cannot be carried out.
    #[error(transparent)]
    Repair(#[from] plans::inspection::check::RepairError),
    /// A key that no shard owns.
    #[error("no shard owns key {key} in map {map} version {version}")]
    Unmapped {
        /// The key.
        key: Key,
        /// The map.
        map: MapName,
        /// Its version.
        version: MapVersion,
    },
    /// Somebody's word that does not count.
    #[error(transparent)]
    Word(#[from] ApprovalError),
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

/// Why somebody's word does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// Where more than one has to approve, who submitted the operation does not.
    #[error(
        "{by} submitted migration {migration}, and it asks for the approval of {needed} others"
    )]
    Own {
        /// The migration.
        migration: MigrationId,
        /// Who.
        by: String,
        /// How many have to approve it.
        needed: u32,
    },
    /// Nobody's word counts twice.
    #[error("{by} has approved the cutover of migration {migration} already")]
    AlreadyApproved {
        /// The migration.
        migration: MigrationId,
        /// Who.
        by: String,
    },
    /// A token that was made after the plan was submitted may have been made for its sake.
    #[error("the token of {by} is younger than migration {migration}, and does not count for it")]
    Young {
        /// The migration.
        migration: MigrationId,
        /// Who.
        by: String,
    },
    /// Who made a token, or the token of who made it, may hold it.
    #[error(
        "{by} does not count as another person than {other} for migration {migration}: one of them made the other's token"
    )]
    Related {
        /// The migration.
        migration: MigrationId,
        /// Who.
        by: String,
        /// Who submitted it, or has approved it.
        other: String,
    },
    /// An order that somebody has to be able to explain later.
    #[error("overrule says no reason why migration {migration} goes on without its hooks")]
    NoReason {
        /// The migration.
        migration: MigrationId,
    },
    /// A plan that asks for fewer approvals than this controller does.
    #[error("the plan requires {planned}, and this controller {needed} approvals of each cutover")]
    TooFew {
        /// The plan's, in words.
        planned: String,
        /// The controller's.
        needed: u32,
    },
    /// Without tokens nobody knows who approves.
    #[error("the plan requires {needed} approvals, and this controller requires no token")]
    UnknownApprover {
        /// The plan's.
        needed: u32,
    },
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
