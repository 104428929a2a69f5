//! The rows that SQL statements return, and their conversion into records.

use crate::access::SecretDigest;
use crate::store::{
    Approval, CancelRequest, CleanupRecord, Event, HoldEnd, HookRequest, LeaseHolder, Migration,
    OperationRecord, Snapshot, Step, StoreError,
};
use chrono::{DateTime, Utc};
use plans::failure::Failure;
use plans::id::{AgentName, AttemptNo, Epoch, InstanceId, MapVersion, MigrationId};
use plans::plan::{MovePlan, Plan};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::throttle::MigrationLimits;
use serde_json::Value;
use sqlx::types::Json;

/// A row of `migration`, with columns of its operation and its lease.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct StoredMigration {
    pub(super) id: String,
    pub(super) operation: String,
    ordinal: i32,
    queued: bool,
    plan: Json<MovePlan>,
    state: String,
    ownership: String,
    attempt: i64,
    epoch: i64,
    renew: bool,
    agent: Option<String>,
    instance: Option<String>,
    approved: bool,
    hold_end: Option<String>,
    waiting_for: Option<String>,
    since: Option<DateTime<Utc>>,
    cancel: Option<Json<CancelRequest>>,
    limits: Option<Json<MigrationLimits>>,
    failure: Option<Json<Failure>>,
    map_version_before: i64,
    map_version_after: Option<i64>,
    map_version_back: Option<i64>,
    submitted_by: String,
    created_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    revision: i64,
    approvals: Json<Vec<Approval>>,
    hook: Option<Json<HookRequest>>,
    bound_token: Option<String>,
    bound_secret: Option<Vec<u8>>,
    bound_epoch: Option<i64>,
    until: Option<DateTime<Utc>>,
}

// Statements name their columns, also after `returning`: a newer controller may add columns while sessions of this one
// have prepared statements.
/// Selects [`StoredOperation`]s; the table's alias is `o`.
pub(super) const OPERATIONS: &str = "select o.id, o.plan, o.queued, o.override_reason, o.submitted_by, o.created_at from operation o";
/// Selects [`StoredStep`]s.
pub(super) const STEPS: &str = "select migration, id, kind, ordinal, state, attempt, epoch, next_at, started_at, \
    dispatched_at, finished_at, output, failure, progress from step";

/// A row of `operation`.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct StoredOperation {
    pub(super) id: String,
    plan: Json<Plan>,
    queued: bool,
    override_reason: Option<String>,
    submitted_by: String,
    created_at: DateTime<Utc>,
}

impl StoredOperation {
    /// Converts the row into a record with its migrations.
    pub(super) fn into_record(self, migrations: Vec<Migration>) -> OperationRecord {
        OperationRecord {
            id: MigrationId(self.id),
            plan: self.plan.0,
            queued: self.queued,
            override_reason: self.override_reason,
            submitted_by: self.submitted_by,
            created_at: self.created_at,
            migrations,
        }
    }
}

/// A row of `step`.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct StoredStep {
    pub(super) migration: String,
    id: String,
    kind: String,
    ordinal: i32,
    state: String,
    attempt: i32,
    epoch: i64,
    next_at: Option<DateTime<Utc>>,
    started_at: Option<DateTime<Utc>>,
    dispatched_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    output: Option<Value>,
    failure: Option<Json<Failure>>,
    progress: Option<Value>,
}

/// A row of `event`.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct StoredEvent {
    seq: i64,
    at: DateTime<Utc>,
    actor: String,
    kind: String,
    step: Option<String>,
    data: Value,
}

/// A row of `cleanup_record`.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct StoredCleanup {
    shard: String,
    kind: String,
    name: String,
    policy: String,
    done_at: Option<DateTime<Utc>>,
}

impl StoredMigration {
    /// Converts the row into a snapshot with its steps.
    pub(super) fn into_snapshot(self, steps: Vec<StoredStep>) -> Result<Snapshot, StoreError> {
        let lease_until = self.until;
        let steps: Result<Vec<Step>, StoreError> =
            steps.into_iter().map(StoredStep::into_record).collect();
        Ok(Snapshot {
            migration: self.into_record()?,
            steps: steps?,
            lease_until,
        })
    }

