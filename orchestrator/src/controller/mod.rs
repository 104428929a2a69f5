//! The controller: one pass over all unfinished migrations, whenever something has changed or is due.
//!
//! One of several controller processes leads (`leader`); only the leader acts. `decide` returns what to do, without
//! effects. `dispatch` gives work to agents. `settle` applies decisions and the reports of agents. `recover` handles
//! restarts of controllers and agents. `commands` carries out the commands of operators. `cutover` changes the map.
//! Each change loads a migration, drafts the change and commits it by compare-and-set. If another change was faster, it
//! starts again.

mod admission;
mod agents;
mod approvals;
mod binding;
mod board;
mod cancel;
mod check;
mod cleanup;
mod commands;
mod conversion;
mod counters;
mod cutover;
pub mod decide;
mod directory;
mod dispatch;
mod doctor;
mod draft;
mod error;
mod estimates;
mod fail_points;
mod failovers;
mod fleet_measure;
mod gate;
mod heartbeat;
pub(crate) mod hints;
mod hooks;
mod identify;
mod inspections;
mod leader;
pub(crate) mod leftovers;
mod limits;
mod load;
mod maps;
mod marked;
mod notices;
pub mod operations;
mod planning;
pub mod queue;
mod reconcile;
mod recover;
mod rewind;
#[cfg(test)]
mod samples;
mod seeding;
mod settle;
mod shards;
mod speed;
mod standby_slots;
mod tokens;
mod verify;
mod ways;

pub use approvals::approvals_left;
pub(crate) use approvals::{approval_of, missing_approvals_text};
pub use binding::CallerTokenName;
pub(crate) use binding::{LeaseProof, NO_TOKEN};
pub use check::{FailedPart, MapCheck, RepairOutcome};
pub use cleanup::{CleanupReport, CleanupRequest, UnregisteredShard};
pub use commands::Command;
pub use conversion::{ConversionReport, ConvertRequest};
pub use counters::{ClientCount, ClientReport};
pub use directory::DirectoryRequest;
pub use doctor::{Diagnosis, DoctorRequest, MoveExamined, UnexaminedShard};
pub use error::{ApprovalError, ControlError, NotOwnerReason};
pub(crate) use fleet_measure::FleetMeasure;
pub use heartbeat::MigrationFigures;
pub use identify::DsnRefused;
pub use leader::LeadershipState;
pub use limits::{LatencyReport, LimitChange};
pub use load::{
    HotKeyLoad, IsolationProposal, LoadRequest, MapLoad, MeasuredLoad, ShardItem, ShardLoad,
};
pub(crate) use maps::settings_after;
pub use maps::{MapEdit, NewMap, NewMapping};
pub use marked::MarkedMap;
pub(crate) use reconcile::ProbedShard;
pub use reconcile::{DetailedProbe, FleetReport, ReconcileRequest, ShardActivity, ShardProbe};
pub use shards::ShardChange;
pub(crate) use shards::{check_new_shard, check_shard_change};
pub(crate) use tokens::{ShardReach, SignedInBrowser};

use crate::access::{AccessRule, AuditRule, SecretDigest};
use crate::hooks::Hooks;
use crate::metrics::ProcessMetrics;
use crate::retry::RetryPolicy;
use crate::store::{Snapshot, Store, StoreError};
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use decide::{Decision, decide, due};
use draft::MigrationDraft;
use plans::id::MigrationId;
use plans::state::cutover::Ownership;
use queue::StartGate;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Time limits of the controller, and who may access it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerSettings {
    /// The duration of the leader's lease. If the leader does not renew it in this time, by the store's clock, another
    /// controller can lead.
    pub leader_lease: Duration,
    /// The time between two renewals of the leader's lease.
    pub leader_renew: Duration,
    /// The duration of an agent's lease. An owner that sends no heartbeat for this time loses its migration.
    pub lease: Duration,
    /// The longest time for which a claim waits for work.
    pub claim_wait: Duration,
    /// The longest wait until an agent takes an inspection, and again until it answers.
    pub inspection_wait: Duration,
    /// The longest time between seal and flip.
    pub seal_limit: Duration,
    /// The pause after a failed try of the step `unwind`, if the failure does not specify a pause.
    pub unwind_pause: Duration,
    /// How often every shard is probed and compared with the map. `None`: never; then migrations do not wait for a
    /// probe.
    pub reconcile_every: Option<Duration>,
    /// The pauses between the tries of a step.
    pub retry: RetryPolicy,
    /// Which callers must present a token.
    pub rule: AccessRule,
    /// The digest of the token in the admin token file, which permits everything; `None` if there is no such file.
    pub admin: Option<SecretDigest>,
    /// If true, this process refuses all changes by users. Agents continue to work.
    pub read_only: bool,
    /// The least number of approvals that a cutover needs.
    pub approvals: u32,
    /// What happens to a command that the controller cannot record in the audit trail.
    pub audit: AuditRule,
}

