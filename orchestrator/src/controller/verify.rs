//! Comparisons that an operator requests, and the differences that the last comparison found.
//!
//! Before the flip the step `verify` runs again. During the hold the step `hold` is dispatched again and compares the
//! rows on the source with the new owner. Only the journal contains which comparison is due, and whether it repairs:
//! [`due_comparison`] reads it there for each dispatch. The shards keep the differences; the controller reads them each
//! time and never stores the keys in them.

use super::commands::resume;
use super::dispatch::shard_ref;
use super::draft::MigrationDraft;
use super::{ControlError, Controller};
use crate::store::{Event, Migration, Snapshot};
use plans::id::MigrationId;
use plans::inspection::{Inspected, Inspection};
use plans::request::Mode;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use plans::step::verify::{DifferenceReport, ReportTask, VerifyRun};
use serde_json::{Value, json};
use std::time::Duration;

/// The journal entry of a requested comparison.
const REQUESTED: &str = "verify.requested";
/// The number of journal entries that are read at once.
const LINES: i64 = 10_000;

impl Controller {
    /// Requests another comparison of a migration. Returns the comparison and the migration.
    ///
    /// With `repair` the agent also replaces the rows that differ by those of the shard that owns them.
    ///
    /// # Errors
    /// [`ControlError::Illegal`] unless the migration waits for its approval, has failed before the flip, or is in the
    /// hold.
    pub async fn verify(
        &self,
        id: &MigrationId,
        repair: bool,
        actor: &str,
        reason: Option<&str>,
    ) -> Result<(VerifyRun, Snapshot), ControlError> {
        let data = json!({ "repair": repair, "reason": reason });
        let edit = |draft: &mut MigrationDraft| {
            let illegal = illegal_error(&draft.snapshot().migration);
            schedule_comparison(draft, &data)?.ok_or(illegal)
        };
        let ((), after) = self.change(id, actor, edit).await?;
        tracing::info!(migration = %id, repair, actor, "comparison requested");
        let run = self.comparison_for(&after.migration, Some(StepKind::Verify));
        Ok((run.await?.unwrap_or_default(), after))
    }

    /// Returns the differences that the last comparison before the flip and the last one in the hold found, as the
    /// shards have recorded them.
    ///
    /// # Errors
    /// [`ControlError::NoAgent`], or the error that the agent reported.
    pub async fn differences(
        &self,
        id: &MigrationId,
    ) -> Result<Vec<DifferenceReport>, ControlError> {
        let m = self.load(id).await?.migration;
        let shards = self.inner.store.shards().await?;
        let task = ReportTask {
            migration: id.clone(),
            source: shard_ref(&shards, &m.plan.moving.source)?,
            target: shard_ref(&shards, &m.plan.moving.target)?,
        };
        let inspection = Inspection::Differences(Box::new(task));
        let Inspected::Differences(found) = self.inspect(inspection, Duration::ZERO).await? else {
            return Err(ControlError::OtherAnswer);
        };
        Ok(found.reports)
    }

    /// Returns the comparison that a step of this kind has to make.
    pub(super) async fn comparison_for(
        &self,
        m: &Migration,
        kind: Option<StepKind>,
    ) -> Result<Option<VerifyRun>, ControlError> {
        let Some(kind) = kind.filter(|k| matches!(k, StepKind::Verify | StepKind::Hold)) else {
            return Ok(None);
        };
        let (mut events, mut after): (Vec<Event>, i64) = (Vec::new(), 0);
        loop {
            let page = self.inner.store.events(&m.id, after, LINES).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            events.extend(page.into_iter().filter(is_relevant));
        }
        Ok(due_comparison(&events, kind))
    }
}

/// Returns whether a journal entry is relevant to [`due_comparison`]: it requests a comparison, ends one, or ends the
/// cutover, after which requests from before the flip are void.
fn is_relevant(event: &Event) -> bool {
    event.kind == REQUESTED
        || ends_try(event, StepKind::Verify)
        || ends_try(event, StepKind::Cutover)
}

/// Returns whether the journal entry ends one try of the step of this kind, or rewinds the step.
fn ends_try(event: &Event, kind: StepKind) -> bool {
    let of = event
        .step
        .as_ref()
        .is_some_and(|id| id.as_str() == kind.name());
    let ended = ["step.completed", "step.gave_up", "step.rewound"];
    of && ended.contains(&event.kind.as_str())
}

/// Returns the comparison that is due according to the journal. After an interruption the same comparison is due, and
/// the agent continues it. A new one is due after the old one ended, after the step `verify` was rewound, or after a
/// request.
fn due_comparison(events: &[Event], kind: StepKind) -> Option<VerifyRun> {
    let mut run = (kind == StepKind::Verify).then(VerifyRun::default);
    for event in events {
        let number = event.seq;
        if event.kind == REQUESTED {
            let repair = event.data.get("repair").and_then(Value::as_bool);
            run = Some(VerifyRun {
                number,
                repair: repair.unwrap_or(false),
            });
        } else if kind == StepKind::Hold {
            // A comparison that was requested before the flip is not one of the hold.
            run = None;
        } else if ends_try(event, StepKind::Verify) {
            run = Some(VerifyRun {
                number,
                repair: false,
            });
        }
    }
    run
}

