//! The controller: one pass over all unfinished migrations whenever something happened or is due.
//!
//! Of several processes one leads (`leader`); only that one acts.
//! `decide` says what to do and has no effects; `dispatch` gives work to agents, `settle` writes down what came of it,
//! `recover` deals with those that are gone, `commands` are the operator's, `cutover` answers for the map.
//! Every change: load, draft, compare-and-set; on a lost race again.

mod admission;
mod approvals;
mod binding;
mod board;
mod cancel;
mod check;
mod cleanup;
mod commands;
mod counters;
mod cutover;
pub mod decide;
mod directory;
mod dispatch;
mod doctor;
mod draft;
mod error;
mod fail_points;
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
#[cfg(test)]
mod samples;
mod settle;
mod shards;
mod tokens;
mod verify;
mod ways;

pub use approvals::approvals_left;
pub(crate) use approvals::{approval, approval_of};
pub(crate) use binding::CallerBinding;
pub use binding::CallerToken;
pub use check::{FailedPart, MapCheck, RepairOutcome};
pub use cleanup::{CleanupReport, CleanupRequest, UnregisteredShard};
pub use commands::Command;
pub use counters::{ClientCount, ClientReport};
pub use directory::DirectoryRequest;
pub use doctor::{Diagnosis, DoctorRequest, MoveExamined, UnexaminedShard};
pub use error::{ApprovalError, BindingError, ControlError};
pub use heartbeat::MigrationFigures;
pub use identify::DsnRefused;
pub use leader::LeadershipState;
pub use limits::{LatencyReport, LimitChange};
pub use load::{HotKeyLoad, IsolationProposal, LoadRequest, MapLoad, ShardItem, ShardLoad};
pub(crate) use maps::settings_after;
pub use maps::{MapEdit, NewMap, NewMapping};
pub use marked::MarkedMap;
pub use reconcile::{FleetReport, ReconcileRequest, ShardProbe};
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

/// Times that the controller keeps, and whom it lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerSettings {
    /// A leader that is silent for this long, by the store's clock, is followed by another controller.
    pub leader_lease: Duration,
    /// Between two renewals of the leader's lease.
    pub leader_renew: Duration,
    /// An owner without a heartbeat for this long loses its migration.
    pub lease: Duration,
    /// Longest wait of a claim without work.
    pub claim_wait: Duration,
    /// Longest wait for an agent that takes an inspection, and again for its answer.
    pub inspection_wait: Duration,
    /// Longest time between seal and flip.
    pub seal_limit: Duration,
    /// Pause after a failed attempt to unwind that has no pause of its own.
    pub unwind_pause: Duration,
    /// How often every shard is looked at, and compared with the map; `None`: never, and nothing waits for it.
    pub reconcile_every: Option<Duration>,
    /// Pauses between attempts.
    pub retry: RetryPolicy,
    /// Who must show a token.
    pub rule: AccessRule,
    /// Of the token in the admin token file, which opens everything; `None`: there is no such file.
    pub admin: Option<SecretDigest>,
    /// Nobody may change anything through this process; agents go on.
    pub read_only: bool,
    /// How many people approve a cutover at least.
    pub approvals: u32,
    /// What becomes of an order without a line in the audit trail.
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

/// Lost races of one change before it is given up.
const RACES: u32 = 16;
/// Decisions about one migration in one pass.
const DECISIONS: u32 = 16;
/// Longest sleep between two passes, and the pause after one that failed.
const IDLE: TimeDelta = TimeDelta::seconds(10);
const AFTER_ERROR: TimeDelta = TimeDelta::milliseconds(500);

/// Decides and remembers; all clones are one controller.
#[derive(Debug, Clone)]
pub struct Controller {
    inner: Arc<ControllerInner>,
}

