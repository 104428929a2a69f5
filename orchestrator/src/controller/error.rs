//! The errors of the controller.

use super::identify::DsnRefused;
use crate::store::StoreError;
use plans::failure::Failure;
use plans::id::{AgentName, Epoch, MapName, MapVersion, MigrationId, ShardName};
use plans::key::Key;
use plans::plan::PlanFileError;
use plans::planner::PlanError;
use plans::request::RequestError;
use plans::shard_map::{ConversionError, MapError, RuleViolation};
use plans::state::IllegalTransition;
use plans::state::migration::MigrationState;
use plans::throttle::InvalidSetting;
use plans::wire::ProtocolRange;
use std::time::Duration;

/// Why a call about a migration does not prove that its sender is the agent process that has the migration's lease.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOwnerReason {
    /// Another token claimed the migration.
    #[error("another token than {0} claimed the migration")]
    Token(String),
    /// The call contains no secret. An agent receives a secret with each step that the controller assigns to it, and
    /// must send it with every call about that migration.
    #[error("the call does not contain the secret that the agent received with the step")]
    NoSecret,
    /// The call contains another secret than the one that the controller sent with the current step.
    #[error("the call contains another secret than the agent received with the current step")]
    OtherSecret,
}

impl From<DsnRefused> for ControlError {
    fn from(refused: DsnRefused) -> Self {
        Self::Dsn(Box::new(refused))
    }
}

