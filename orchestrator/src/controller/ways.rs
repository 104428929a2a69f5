//! The courses of a migration besides the usual one: rollback, another cutover, and a change of the moving tables.
//!
//! A migration has one list of steps. The steps of a course that is not taken are skipped, and restored if the course
//! is taken later.

use super::ControlError;
use super::draft::MigrationDraft;
use crate::store::{HoldEnd, Step};
use plans::failure::{Failure, StepCode};
use plans::id::StepId;
use plans::plan::FollowedChange;
use plans::state::cutover::{Ownership, OwnershipEvent};
use plans::state::migration::MigrationEvent;
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use plans::table::{MovingTable, TableName};
use serde_json::json;

/// Adds the steps of the rollback after the hold.
pub(super) fn go_back(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    draft.skip_step(StepKind::DropOld)?;
    draft.skip_step(StepKind::DropSurplus)?;
    // Another cutover needs new approvals.
    draft.migration().approvals.clear();
    draft.append_steps(&[StepKind::Rollback, StepKind::HoldBack, StepKind::DropNew])?;
    Ok(())
}

/// After a rollback: makes the steps of another cutover pending again, from the verification on.
pub(super) fn go_again(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    draft.apply_to_ownership(OwnershipEvent::Again, json!({}))?;
    draft.apply_to_migration(MigrationEvent::Again, json!({}))?;
    let m = draft.migration();
    m.map_version_before = m.map_version_back.unwrap_or(m.map_version_before);
    m.map_version_after = None;
    m.map_version_back = None;
    m.hold_end = None;
    m.approved = true;
    m.needs_new_epoch = true;
    for kind in [StepKind::Rollback, StepKind::HoldBack, StepKind::DropNew] {
        draft.skip_step(kind)?;
    }
    for kind in [
        StepKind::Verify,
        StepKind::OpenReverse,
        StepKind::Cutover,
        StepKind::Hold,
        StepKind::DropOld,
        StepKind::DropSurplus,
    ] {
        draft.reopen_step(kind)?;
    }
    Ok(())
}

/// Returns whether the step `rollback` has failed because a rollback is impossible, before its fence.
pub(super) fn is_impossible(draft: &MigrationDraft, step: &Step, failure: &Failure) -> bool {
    step.kind == StepKind::Rollback
        && failure.has_code(StepCode::RollbackImpossible)
        && draft.snapshot().migration.ownership == Ownership::Flipped
}

/// Withdraws the rollback: the hold continues, and the reason is recorded.
pub(super) fn refuse_rollback(
    draft: &mut MigrationDraft,
    failure: &Failure,
) -> Result<(), ControlError> {
    withdraw(draft)?;
    draft.record("rollback.refused", None, json!({ "failure": failure }));
    let m = draft.migration();
    m.needs_new_epoch = true;
    m.waiting_for = Some(format!(
        "`finish`: a rollback is impossible, {}",
        failure.message
    ));
    Ok(())
}

/// Skips the steps of the rollback and makes the hold pending again, because the target keeps the keys.
pub(super) fn withdraw(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    for kind in [StepKind::Rollback, StepKind::HoldBack, StepKind::DropNew] {
        draft.skip_step(kind)?;
    }
    draft.reopen_step(StepKind::DropOld)?;
    draft.reopen_step(StepKind::DropSurplus)?;
    draft.reopen_step(StepKind::Hold)?;
    draft.migration().hold_end = None;
    Ok(())
}

/// Returns whether the operator may finish although a rollback was requested: the rollback failed before its flip.
pub(super) fn may_withdraw(draft: &MigrationDraft) -> bool {
    let snapshot = draft.snapshot();
    let m = &snapshot.migration;
    m.ownership == Ownership::Flipped
        && m.hold_end == Some(HoldEnd::Rollback)
        && snapshot.running().is_none()
        && m.failure.is_some()
}