    /// Converts the row into a record.
    pub(super) fn into_record(self) -> Result<Migration, StoreError> {
        let owner = self.agent.zip(self.instance);
        // A controller of the previous version assigns work with a new epoch and does not update these columns. They
        // are valid only if their epoch is the migration's epoch.
        let is_bound = self.bound_epoch == Some(self.epoch);
        let token = self.bound_token.filter(|_| is_bound);
        let secret = self.bound_secret.filter(|_| is_bound);
        let secret = secret
            .and_then(|bytes| bytes.try_into().ok())
            .map(SecretDigest);
        let hold_end = match self.hold_end.as_deref() {
            None => None,
            Some(name) => {
                Some(HoldEnd::parse(name).ok_or_else(|| unknown_word_error("hold end", name))?)
            }
        };
        Ok(Migration {
            id: MigrationId(self.id),
            operation: MigrationId(self.operation),
            ordinal: self.ordinal,
            queued: self.queued,
            plan: self.plan.0,
            state: MigrationState::parse(&self.state)
                .ok_or_else(|| unknown_word_error("migration state", &self.state))?,
            ownership: Ownership::parse(&self.ownership)
                .ok_or_else(|| unknown_word_error("ownership", &self.ownership))?,
            attempt: AttemptNo(self.attempt),
            epoch: Epoch(self.epoch),
            needs_new_epoch: self.renew,
            owner: owner.map(|(agent, instance)| LeaseHolder {
                agent: AgentName(agent),
                instance: InstanceId(instance),
                token,
                secret,
            }),
            approved: self.approved,
            approvals: self.approvals.0,
            hold_end,
            waiting_for: self.waiting_for,
            since: self.since,
            cancel: self.cancel.map(|json| json.0),
            hook: self.hook.map(|json| json.0),
            limits: self.limits.map(|json| json.0),
            failure: self.failure.map(|json| json.0),
            map_version_before: MapVersion(self.map_version_before),
            map_version_after: self.map_version_after.map(MapVersion),
            map_version_back: self.map_version_back.map(MapVersion),
            submitted_by: self.submitted_by,
            created_at: self.created_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            revision: self.revision,
        })
    }
}

impl StoredStep {
    fn into_record(self) -> Result<Step, StoreError> {
        Ok(Step {
            kind: StepKind::parse(&self.kind)
                .ok_or_else(|| unknown_word_error("step", &self.kind))?,
            state: StepState::parse(&self.state)
                .ok_or_else(|| unknown_word_error("step state", &self.state))?,
            id: self.id.as_str().into(),
            ordinal: self.ordinal,
            attempt: u32::try_from(self.attempt).unwrap_or_default(),
            epoch: Epoch(self.epoch),
            next_at: self.next_at,
            started_at: self.started_at,
            dispatched_at: self.dispatched_at,
            finished_at: self.finished_at,
            output: self.output,
            failure: self.failure.map(|json| json.0),
            progress: self.progress,
        })
    }
}

impl From<StoredEvent> for Event {
    fn from(row: StoredEvent) -> Self {
        Self {
            seq: row.seq,
            at: row.at,
            actor: row.actor,
            kind: row.kind,
            step: row.step.as_deref().map(Into::into),
            data: row.data,
        }
    }
}

impl From<StoredCleanup> for CleanupRecord {
    fn from(row: StoredCleanup) -> Self {
        Self {
            shard: row.shard.as_str().into(),
            kind: row.kind,
            name: row.name,
            policy: row.policy,
            done_at: row.done_at,
        }
    }
}

/// Creates the error that no object has this name.
pub(super) fn missing_error(what: &'static str, name: &str) -> StoreError {
    StoreError::Missing {
        what,
        name: name.to_owned(),
    }
}

/// Creates the error that another object has this name.
pub(super) fn exists_error(what: &'static str, name: &str) -> StoreError {
    StoreError::Exists {
        what,
        name: name.to_owned(),
    }
}

/// Creates the error that the store contains a value that this version does not know.
pub(super) fn unknown_word_error(what: &str, word: &str) -> StoreError {
    StoreError::Unavailable {
        source: format!("this version does not know the {what} {word} in the store").into(),
    }
}