/// The errors of the controller.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The store refused a change, or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The command is not possible in the state of the migration.
    #[error(
        "{command} is not possible: migration {migration} is {state}, its keys are {ownership}"
    )]
    Illegal {
        /// The command.
        command: String,
        /// The migration.
        migration: MigrationId,
        /// The state of the migration.
        state: MigrationState,
        /// The ownership of the keys.
        ownership: plans::state::cutover::Ownership,
        /// What is possible instead.
        hint: Option<String>,
    },
    /// A state machine refused a transition.
    #[error(transparent)]
    Transition(#[from] IllegalTransition),
    /// The caller does not have the lease of the migration any more: another epoch is current.
    #[error("epoch {theirs} of migration {migration} has ended: the current epoch is {current}")]
    StaleEpoch {
        /// The migration.
        migration: MigrationId,
        /// The epoch of the caller.
        theirs: Epoch,
        /// The current epoch.
        current: Epoch,
    },
    /// The migration has changed since the revision that the caller knows.
    #[error("migration {migration} was changed in the meantime: it is at revision {current}")]
    Changed {
        /// The migration.
        migration: MigrationId,
        /// The current revision of the migration.
        current: i64,
    },
    /// The report of a migration could not be written in the requested form.
    #[error("the report could not be written")]
    Report(#[source] askama::Error),
    /// An agent reported the outcome of a step that it is not performing.
    #[error("step {step} of migration {migration} is not running under epoch {epoch}")]
    NotRunning {
        /// The migration.
        migration: MigrationId,
        /// The step.
        step: String,
        /// The epoch of the agent.
        epoch: Epoch,
    },
    /// The agent and the controller have no version of the wire protocol in common.
    #[error("the agent speaks {theirs}, this controller {ours}")]
    Protocol {
        /// The versions of the agent.
        theirs: ProtocolRange,
        /// The versions of the controller.
        ours: ProtocolRange,
    },
    /// The caller is not the agent process that has the lease of the migration: its token or its secret is another one.
    #[error("agent {agent} has the lease of migration {migration} under epoch {epoch}: {why}")]
    NotOwner {
        /// The migration.
        migration: MigrationId,
        /// The epoch of the lease.
        epoch: Epoch,
        /// The agent that has the lease.
        agent: AgentName,
        /// How the call differs from a call of this agent.
        why: NotOwnerReason,
    },
    /// The evidence that the agent sent does not prove that the target shard is ready to become the owner of the keys.
    #[error("the evidence for migration {migration} is not sufficient: {what}")]
    Evidence {
        /// The migration.
        migration: MigrationId,
        /// What is missing, or differs from what the controller knows.
        what: String,
    },
    /// The answer to an inspection comes under another token than the one under which an agent claimed the inspection.
    #[error("another token than {token} claimed this inspection")]
    ClaimedByOtherToken {
        /// The name of the token under which the answer was sent.
        token: String,
    },
    /// Another process, which may still run, uses the name of the agent.
    #[error(
        "the name {agent} is in use by a process on host {theirs}; the refused process is on host {ours}"
    )]
    NameInUse {
        /// The name.
        agent: AgentName,
        /// The host of the process that uses the name.
        theirs: String,
        /// The host of the process that is refused.
        ours: String,
        /// The name becomes free when the other process has sent nothing for this time.
        silence: Duration,
    },
    /// The agent cannot be removed: this controller does not know yet whether it runs.
    #[error("agent {agent} may be running: this controller has led for less than {} s", silence.as_secs())]
    AgentUnobserved {
        /// The agent.
        agent: AgentName,
        /// An agent that has sent nothing to this controller for this time does not run.
        silence: Duration,
    },
    /// The agent cannot be removed: its spool has changes that a migration needs.
    #[error(
        "the spool of agent {agent} has {bytes} bytes of changes that migration {migration} has not applied"
    )]
    SpoolNeeded {
        /// The agent.
        agent: AgentName,
        /// The migration, which no agent has at the moment.
        migration: MigrationId,
        /// The size of the changes at the last heartbeat.
        bytes: i64,
    },
    /// The token belongs to an agent with another name.
    #[error("the token of agent {token_agent} does not authorize agent {agent}")]
    OtherAgent {
        /// The name that the agent sends.
        agent: AgentName,
        /// The name of the agent to which the token belongs.
        token_agent: String,
    },
    /// The token of the agent is restricted to labels, and a shard of the migration does not have them.
    #[error(
        "this token does not permit migration {migration}: shard {shard} does not have the labels of the token"
    )]
    OutOfReach {
        /// The migration.
        migration: MigrationId,
        /// The shard.
        shard: ShardName,
    },
    /// The token of the agent is restricted to labels, and a shard of the inspection that the agent answers does not
    /// have them.
    #[error(
        "this token does not permit shard {shard}: the shard does not have the labels of the token"
    )]
    InspectionOutOfReach {
        /// The shard.
        shard: ShardName,
    },
    /// The connection string contains a password.
    #[error("the connection string of shard {shard} holds a password")]
    InlinePassword {
        /// The shard.
        shard: String,
    },
    /// The connection string cannot be read. The reason never contains a value from the connection string.
    #[error("the connection string of shard {shard} cannot be read: {source}")]
    UnreadableDsn {
        /// The shard.
        shard: String,
        /// The reason.
        source: connect::DsnError,
    },
    /// A field has no usable value.
    #[error("{what}")]
    Invalid {
        /// The field, and the reason.
        what: String,
    },
    /// A limit cannot have this value.
    #[error(transparent)]
    Limit(#[from] InvalidSetting),
    /// The body of the request is not JSON of the expected form.
    #[error("the body of the request cannot be read: {message}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The message of the parser.
        message: String,
    },
    /// The map is not valid.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A map cannot get another strategy or key.
    #[error(transparent)]
    Conversion(Box<ConversionError>),
    /// The request cannot be read.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// No plan is possible for the request.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The plan file cannot be used.
    #[error(transparent)]
    PlanFile(#[from] PlanFileError),
    /// Something that the plan depends on has changed.
    #[error("the plan is stale: {}", changed.join("; "))]
    Stale {
        /// The changes.
        changed: Vec<String>,
    },
    /// The connection string does not lead to the database of the shard.
    #[error(transparent)]
    Dsn(Box<DsnRefused>),
    /// No agent took the inspection within the time limit.
    #[error("no agent is connected")]
    NoAgent,
    /// An agent took the inspection and did not answer within the time limit.
    #[error("the agent did not answer the inspection in time")]
    InspectionLost,
    /// The caller has too many estimates that have not ended.
    #[error("four estimates of this caller run or wait already")]
    EstimateRunning,
    /// The agent could not inspect the shards.
    #[error("the agent could not inspect the shards: {}", .0.message)]
    Inspection(Failure),
    /// The answer of the agent does not fit the inspection.
    #[error("the answer of the agent does not fit the inspection")]
    OtherAnswer,
    /// The command needs a successful probe (a read of the state that Shardwright has recorded on a shard) of every
    /// shard. The last probe of this shard failed, or reached another database.
    #[error("the last probe of shard {shard} failed, or reached another database")]
    ProbeFailed {
        /// The shard.
        shard: ShardName,
    },
    /// The control store is older than the fleet: the shards have recorded flips that the store does not contain.
    #[error("{why}")]
    StoreOlder {
        /// The evidence for it.
        why: String,
    },
    /// The operation has no migration that can carry out the command.
    #[error("{command} is not possible: operation {operation} is {state}")]
    NoMigrationCan {
        /// The command.
        command: String,
        /// The operation.
        operation: MigrationId,
        /// The state of the operation.
        state: super::operations::OperationState,
        /// What is possible instead.
        hint: Option<String>,
    },
    /// A rollback of an offline migration is impossible, because it has no reverse stream.
    #[error(
        "rollback is not possible: migration {migration} moved its keys offline, and an offline move has no reverse stream"
    )]
    MovedOffline {
        /// The migration.
        migration: MigrationId,
        /// The map.
        map: MapName,
        /// The shard that owned the keys before the move.
        from: ShardName,
        /// The shard that owns the keys now.
        to: ShardName,
    },
    /// A rollback is impossible.
    #[error("migration {migration} cannot be rolled back: {reason}")]
    NoRollBack {
        /// The migration.
        migration: MigrationId,
        /// The reason.
        reason: String,
    },
    /// The plan breaks rules of the map, and the request contains no reason for this exception.
    #[error("the plan breaks rules of the map: {}", broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    RulesBroken {
        /// The broken rules.
        broken: Vec<RuleViolation>,
    },
    /// The map lists no tables; a measurement of the load needs them.
    #[error("map {map} lists no tables")]
    NoTables {
        /// The map.
        map: MapName,
    },
    /// The requested repairs cannot be carried out.
    #[error(transparent)]
    Repair(#[from] plans::inspection::check::RepairError),
    /// No shard owns the key.
    #[error("no shard owns key {key} in map {map} version {version}")]
    Unmapped {
        /// The key.
        key: Key,
        /// The map.
        map: MapName,
        /// The version of the map.
        version: MapVersion,
    },
    /// The controller refuses an approval, or a plan because of its number of approvals, or `overrule` without a
    /// reason.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// Other changes of the same migration were faster each time, so this change was given up.
    #[error("other changes of migration {migration} were faster each time")]
    Contended {
        /// The migration.
        migration: MigrationId,
    },
    /// An armed fail point has returned this error.
    #[error(transparent)]
    Injected(#[from] fail_point::Injected),
}

/// Why the controller refuses an approval, or a plan because of its number of approvals, or `overrule` without a
/// reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalError {
    /// The user submitted the operation, and the plan requires several approvals.
    #[error(
        "{by} submitted migration {migration}, and its cutover needs the approval of {needed} other users"
    )]
    Own {
        /// The migration.
        migration: MigrationId,
        /// The user.
        by: String,
        /// The number of required approvals.
        needed: u32,
    },
    /// The user has already approved.
    #[error("{by} has already approved the cutover of migration {migration}")]
    AlreadyApproved {
        /// The migration.
        migration: MigrationId,
        /// The user.
        by: String,
    },
    /// The token was created after the operation was submitted. The submitter may have created it for a second
    /// approval.
    #[error(
        "the token of {by} was created after migration {migration} was submitted, so it cannot approve its cutover"
    )]
    Young {
        /// The migration.
        migration: MigrationId,
        /// The user.
        by: String,
    },
    /// One of two users created the token of the other, so both tokens may belong to the same person.
    #[error(
        "{by} and {other} count as one person for migration {migration}: one of them created the token of the other"
    )]
    Related {
        /// The migration.
        migration: MigrationId,
        /// The user who approves.
        by: String,
        /// The user who submitted the operation, or has approved it.
        other: String,
    },
    /// The command `overrule` needs a reason: the migration then continues without the permission of its hooks.
    #[error(
        "the command overrule needs a reason: migration {migration} then continues without its hooks"
    )]
    NoReason {
        /// The migration.
        migration: MigrationId,
    },
    /// The plan requires fewer approvals than this controller.
    #[error(
        "this controller requires {needed} approvals of each cutover, and the plan requires {planned}"
    )]
    TooFew {
        /// The number that the plan requires, as text.
        planned: String,
        /// The number that the controller requires.
        needed: u32,
    },
    /// The controller requires no tokens, so it does not know who approves.
    #[error(
        "the plan requires {needed} approvals, but this controller requires no tokens and therefore does not know who approves"
    )]
    UnknownApprover {
        /// The number that the plan requires.
        needed: u32,
    },
}

impl ControlError {
    /// The error for a migration, a map, a shard or another record that does not exist.
    pub(crate) fn missing(what: &'static str, name: &str) -> Self {
        Self::Store(StoreError::Missing {
            what,
            name: name.to_owned(),
        })
    }
}
