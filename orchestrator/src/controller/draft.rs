//! A draft: the changes of one migration before they are committed. The state of the migration, the ownership of its
//! keys and the states of its steps change only by the state machines of `plans`.
//!
//! A draft has no effect until the store commits it.

use super::{CallerTokenName, approvals, hints};
use crate::store::{Migration, MigrationChange, NewEvent, Snapshot, Step};
use chrono::{DateTime, Utc};
use plans::failure::Failure;
use plans::id::StepId;
use plans::state::IllegalTransition;
use plans::state::cutover::OwnershipEvent;
use plans::state::migration::{MigrationEvent, MigrationState};
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use serde_json::{Value, json};

/// A migration as it will be after the change, with the journal entries of the change.
#[derive(Debug)]
pub(crate) struct MigrationDraft {
    before: Snapshot,
    after: Snapshot,
    lease_changed: bool,
    events: Vec<NewEvent>,
    actor: String,
    /// The token of the agent that acts for the actor; `None` if no agent acts.
    token: Option<String>,
    /// The time that all entries of this change get.
    pub(crate) now: DateTime<Utc>,
}

impl MigrationDraft {
    /// Starts a draft from the state in the store.
    pub(crate) fn new(before: Snapshot, actor: &str, now: DateTime<Utc>) -> Self {
        Self {
            after: before.clone(),
            before,
            lease_changed: false,
            events: Vec::new(),
            actor: actor.to_owned(),
            token: None,
            now,
        }
    }

    /// Sets the token of the agent that acts. The following journal entries contain its name.
    pub(super) fn set_token(&mut self, token: &CallerTokenName) {
        self.token = Some(token.name().to_owned());
    }