impl Default for ControllerSettings {
    fn default() -> Self {
        Self {
            leader_lease: Duration::from_secs(2),
            leader_renew: Duration::from_millis(500),
            lease: Duration::from_secs(4),
            claim_wait: Duration::from_secs(20),
            inspection_wait: Duration::from_secs(60),
            seal_limit: Duration::from_secs(30),
            unwind_pause: Duration::from_secs(5),
            reconcile_every: None,
            retry: RetryPolicy::default(),
            rule: AccessRule::default(),
            admin: None,
            read_only: false,
            approvals: 1,
            audit: AuditRule::default(),
        }
    }
}

/// How many times the controller tries a change. A try fails if another change of the migration is committed first.
const RACES: u32 = 16;
/// The largest number of decisions about one migration in one pass.
const DECISIONS: u32 = 16;
/// The longest sleep between two passes.
const IDLE: TimeDelta = TimeDelta::seconds(10);
/// The pause after a failed pass.
const AFTER_ERROR: TimeDelta = TimeDelta::milliseconds(500);

/// The controller. All clones share the same state.
#[derive(Debug, Clone)]
pub struct Controller {
    inner: Arc<ControllerInner>,
}

#[derive(Debug)]
struct ControllerInner {
    store: Arc<dyn Store>,
    settings: ControllerSettings,
    /// Wakes the task that passes over the migrations.
    wake: Notify,
    /// The number of changes that this process has published.
    changes: watch::Sender<u64>,
    /// The number of heartbeats that this process has published.
    beats: watch::Sender<u64>,
    figures: heartbeat::FigureTable,
    attempts: cutover::CutoverAttempts,
    inspections: inspections::Inspections,
    conversions: conversion::RunningConversions,
    estimates: estimates::RunningEstimates,
    boards: board::BoardCache,
    known_processes: recover::KnownProcesses,
    counters: counters::ClientCounters,
    latencies: limits::Latencies,
    checks: check::Checks,
    loads: load::MeasuredLoads,
    fleet: reconcile::FleetWatch,
    tokens: tokens::TokenCache,
    observed: ProcessMetrics,
    lead: leader::Leadership,
    hooks: OnceLock<Hooks>,
}

