//! Heartbeats: the controller extends the leases of the agent, keeps the figures of progress that it reports, and
//! returns a directive for each migration: continue, pause, end the hold, or release the migration.
//!
//! A heartbeat does not write to the rows of migrations, because a cutover may hold a lock on one.

use super::{CallerTokenName, ControlError, Controller, LeaseProof, clock, delta, rewind, seeding};
use crate::access::SecretDigest;
use crate::store::{AgentProcess, FigureReading, OwnerBeat, Registered, Snapshot};
use chrono::{DateTime, TimeDelta, Utc};
use plans::failure::RetryClass;
use plans::id::{MigrationId, StepId};
use plans::state::migration::MigrationState;
use plans::step::StepKind;
use plans::wire::{
    Action, Directive, Heartbeat, HeartbeatReply, MigrationStatus, Progress, StreamStatus,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The last figures of one migration, as the agent process that has its lease sent them.
#[derive(Debug, Clone, PartialEq)]
pub struct MigrationFigures {
    /// The running step.
    pub step: Option<StepId>,
    /// The progress of the step.
    pub progress: Progress,
    /// The state of the change stream.
    pub stream: Option<StreamStatus>,
    /// When the heartbeat with these figures arrived.
    pub at: DateTime<Utc>,
}

/// The last figures of a migration, with the times at which figures and a reading of them were last written to the
/// store.
#[derive(Debug)]
struct FigureEntry {
    figures: MigrationFigures,
    /// When the figures were last written.
    saved_at: DateTime<Utc>,
    /// When a reading was last written.
    read_at: DateTime<Utc>,
}

type FigureMap = BTreeMap<MigrationId, FigureEntry>;

/// The shortest time between two writes of the same migration's figures to the store.
const SAVE_EVERY: TimeDelta = TimeDelta::milliseconds(900);

/// The newest figures of each migration. The store gets only some of them.
#[derive(Debug, Default)]
pub(super) struct FigureTable(Mutex<FigureMap>);

impl FigureTable {
    fn with<T>(&self, act: impl FnOnce(&mut FigureMap) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets all figures: from now on the agents send heartbeats to another controller.
    pub(super) fn clear(&self) {
        self.with(BTreeMap::clear);
    }
}

impl Controller {
    /// Processes a heartbeat, and returns a directive for each migration that the agent holds.
    ///
    /// # Errors
    /// [`ControlError::NotOwner`] if the agent sends a wrong secret for a migration that it holds,
    /// [`ControlError::NameInUse`] if the agent sends a wrong key, or an error of the store.
    pub async fn heartbeat(
        &self,
        beat: &Heartbeat,
        token: &CallerTokenName,
    ) -> Result<HeartbeatReply, ControlError> {
        let has_name = self.register_sender(beat).await?;
        let board = self.board().await?;
        let mut directives = Vec::with_capacity(beat.holding.len());
        let (mut beats, mut holders) = (Vec::new(), Vec::new());
        for holding in &beat.holding {
            let found = board.get(&holding.migration).filter(|_| has_name);
            let own = found.filter(|found| is_held_by_sender(found, beat));
            if found.is_none_or(|found| found.migration.owner.is_none()) {
                let id = &holding.migration;
                self.inner.figures.with(|table| table.remove(id));
            }
            if let Some(own) = own
                && Self::comes_from_holder(own, holding, token)?
            {
                if self.performs_running_step(own, holding) {
                    beats.push(self.keep_figures(holding, own.migration.started_at));
                }
                holders.push((own, holding));
            }
            directives.push(self.directive(own.map(Arc::as_ref), holding));
        }
        let until = clock() + delta(self.inner.settings.lease);
        let store = &self.inner.store;
        store.extend_leases(&beat.instance, until, &beats).await?;
        for (own, holding) in holders {
            self.fail_with_stream(own, holding).await?;
        }
        self.inner.beats.send_modify(|count| *count += 1);
        let lease = self.inner.settings.lease.as_millis();
        Ok(HeartbeatReply {
            lease_ms: u64::try_from(lease).unwrap_or(u64::MAX),
            directives,
        })
    }

    /// Records the heartbeat of the process. Returns `false` if another process uses the agent's name now.
    async fn register_sender(&self, beat: &Heartbeat) -> Result<bool, ControlError> {
        let process = AgentProcess {
            key: beat.key.as_ref().map(SecretDigest::of_wire),
            ..AgentProcess::of(&beat.agent, &beat.instance)
        };
        match self.register_process(&process).await? {
            Registered::InUse(other) if other.instance == beat.instance => {
                self.register(&process).await.map(|()| true)
            }
            Registered::InUse(_) => Ok(false),
            Registered::Known | Registered::New => Ok(true),
        }
    }

    /// Returns whether the part of a heartbeat about a migration has the current epoch. Fails if the epoch is current
    /// but the token or the secret is wrong.
    fn comes_from_holder(
        own: &Snapshot,
        holding: &MigrationStatus,
        token: &CallerTokenName,
    ) -> Result<bool, ControlError> {
        let m = &own.migration;
        let Some(owner) = m.owner.as_ref().filter(|_| m.epoch == holding.epoch) else {
            return Ok(false);
        };
        let proof = LeaseProof {
            migration: &m.id,
            epoch: Some(holding.epoch),
            secret: holding.secret.as_ref(),
            token,
        };
        proof.check_token_and_secret(owner, m.epoch)?;
        Ok(true)
    }

    /// Returns the last figures of a migration.
    #[must_use]
    pub fn figures(&self, id: &MigrationId) -> Option<MigrationFigures> {
        self.inner
            .figures
            .with(|table| table.get(id).map(|entry| entry.figures.clone()))
    }

    /// Returns the readings of the progress of a migration over time, oldest first.
    ///
    /// # Errors
    /// The migration does not exist, or the store failed.
    pub async fn readings(&self, id: &MigrationId) -> Result<Vec<FigureReading>, ControlError> {
        self.load(id).await?;
        Ok(self.store().readings(id).await?)
    }

    /// Records that a step is no longer running.
    pub(super) fn forget_figures(&self, id: &MigrationId, step: &StepId) {
        self.inner.figures.with(|table| {
            let figures = table.get_mut(id).map(|entry| &mut entry.figures);
            if let Some(figures) = figures.filter(|f| f.step.as_ref() == Some(step)) {
                figures.step = None;
            }
        });
    }

    /// Returns the directive for a migration. `own` is `None` if the agent does not have its lease; then the agent must
    /// release it.
    fn directive(&self, own: Option<&Snapshot>, holding: &MigrationStatus) -> Directive {
        let migration = holding.migration.clone();
        let Some(snapshot) = own else {
            return Directive {
                migration,
                action: Action::Release,
                limits: None,
                latency: None,
            };
        };
        Directive {
            migration,
            action: action_for(snapshot),
            limits: Some(snapshot.limits()),
            latency: self.latency(&snapshot.migration.plan.map),
        }
    }

    /// Returns whether the agent reports that it performs the running step, or got the step less than a lease ago.
    ///
    /// Otherwise its heartbeat must not extend the lease: the agent never received the answer to its claim, and no
    /// agent performs the step.
    fn performs_running_step(&self, snapshot: &Snapshot, holding: &MigrationStatus) -> bool {
        let running = snapshot.running();
        let is_same_step = running.is_none_or(|step| Some(&step.id) == holding.step.as_ref());
        let lease = delta(self.inner.settings.lease);
        let is_recent = running
            .and_then(|step| step.dispatched_at)
            .is_some_and(|at| clock() - at < lease);
        is_same_step || is_recent
    }

    /// Keeps the figures in memory. Returns what the store is to keep of them; `begun` is the start of the migration.
    fn keep_figures(&self, holding: &MigrationStatus, begun: Option<DateTime<Utc>>) -> OwnerBeat {
        let id = &holding.migration;
        let now = clock();
        let every =
            FigureReading::interval_at(begun.map_or(TimeDelta::zero(), |begun| now - begun));
        let step = holding.step.clone();
        let stream = holding.stream.as_ref();
        let reading = FigureReading::from_heartbeat(now, step.clone(), &holding.progress, stream);
        let mut entry = FigureEntry {
            figures: MigrationFigures {
                step: step.clone(),
                progress: holding.progress.clone(),
                stream: holding.stream.clone(),
                at: now,
            },
            saved_at: now,
            read_at: now,
        };
        let (save, due) = self.inner.figures.with(|table| {
            let known = table.get(id);
            let saved = known.filter(|old| old.figures.step == step);
            let saved = saved.filter(|old| now - old.saved_at < SAVE_EVERY);
            let read = known.filter(|old| now - old.read_at < every);
            entry.saved_at = saved.map_or(now, |old| old.saved_at);
            entry.read_at = read.map_or(now, |old| old.read_at);
            let due = (saved.is_none(), read.is_none());
            table.insert(id.clone(), entry);
            due
        });
        let value = || serde_json::to_value(&holding.progress).unwrap_or_default();
        OwnerBeat {
            migration: id.clone(),
            figures: step.filter(|_| save).map(|step| (step, value())),
            reading: due.then_some(reading),
        }
    }

    /// Lets the migration fail if its stream has failed with a failure that is not retried. If captured changes are lost
    /// before the flip, the migration returns to the step that opens the capture instead.
    async fn fail_with_stream(
        &self,
        snapshot: &Snapshot,
        holding: &MigrationStatus,
    ) -> Result<(), ControlError> {
        if holding.epoch != snapshot.migration.epoch || snapshot.migration.needs_new_epoch {
            return Ok(());
        }
        let Some(stream) = &holding.stream else {
            return Ok(());
        };
        let failure = stream.failure.as_ref();
        let Some(failure) = failure.filter(|failure| failure.retry == RetryClass::None) else {
            return Ok(());
        };
        let settings = &self.inner.settings;
        let revision = snapshot.migration.revision;
        let failed = self.change(&holding.migration, "controller", |draft| {
            let m = &draft.snapshot().migration;
            if m.revision != revision || !is_active(m.state) {
                return Ok(false);
            }
            if rewind::is_for_step_after_flip(draft, failure) {
                // The step continues, or reports why it cannot.
            } else if !seeding::has_lost_changes(draft, failure)
                && rewind::must_capture_again(draft, stream, failure)
            {
                // The step that runs reports it too, and where the migration continues.
                if m.state == MigrationState::Waiting {
                    rewind::capture_again(draft, failure, settings)?;
                }
            } else if rewind::may_follow(draft, failure) {
                // The step that runs follows the change, or reports the failure.
                if m.state == MigrationState::Waiting {
                    rewind::follow_again(draft, failure)?;
                }
            } else {
                match seeding::has_lost_changes(draft, failure) {
                    true => draft.fail(&seeding::without_copy(draft, failure))?,
                    false => draft.fail(failure)?,
                }
                return Ok(true);
            }
            Ok(false)
        });
        let (failed, _) = failed.await?;
        if failed {
            tracing::warn!(migration = %holding.migration, code = %failure.code, "the migration has failed with its change stream: {}", failure.message);
        }
        Ok(())
    }
}

/// Returns whether a migration in this state can fail because its stream failed.
fn is_active(state: MigrationState) -> bool {
    matches!(
        state,
        MigrationState::Running
            | MigrationState::Waiting
            | MigrationState::Flipped
            | MigrationState::RolledBack
    )
}

/// Returns whether the process that sent the heartbeat has the lease of the migration.
fn is_held_by_sender(snapshot: &Snapshot, beat: &Heartbeat) -> bool {
    let owner = snapshot.migration.owner.as_ref();
    owner.is_some_and(|owner| (&owner.agent, &owner.instance) == (&beat.agent, &beat.instance))
}

/// Returns what the agent process that has the lease must do.
fn action_for(snapshot: &Snapshot) -> Action {
    let m = &snapshot.migration;
    let running = snapshot.running().map(|step| step.kind);
    match m.state {
        MigrationState::Paused | MigrationState::Failed => Action::Pause,
        MigrationState::Unwinding if running.is_some_and(|kind| kind != StepKind::Unwind) => {
            Action::Pause
        }
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Waiting
        | MigrationState::Flipped
        | MigrationState::RolledBack
        | MigrationState::Unwinding => match (running, m.hold_end) {
            (Some(StepKind::Hold | StepKind::HoldBack), Some(_)) => Action::EndHold,
            _ => Action::Continue,
        },
        MigrationState::Unwound | MigrationState::Completed => Action::Release,
    }
}