/// The definitions of the tables with which the move continues.
pub(super) struct PresentDefinitions<'a> {
    pub(super) tables: &'a [MovingTable],
    pub(super) fingerprint: &'a str,
    /// The differences from the plan, for people.
    pub(super) changes: &'a [String],
    /// The changes that the agent has made on the other shard.
    pub(super) followed: &'a [FollowedChange],
    /// Whether the agent compares copied rows with the source again.
    pub(super) copy_again: bool,
    /// Partitions that the owner of the keys does not have any more.
    pub(super) retired: &'a [TableName],
}

/// Continues the move with the tables as both shards have them now.
///
/// Before the flip the comparison is repeated if columns have changed. The migration continues from the copy if a table is
/// new, a partition that the agent has adopted, or if copied rows have to be compared with the source again.
pub(super) fn reshape(
    draft: &mut MigrationDraft,
    step: &Step,
    definitions: PresentDefinitions<'_>,
) -> Result<(), ControlError> {
    let PresentDefinitions {
        tables,
        fingerprint,
        changes,
        followed,
        copy_again: compares_copied_rows,
        retired,
    } = definitions;
    let mut data = json!({ "changes": changes, "fingerprint": fingerprint });
    if !followed.is_empty() {
        data["followed"] = json!(followed);
    }
    draft.record("schema.adopted", Some(&step.id), data);
    super::approvals::drop_approvals(draft, "the plan was changed, because a table was changed");
    draft.apply_to_step(&step.id, StepEvent::Interrupted, json!({}))?;
    let m = draft.migration();
    let mut columns = false;
    for table in &mut m.plan.moving.tables {
        if let Some(new) = tables.iter().find(|new| new.table == table.table) {
            columns |= new != table;
            new.clone_into(table);
        }
        table.retired |= retired.contains(&table.table);
    }
    let known = m.plan.moving.tables.clone();
    let is_new = |table: &&MovingTable| known.iter().all(|old| old.table != table.table);
    let adopted: Vec<MovingTable> = tables.iter().filter(is_new).cloned().collect();
    // Each table keeps its place, because names of guards contain it.
    m.plan.moving.tables.extend(adopted.iter().cloned());
    fingerprint.clone_into(&mut m.plan.schema_fingerprint);
    // The agent reports all changes each time, because an earlier report can have been lost.
    for change in followed {
        if !m.plan.followed.contains(change) {
            m.plan.followed.push(change.clone());
        }
    }
    m.needs_new_epoch = true;
    if compares_copied_rows || !adopted.is_empty() {
        copy_again(draft, step)?;
    } else if columns || !retired.is_empty() {
        compare_again(draft)?;
    }
    Ok(())
}

/// Before the flip: makes the copy, which does only what is missing, and the steps from there up to `step` pending again.
fn copy_again(draft: &mut MigrationDraft, step: &Step) -> Result<(), ControlError> {
    let snapshot = draft.snapshot();
    let is_before_flip = matches!(
        snapshot.migration.ownership,
        Ownership::Ready | Ownership::Fencing
    );
    let Some(copy) = snapshot.step_of(StepKind::Copy).filter(|_| is_before_flip) else {
        return Ok(());
    };
    let span = copy.ordinal..=step.ordinal;
    let steps = snapshot.steps.iter();
    let again: Vec<StepId> = steps
        .filter(|row| span.contains(&row.ordinal) && row.state == StepState::Done)
        .map(|row| row.id.clone())
        .collect();
    for id in again {
        draft
            .apply_to_step(&id, StepEvent::Rewound, json!({ "to": StepKind::Copy }))?
            .attempt = 0;
    }
    Ok(())
}

/// Before the flip: makes the verification, and `open_reverse` after it, pending again.
pub(super) fn compare_again(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    let m = &draft.snapshot().migration;
    if !matches!(m.ownership, Ownership::Ready | Ownership::Fencing) {
        return Ok(());
    }
    let steps = draft.snapshot().steps.iter();
    let again = [StepKind::Verify, StepKind::OpenReverse];
    let done: Vec<StepId> = steps
        .filter(|step| again.contains(&step.kind) && step.state == StepState::Done)
        .map(|step| step.id.clone())
        .collect();
    for id in done {
        draft
            .apply_to_step(&id, StepEvent::Rewound, json!({}))?
            .attempt = 0;
    }
    Ok(())
}