#[derive(Debug)]
struct ControllerInner {
    store: Arc<dyn Store>,
    settings: ControllerSettings,
    wake: Notify,
    changes: watch::Sender<u64>,
    beats: watch::Sender<u64>,
    figures: heartbeat::FigureTable,
    attempts: cutover::CutoverAttempts,
    inspections: inspections::Inspections,
    boards: board::BoardCache,
    known_processes: recover::KnownProcesses,
    counters: counters::ClientCounters,
    latencies: limits::Latencies,
    checks: check::Checks,
    fleet: reconcile::FleetWatch,
    tokens: tokens::TokenCache,
    observed: ProcessMetrics,
    lead: leader::Leadership,
    hooks: OnceLock<Hooks>,
}

impl Controller {
    /// A controller over `store`; it does nothing by itself before [`Controller::run`].
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
            boards: board::BoardCache::default(),
            known_processes: recover::KnownProcesses::default(),
            counters: counters::ClientCounters::default(),
            latencies: limits::Latencies::default(),
            checks: check::Checks::default(),
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

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        self.inner.store.as_ref()
    }

    /// What this process has counted.
    pub(crate) fn observed(&self) -> &ProcessMetrics {
        &self.inner.observed
    }

    /// Tells of every committed change.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Tells of every heartbeat with new figures.
    #[must_use]
    pub fn beats(&self) -> watch::Receiver<u64> {
        self.inner.beats.subscribe()
    }

    /// Stands for the lead, and acts while it leads, until the task is dropped.
    pub async fn run(&self) {
        tokio::join!(
            self.keep_campaigning(),
            self.act_for_ever(),
            self.hear_for_ever()
        );
    }

    /// Passes over the migrations until the task is dropped; a store that fails is asked again.
    async fn act(&self) {
        let mut notified = false;
        loop {
            let result = async {
                if !notified {
                    self.note_start().await?;
                    notified = true;
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

    /// One pass; returns when the next one is due.
    async fn pass(&self) -> Result<DateTime<Utc>, ControlError> {
        let mut next = clock() + IDLE;
        self.drop_old_seals().await;
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
                    // What starts here holds back what comes after it.
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

    /// Writes down what the dropping of a migration's old rows waits for.
    async fn note_drop_obstacles(
        &self,
        snapshot: &Snapshot,
        all: &[Arc<Snapshot>],
    ) -> Result<(), ControlError> {
        let m = &snapshot.migration;
        let waits = queue::drop_waits(snapshot, all);
        if waits == m.waiting_for || m.ownership != Ownership::Completed || !m.plan.drop_tables {
            return Ok(());
        }
        let edit = |draft: &mut MigrationDraft| {
            draft.migration().waiting_for.clone_from(&waits);
            Ok(())
        };
        self.change(&m.id, "controller", edit).await.map(|_| ())
    }

    /// Settles everything that needs no agent; returns when more is due, and what came of it.
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
                Some(Decision::Expire) => self.forget_attempts(&id).await,
                Some(_) => {}
            }
            let ((), after) = self
                .change(&id, "controller", |draft| settle::settle_next(draft, gate))
                .await?;
            snapshot = Arc::new(after);
        }
        Ok((Some(clock() + AFTER_ERROR), snapshot))
    }

    /// Loads, drafts and commits, again when somebody else was faster.
    async fn change<T>(
        &self,
        id: &MigrationId,
        actor: &str,
        edit: impl Fn(&mut MigrationDraft) -> Result<T, ControlError> + Send + Sync,
    ) -> Result<(T, Snapshot), ControlError> {
        for _ in 0..RACES {
            let snapshot = self.load(id).await?;
            let mut draft = MigrationDraft::new(snapshot, actor, clock());
            hooks::arm(&mut draft, self.hooks());
            let value = edit(&mut draft)?;
            hooks::arm(&mut draft, self.hooks());
            let mut after = draft.snapshot().clone();
            let Some(change) = draft.change() else {
                return Ok((value, after));
            };
            // Also when the caller goes away during the commit, somebody must look.
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

    /// One migration.
    ///
    /// # Errors
    /// [`StoreError::Missing`], or what the store says.
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

/// The time, as exact as the store keeps it.
pub(crate) fn clock() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

/// A span of time for the calendar.
pub(crate) fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

/// The store has nothing of that name.
pub(crate) fn is_missing(error: &ControlError) -> bool {
    matches!(error, ControlError::Store(StoreError::Missing { .. }))
}