/// Schedules a comparison on the draft. Returns `None` if this is not possible now.
fn schedule_comparison(
    draft: &mut MigrationDraft,
    data: &Value,
) -> Result<Option<()>, ControlError> {
    let snapshot = draft.snapshot();
    let m = &snapshot.migration;
    let Some(verify) = snapshot.step_of(StepKind::Verify).cloned() else {
        return Ok(None);
    };
    let hold = snapshot.step_of(StepKind::Hold).cloned();
    match (m.state, m.ownership) {
        (MigrationState::Waiting, Ownership::Ready) if verify.state == StepState::Done => {}
        (MigrationState::Failed, Ownership::Ready)
            if matches!(verify.state, StepState::Done | StepState::Failed) =>
        {
            if resume(draft, data.clone())?.is_none() {
                return Ok(None);
            }
        }
        (MigrationState::Flipped, Ownership::Flipped)
            if m.plan.mode == Mode::Online && m.hold_end.is_none() =>
        {
            let Some(hold) = hold.filter(|step| step.state == StepState::Running) else {
                return Ok(None);
            };
            draft.apply_to_step(&hold.id, StepEvent::Interrupted, json!({ "why": "verify" }))?;
            draft.record(REQUESTED, Some(&hold.id), data.clone());
            return Ok(Some(()));
        }
        (_, _) => return Ok(None),
    }
    if verify.state == StepState::Done {
        draft
            .apply_to_step(&verify.id, StepEvent::Rewound, json!({ "why": "verify" }))?
            .attempt = 0;
    }
    draft.record(REQUESTED, Some(&verify.id), data.clone());
    Ok(Some(()))
}

fn illegal_error(m: &Migration) -> ControlError {
    let hint = match (m.ownership, m.plan.mode) {
        (Ownership::Flipped, Mode::Offline) => {
            "after an offline move no stream keeps the old rows current: there is nothing to compare with"
        }
        (Ownership::Flipped, Mode::Online) => {
            "after the flip, rows are compared only during the hold"
        }
        (_, _) => {
            "a comparison is possible while the migration waits for its approval, after a failure before the flip, and during the hold"
        }
    };
    ControlError::Illegal {
        command: "verify".to_owned(),
        migration: m.id.clone(),
        state: m.state,
        ownership: m.ownership,
        hint: Some(hint.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plans::id::StepId;

    fn line(seq: i64, kind: &str, step: &str, data: Value) -> Event {
        Event {
            seq,
            at: chrono::DateTime::default(),
            actor: String::new(),
            kind: kind.to_owned(),
            step: Some(StepId::from(step)),
            data,
        }
    }

    #[test]
    fn a_comparison_survives_an_interruption_and_ends_with_its_step() {
        let mut journal = vec![line(3, "step.dispatched", "verify", Value::Null)];
        let due = |journal: &[Event]| {
            let kept: Vec<Event> = journal.iter().filter(|e| is_relevant(e)).cloned().collect();
            due_comparison(&kept, StepKind::Verify).unwrap()
        };
        assert_eq!(due(&journal), VerifyRun::default());
        journal.push(line(4, "step.interrupted", "verify", Value::Null));
        journal.push(line(5, "step.faulted", "verify", Value::Null));
        assert_eq!(due(&journal), VerifyRun::default());
        journal.push(line(6, "step.gave_up", "verify", Value::Null));
        assert_eq!(due(&journal).number, 6);
        journal.push(line(7, REQUESTED, "verify", json!({ "repair": true })));
        let repair = VerifyRun {
            number: 7,
            repair: true,
        };
        assert_eq!(due(&journal), repair);
        journal.push(line(8, "step.interrupted", "verify", Value::Null));
        assert_eq!(due(&journal), repair);
        journal.push(line(9, "step.completed", "verify", Value::Null));
        assert!(!due(&journal).repair, "a request is carried out once");
    }

    #[test]
    fn the_hold_compares_only_after_a_request_in_the_hold() {
        let mut journal = vec![line(3, REQUESTED, "verify", json!({ "repair": true }))];
        journal.push(line(4, "step.completed", "verify", Value::Null));
        journal.push(line(5, "step.completed", "cutover", Value::Null));
        assert_eq!(due_comparison(&journal, StepKind::Hold), None);
        journal.push(line(6, REQUESTED, "hold", json!({ "repair": false })));
        assert_eq!(due_comparison(&journal, StepKind::Hold).unwrap().number, 6);
    }
}
