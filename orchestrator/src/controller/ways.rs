//! The ways between the two owners: back, again, and on with tables that have changed.
//!
//! Steps are kept in one list: those of the way that is not taken are skipped, and restored when it is.

use super::ControlError;
use super::draft::MigrationDraft;
use crate::store::{HoldEnd, Step};
use plans::failure::Failure;
use plans::id::StepId;
use plans::state::cutover::{Ownership, OwnershipEvent};
use plans::state::migration::MigrationEvent;
use plans::state::step::{StepEvent, StepState};
use plans::step::StepKind;
use plans::table::MovingTable;
use serde_json::json;

/// Code of the failure of a roll back that cannot be made.
const IMPOSSIBLE: &str = "rollback.impossible";

/// After the hold: the steps that give the keys back.
pub(super) fn go_back(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    draft.leave(StepKind::DropOld)?;
    // Another cutover is approved anew.
    draft.migration().approvals.clear();
    draft.append(&[StepKind::Rollback, StepKind::HoldBack, StepKind::DropNew])?;
    Ok(())
}

/// After a roll back: compared again, with a new way back, then the cutover once more.
pub(super) fn go_again(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    draft.own(OwnershipEvent::Again, json!({}))?;
    draft.migrate(MigrationEvent::Again, json!({}))?;
    let m = draft.migration();
    m.map_version_before = m.map_version_back.unwrap_or(m.map_version_before);
    m.map_version_after = None;
    m.map_version_back = None;
    m.hold_end = None;
    m.approved = true;
    m.renew = true;
    for kind in [StepKind::Rollback, StepKind::HoldBack, StepKind::DropNew] {
        draft.leave(kind)?;
    }
    for kind in [
        StepKind::Verify,
        StepKind::OpenReverse,
        StepKind::Cutover,
        StepKind::Hold,
        StepKind::DropOld,
    ] {
        draft.restore(kind)?;
    }
    Ok(())
}

/// True for a roll back that found before its fence that it cannot be made.
pub(super) fn is_impossible(draft: &MigrationDraft, step: &Step, failure: &Failure) -> bool {
    step.kind == StepKind::Rollback
        && failure.code == IMPOSSIBLE
        && draft.snapshot().migration.ownership == Ownership::Flipped
}

/// The order is taken back: the hold goes on, and says why.
pub(super) fn refuse_rollback(
    draft: &mut MigrationDraft,
    failure: &Failure,
) -> Result<(), ControlError> {
    withdraw(draft)?;
    draft.note("rollback.refused", None, json!({ "failure": failure }));
    let m = draft.migration();
    m.renew = true;
    m.waiting_for = Some(format!(
        "`finish`: the keys cannot go back, {}",
        failure.message
    ));
    Ok(())
}

/// The keys stay where they are: the steps of the way back are left, the hold is there again.
pub(super) fn withdraw(draft: &mut MigrationDraft) -> Result<(), ControlError> {
    for kind in [StepKind::Rollback, StepKind::HoldBack, StepKind::DropNew] {
        draft.leave(kind)?;
    }
    draft.restore(StepKind::DropOld)?;
    draft.restore(StepKind::Hold)?;
    draft.migration().hold_end = None;
    Ok(())
}

/// True when the operator may finish although a roll back was ordered: it failed before its flip.
pub(super) fn may_withdraw(draft: &MigrationDraft) -> bool {
    let snapshot = draft.snapshot();
    let m = &snapshot.migration;
    m.ownership == Ownership::Flipped
        && m.hold_end == Some(HoldEnd::Rollback)
        && snapshot.running().is_none()
        && m.failure.is_some()
}

/// The move goes on with the tables as both shards have them now.
///
/// Before the flip, columns that are new are compared from the beginning.
pub(super) fn reshape(
    draft: &mut MigrationDraft,
    step: &Step,
    tables: &[MovingTable],
    fingerprint: &str,
    changes: &[String],
) -> Result<(), ControlError> {
    let data = json!({ "changes": changes, "fingerprint": fingerprint });
    draft.note("schema.adopted", Some(&step.id), data);
    super::approvals::drop_approvals(draft, "the plan follows changed tables");
    draft.step(&step.id, StepEvent::Interrupted, json!({}))?;
    let m = draft.migration();
    let mut columns = false;
    for table in &mut m.plan.moving.tables {
        if let Some(new) = tables.iter().find(|new| new.table == table.table) {
            columns |= new != table;
            new.clone_into(table);
        }
    }
    fingerprint.clone_into(&mut m.plan.schema_fingerprint);
    m.renew = true;
    if columns {
        compare_again(draft)?;
    }
    Ok(())
}

/// Before the flip: the verification and what follows it are to be done again.
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
        draft.step(&id, StepEvent::Rewound, json!({}))?.attempt = 0;
    }
    Ok(())
}