    /// Returns the migration with all changes so far.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.after
    }

    /// Returns the fields of the migration, to change them.
    pub(crate) fn migration(&mut self) -> &mut Migration {
        &mut self.after.migration
    }

    /// Adds an entry to the journal.
    pub(crate) fn record(&mut self, kind: &str, step: Option<&StepId>, mut data: Value) {
        if let (Some(token), Value::Object(fields)) = (&self.token, &mut data) {
            fields.insert("token".to_owned(), json!(token));
        }
        self.events.push(NewEvent {
            at: self.now,
            actor: self.actor.clone(),
            kind: kind.to_owned(),
            step: step.cloned(),
            data,
        });
    }

    /// Applies an event to the state of the migration, and adds the journal entry of the event with `data`.
    pub(crate) fn apply_to_migration(
        &mut self,
        event: MigrationEvent,
        data: Value,
    ) -> Result<(), IllegalTransition> {
        let m = &mut self.after.migration;
        m.state = m.state.next(event)?;
        m.waiting_for = None;
        self.record(&format!("migration.{}", event_name(event)), None, data);
        let stops = matches!(
            event,
            MigrationEvent::Paused | MigrationEvent::Failed | MigrationEvent::Aborted
        );
        if stops {
            approvals::drop_approvals(self, &event_name(event));
        }
        Ok(())
    }

    /// Applies an event to the ownership of the keys, and adds the journal entry of the event with `data`.
    pub(crate) fn apply_to_ownership(
        &mut self,
        event: OwnershipEvent,
        data: Value,
    ) -> Result<(), IllegalTransition> {
        let m = &mut self.after.migration;
        m.ownership = m.ownership.next(event)?;
        self.record(&format!("ownership.{}", event_name(event)), None, data);
        Ok(())
    }

    /// Applies an event to a step, changes the fields of the step that depend on its state, and adds the journal entry
    /// of the event with `data`.
    pub(crate) fn apply_to_step(
        &mut self,
        id: &StepId,
        event: StepEvent,
        data: Value,
    ) -> Result<&mut Step, IllegalTransition> {
        self.record(&format!("step.{}", event_name(event)), Some(id), data);
        let is_cutover = |step: &&Step| matches!(step.kind, StepKind::Cutover | StepKind::Rollback);
        let ended = event != StepEvent::Dispatched;
        if ended
            && self
                .after
                .steps
                .iter()
                .filter(is_cutover)
                .any(|step| &step.id == id)
        {
            self.clear_cancel()?;
        }
        if event == StepEvent::Rewound {
            approvals::drop_approvals(self, "a step is repeated");
        }
        let epoch = self.after.migration.epoch;
        let now = self.now;
        let steps = &mut self.after.steps;
        let Some(step) = steps.iter_mut().find(|step| &step.id == id) else {
            return Err(IllegalTransition {
                machine: "step",
                state: "absent".to_owned(),
                event: event_name(event),
            });
        };
        step.state = step.state.next(event)?;
        match event {
            StepEvent::Dispatched => {
                step.attempt += 1;
                step.epoch = epoch;
                step.next_at = None;
                step.started_at.get_or_insert(now);
                step.dispatched_at = Some(now);
            }
            StepEvent::Completed => {
                step.finished_at = Some(now);
                step.failure = None;
            }
            StepEvent::Interrupted => step.attempt = step.attempt.saturating_sub(1),
            StepEvent::Retried => {
                step.attempt = 0;
                step.next_at = None;
            }
            StepEvent::Rewound | StepEvent::Restored => {
                step.output = None;
                step.started_at = None;
                step.finished_at = None;
                step.next_at = None;
                step.progress = None;
            }
            StepEvent::Faulted | StepEvent::GaveUp | StepEvent::Dropped => {}
        }
        Ok(step)
    }

    /// Returns the actor of this change.
    pub(crate) fn actor(&self) -> &str {
        &self.actor
    }

    /// Adds steps after the last one. A step that exists and was skipped becomes pending again.
    pub(crate) fn append_steps(&mut self, kinds: &[StepKind]) -> Result<(), IllegalTransition> {
        for kind in kinds {
            if self.after.step_of(*kind).is_some() {
                self.reopen_step(*kind)?;
                continue;
            }
            let last = self.after.steps.iter().map(|step| step.ordinal).max();
            let next = last.map_or(0, |ordinal| ordinal + 1);
            self.after.steps.push(Step::new(*kind, next));
        }
        Ok(())
    }

    /// Makes a step that is done or skipped pending again.
    pub(crate) fn reopen_step(&mut self, kind: StepKind) -> Result<(), IllegalTransition> {
        let Some(step) = self.after.step_of(kind).cloned() else {
            return Ok(());
        };
        let event = match step.state {
            StepState::Done => StepEvent::Rewound,
            StepState::Skipped => StepEvent::Restored,
            StepState::Pending | StepState::Running | StepState::Backoff | StepState::Failed => {
                return Ok(());
            }
        };
        let row = self.apply_to_step(&step.id, event, json!({}))?;
        row.attempt = 0;
        row.failure = None;
        Ok(())
    }

    /// Skips a step, also one that is done.
    pub(crate) fn skip_step(&mut self, kind: StepKind) -> Result<(), IllegalTransition> {
        let Some(step) = self.after.step_of(kind).cloned() else {
            return Ok(());
        };
        if step.state == StepState::Done {
            self.apply_to_step(&step.id, StepEvent::Rewound, json!({}))?;
        }
        if step.state != StepState::Skipped {
            self.apply_to_step(&step.id, StepEvent::Dropped, json!({}))?;
        }
        Ok(())
    }

    /// Withdraws the request to end transactions: none prevents the cutover any more, or no cutover step is running.
    pub(crate) fn clear_cancel(&mut self) -> Result<(), IllegalTransition> {
        if self.after.migration.cancel.take().is_none() {
            return Ok(());
        }
        self.record("cancel.cleared", None, json!({}));
        self.after.migration.waiting_for = None;
        if self.after.migration.state == MigrationState::Waiting {
            self.apply_to_migration(MigrationEvent::Cleared, json!({}))?;
        }
        Ok(())
    }

    /// Sets the state of the migration to failed, and requires a new epoch. The ownership and the steps do not change.
    pub(crate) fn fail(&mut self, failure: &Failure) -> Result<(), IllegalTransition> {
        let mut failed = self.after.clone();
        failed.migration.state = failed.migration.state.next(MigrationEvent::Failed)?;
        let failure = hints::fit(failure, &failed);
        self.apply_to_migration(MigrationEvent::Failed, json!({ "failure": failure }))?;
        let m = &mut self.after.migration;
        m.failure = Some(failure);
        m.needs_new_epoch = true;
        Ok(())
    }

    /// Sets when the lease of the owner (the agent process) ends.
    pub(crate) fn set_lease_end(&mut self, until: DateTime<Utc>) {
        self.after.lease_until = Some(until);
        self.lease_changed = true;
    }

    /// Removes the owner (the agent process that has the lease). A step that it was performing becomes pending again.
    pub(crate) fn remove_owner(&mut self, why: &str) -> Result<(), IllegalTransition> {
        let owner = self.after.migration.owner.take();
        self.after.lease_until = None;
        self.record("owner.lost", None, json!({ "owner": owner, "why": why }));
        let running = self.after.steps.iter();
        let running: Vec<StepId> = running
            .filter(|step| step.state == StepState::Running)
            .map(|step| step.id.clone())
            .collect();
        for id in running {
            self.apply_to_step(&id, StepEvent::Interrupted, json!({ "why": why }))?;
        }
        Ok(())
    }

    /// Returns the change, or `None` if nothing was changed.
    pub(crate) fn into_change(self) -> Option<MigrationChange> {
        if self.events.is_empty() && self.after == self.before && !self.lease_changed {
            return None;
        }
        let old = &self.before.steps;
        let steps = self.after.steps.iter();
        let steps = steps
            .filter(|step| old.iter().all(|before| before != *step))
            .cloned()
            .collect();
        let from_revision = self.before.migration.revision;
        let mut migration = self.after.migration;
        let before = &self.before.migration;
        let is_same =
            (migration.state, &migration.waiting_for) == (before.state, &before.waiting_for);
        if !is_same {
            migration.since = Some(self.now);
        }
        migration.revision = from_revision + 1;
        Some(MigrationChange {
            from_revision,
            plan_changed: self.before.migration.plan != migration.plan,
            migration,
            steps,
            lease_until: self.after.lease_until.filter(|_| self.lease_changed),
            events: self.events,
        })
    }
}

/// Returns the second part of the kind of a journal entry, for example `paused`. All events `Resumed…` give `resumed`.
fn event_name(event: impl serde::Serialize) -> String {
    match serde_json::to_value(event) {
        Ok(Value::String(word)) if word.starts_with("resumed") => "resumed".to_owned(),
        Ok(Value::String(word)) => word,
        _ => "changed".to_owned(),
    }
}