impl Controller {
    /// Returns a controller over `store`. It does not act before [`Controller::run`].
    #[must_use]
    pub fn new(store: Arc<dyn Store>, settings: ControllerSettings) -> Self {
        let inner = ControllerInner {
            store,
            settings,
            wake: Notify::new(),
            changes: watch::Sender::new(0),
            beats: watch::Sender::new(0),
            figures: heartbeat::FigureTable::default(),
            attempts: cutover::CutoverAttempts::default(),
            inspections: inspections::Inspections::default(),
            conversions: conversion::RunningConversions::default(),
            estimates: estimates::RunningEstimates::default(),
            boards: board::BoardCache::default(),
            known_processes: recover::KnownProcesses::default(),
            counters: counters::ClientCounters::default(),
            latencies: limits::Latencies::default(),
            checks: check::Checks::default(),
            loads: load::MeasuredLoads::default(),
            fleet: reconcile::FleetWatch::default(),
            tokens: tokens::TokenCache::default(),
            observed: ProcessMetrics::default(),
            lead: leader::Leadership::default(),
            hooks: OnceLock::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the store, for reads.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        self.inner.store.as_ref()
    }

    /// Returns the counters of this process.
    pub(crate) fn observed(&self) -> &ProcessMetrics {
        &self.inner.observed
    }

    /// Returns a receiver that is notified of every committed change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Returns a receiver that is notified of every heartbeat with new figures.
    #[must_use]
    pub fn beats(&self) -> watch::Receiver<u64> {
        self.inner.beats.subscribe()
    }

    /// Campaigns for the leadership, and acts while this process leads. Runs until the task is dropped.
    pub async fn run(&self) {
        tokio::join!(
            self.keep_campaigning(),
            self.act_while_leading(),
            self.listen_for_changes()
        );
    }

    /// Passes over the migrations until the task is dropped. After an error of the store it tries again.
    async fn act(&self) {
        let mut start_noted = false;
        loop {
            let result = async {
                if !start_noted {
                    self.note_start().await?;
                    start_noted = true;
                }
                self.pass().await
            };
            let next = result.await.unwrap_or_else(|error| {
                tracing::warn!(%error, "controller pass failed");
                clock() + AFTER_ERROR
            });
            let sleep = (next - clock()).to_std().unwrap_or_default();
            tokio::select! {
                () = self.inner.wake.notified() => {}
                () = tokio::time::sleep(sleep) => {}
            }
        }
    }

    /// Makes one pass, and returns when the next one is due.
    async fn pass(&self) -> Result<DateTime<Utc>, ControlError> {
        let mut next = clock() + IDLE;
        self.drop_old_seals().await;
        self.settle_conversions().await?;
        next = next.min(self.schedule_checks().await?);
        if let Some(at) = self.schedule_probes().await? {
            next = next.min(at);
        }
        let mut all = Arc::unwrap_or_clone(self.inner.store.unfinished().await?);
        let mut operations = gate::OperationMoves::default();
        for index in 0..all.len() {
            let snapshot = Arc::clone(&all[index]);
            let id = snapshot.migration.id.clone();
            if self.is_sealed(&id) && snapshot.live_owner(clock()).is_some() {
                next = next.min(snapshot.lease_until.unwrap_or(next));
                continue;
            }
            let advanced = async {
                let gate = self.gate(&snapshot, &all, &mut operations).await?;
                let (at, after) = self.advance(snapshot, gate.as_ref()).await?;
                self.note_drop_obstacles(&after, &all).await?;
                Ok::<_, ControlError>((at, after))
            };
            match advanced.await {
                Ok((at, after)) => {
                    next = next.min(at.unwrap_or(next));
                    // The migrations after this one may have to wait for it, if it has just started.
                    all[index] = after;
                }
                Err(error) => {
                    tracing::warn!(migration = %id, %error, "migration could not be advanced");
                    next = next.min(clock() + AFTER_ERROR);
                }
            }
        }
        Ok(next)
    }

    /// Records what a migration waits for before its old rows are dropped.
    async fn note_drop_obstacles(
        &self,
        snapshot: &Snapshot,
        all: &[Arc<Snapshot>],
    ) -> Result<(), ControlError> {
        let m = &snapshot.migration;
        let waits = queue::drop_obstacle(snapshot, all);
        if waits == m.waiting_for || m.ownership != Ownership::Completed || !m.plan.drop_tables {
            return Ok(());
        }
        let edit = |draft: &mut MigrationDraft| {
            draft.migration().waiting_for.clone_from(&waits);
            Ok(())
        };
        self.change(&m.id, "controller", edit).await.map(|_| ())
    }

    /// Carries out all decisions that need no agent. Returns when the next decision is due, and the migration after
    /// these changes.
    async fn advance(
        &self,
        mut snapshot: Arc<Snapshot>,
        gate: Option<&StartGate>,
    ) -> Result<(Option<DateTime<Utc>>, Arc<Snapshot>), ControlError> {
        for _ in 0..DECISIONS {
            let now = clock();
            let id = snapshot.migration.id.clone();
            if hooks::is_stale(&snapshot, self.hooks()) {
                let ((), after) = self.change(&id, "controller", |_| Ok(())).await?;
                snapshot = Arc::new(after);
            }
            match decide(&snapshot, gate, now).into_iter().next() {
                None | Some(Decision::Offer(_)) => return Ok((due(&snapshot, now), snapshot)),
                Some(Decision::ExpireLease) => self.forget_attempts(&id).await,
                Some(_) => {}
            }
            let ((), after) = self
                .change(&id, "controller", |draft| settle::settle_next(draft, gate))
                .await?;
            snapshot = Arc::new(after);
        }
        Ok((Some(clock() + AFTER_ERROR), snapshot))
    }

    /// Loads a migration, drafts a change and commits it. If another change was faster, it starts again.
    async fn change<T>(
        &self,
        id: &MigrationId,
        actor: &str,
        edit: impl Fn(&mut MigrationDraft) -> Result<T, ControlError> + Send + Sync,
    ) -> Result<(T, Snapshot), ControlError> {
        for _ in 0..RACES {
            let snapshot = self.load(id).await?;
            let mut draft = MigrationDraft::new(snapshot, actor, clock());
            hooks::update_request(&mut draft, self.hooks());
            let value = edit(&mut draft)?;
            hooks::update_request(&mut draft, self.hooks());
            let mut after = draft.snapshot().clone();
            let Some(change) = draft.into_change() else {
                return Ok((value, after));
            };
            // The change must be announced also if the caller's task is dropped during the commit.
            let mut notice = ChangeNotice(Some(self));
            let committed = self.inner.store.commit(&change).await;
            if !matches!(committed, Ok(true)) {
                notice.0 = None;
            }
            if committed? {
                after.migration.revision = change.migration.revision;
                return Ok((value, after));
            }
        }
        Err(ControlError::Contended {
            migration: id.clone(),
        })
    }

    /// Returns a migration.
    ///
    /// # Errors
    /// [`StoreError::Missing`], or an error of the store.
    pub async fn load(&self, id: &MigrationId) -> Result<Snapshot, ControlError> {
        let found = self.inner.store.load(id).await?;
        found.ok_or_else(|| ControlError::missing("migration", id.as_str()))
    }

    fn announce(&self) {
        self.inner.changes.send_modify(|count| *count += 1);
        self.inner.wake.notify_one();
    }
}

/// Announces a change when it is dropped.
struct ChangeNotice<'a>(Option<&'a Controller>);

impl Drop for ChangeNotice<'_> {
    fn drop(&mut self) {
        if let Some(controller) = self.0 {
            controller.announce();
        }
    }
}

/// Returns the current time with the precision of the store.
pub(crate) fn clock() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

/// Converts a duration to a time difference of the calendar.
pub(crate) fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

/// Returns whether the store has no record with the requested name.
pub(crate) fn is_missing(error: &ControlError) -> bool {
    matches!(error, ControlError::Store(StoreError::Missing { .. }))
}
