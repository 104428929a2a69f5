//! Describes in one sentence what a migration is doing, and computes how far it is.

use super::figures::percent;
use crate::store::HoldEnd;
use crate::view::{MigrationView, StepView};
use plans::request::{Hold, Mode, Seed};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::wire::TableProgress;

/// Returns the first step that has not ended: the running step, or else the next one.
pub(crate) fn current(view: &MigrationView) -> Option<&StepView> {
    view.steps.iter().find(|step| !has_ended(step))
}

/// Returns whether only an operator can end the running hold.
pub(crate) fn is_open_ended_hold(view: &MigrationView) -> bool {
    let is_hold = |kind| matches!(kind, StepKind::Hold | StepKind::HoldBack);
    let is_running_hold = |s: &StepView| is_hold(s.kind) && s.state == StepState::Running;
    view.steps.iter().any(is_running_hold)
        && view.hold_end.is_none()
        && view.plan.options.hold == Hold::UntilFinish
}

/// Returns a sentence about what the migration is doing and who owns the keys.
pub(crate) fn migration_sentence(view: &MigrationView) -> String {
    seeded_sentence(view).unwrap_or_else(|| usual_sentence(view))
}

/// Returns the sentence about a migration that copies rows, and about other migrations that do the same in this state.
fn usual_sentence(view: &MigrationView) -> String {
    let m = &view.summary;
    let (source, target, keys) = (&m.source, &m.target, &m.keys);
    match m.state {
        MigrationState::Planned => planned(view),
        MigrationState::Running if m.mode == Mode::Offline => format!(
            "{} {source} owns {keys}; the moving keys are read-only {}.",
            step_sentence(view),
            if is_read_only(view) {
                "until the flip"
            } else {
                "from the copy until the flip"
            }
        ),
        MigrationState::Running if m.ownership == Ownership::Fencing => format!(
            "Cutover, attempt {}: writes to {keys} are blocked for a moment, everything else continues.",
            view.attempt
        ),
        MigrationState::Running => format!(
            "{} {source} owns {keys} and takes every read and write.",
            step_sentence(view)
        ),
        MigrationState::Waiting if m.mode == Mode::Offline => format!(
            "Copied and verified; {source} owns {keys}, and the moving keys are read-only until the flip, which you approve."
        ),
        MigrationState::Waiting if view.cancel.is_some() => {
            format!("A transaction that does not end prevents the cutover; {source} owns {keys}.")
        }
        MigrationState::Waiting => format!(
            "Copied, verified and kept in step; {source} owns {keys} until you approve the cutover."
        ),
        MigrationState::Paused => {
            format!(
                "Paused by an operator; {} owns {keys}{}.",
                owner_of_keys(view),
                read_only_note(view)
            )
        }
        MigrationState::Failed => format!(
            "Failed; {} owns {keys}{}. Fix the cause, then resume.",
            owner_of_keys(view),
            read_only_note(view)
        ),
        MigrationState::Unwinding => {
            format!("Aborting: everything that was created is removed; {source} keeps {keys}.")
        }
        MigrationState::Unwound => {
            let rest = match view.leftovers.is_empty() {
                true => "nothing is left on the shards",
                false => "some objects are left on the shards",
            };
            format!("Aborted: {source} owns {keys}, and {rest}.")
        }
        MigrationState::Flipped => flipped(view),
        MigrationState::Completed => {
            format!("Done: {target} owns {keys}, the old rows are deleted from {source}.")
        }
        MigrationState::RolledBack if m.finished_at.is_some() => {
            format!("Rolled back: {source} owns {keys} again, with what was written on {target}.")
        }
        MigrationState::RolledBack if view.hold_end.is_none() => format!(
            "Rolled back: {source} owns {keys} again. The copy on {target} is kept in step until you finish, or approve another cutover."
        ),
        MigrationState::RolledBack => {
            format!(
                "Rolled back: {source} owns {keys} again; the copy on {target} is being removed."
            )
        }
    }
}

/// Returns the sentence about a migration that promotes a standby, if it differs from that about a copy.
fn seeded_sentence(view: &MigrationView) -> Option<String> {
    let m = &view.summary;
    let (source, target, keys) = (&m.source, &m.target, &m.keys);
    if view.plan.options.seed == Seed::Copy {
        return None;
    }
    match m.state {
        MigrationState::Waiting if view.cancel.is_none() => Some(format!(
            "Promoted, verified and kept in step; {source} owns {keys} until you approve the cutover."
        )),
        MigrationState::Completed => Some(format!(
            "Done: {target} owns {keys}; the old rows are deleted from {source}, and the surplus rows from {target}."
        )),
        MigrationState::RolledBack if m.finished_at.is_none() && view.hold_end.is_some() => {
            Some(format!(
                "Rolled back: {source} owns {keys} again; what the migration created is being removed, and the rows stay on {target}."
            ))
        }
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Waiting
        | MigrationState::Paused
        | MigrationState::Failed
        | MigrationState::Unwinding
        | MigrationState::Unwound
        | MigrationState::Flipped
        | MigrationState::RolledBack => None,
    }
}

/// Returns whether the rows on a promoted standby whose keys it does not own are being deleted.
fn is_surplus_being_deleted(view: &MigrationView) -> bool {
    current(view).is_some_and(|step| step.kind == StepKind::DropSurplus)
}

/// Returns the sentence about a migration that has not started.
fn planned(view: &MigrationView) -> String {
    let m = &view.summary;
    let (source, keys) = (&m.source, &m.keys);
    match &m.waiting_for {
        Some(what) => {
            format!("Waits: {what}. Nothing was changed yet, {source} owns {keys}.")
        }
        None => format!("Submitted; nothing was changed yet, {source} owns {keys}."),
    }
}

/// Returns whether the keys of an offline move are read-only: from the step `set_read_only` to the flip.
fn is_read_only(view: &MigrationView) -> bool {
    let step = view
        .steps
        .iter()
        .find(|step| step.kind == StepKind::SetReadOnly);
    step.is_some_and(|step| step.state != StepState::Pending)
        && matches!(
            view.summary.ownership,
            Ownership::Ready | Ownership::Fencing
        )
}

/// Returns the end of a sentence: a note if the moving keys are read-only, otherwise nothing.
fn read_only_note(view: &MigrationView) -> &'static str {
    if is_read_only(view) {
        ", and the moving keys are read-only until the flip"
    } else {
        ""
    }
}

/// Returns the sentence about a migration after the flip.
fn flipped(view: &MigrationView) -> String {
    let m = &view.summary;
    let (source, target, keys) = (&m.source, &m.target, &m.keys);
    if m.ownership == Ownership::RollbackFencing {
        return format!("Rolling back: writes to {keys} are blocked for a moment.");
    }
    match view.hold_end {
        Some(HoldEnd::Finish) if is_surplus_being_deleted(view) => {
            format!("{target} owns {keys}; the rows of other keys are being deleted from {target}.")
        }
        Some(HoldEnd::Finish) => {
            format!("{target} owns {keys}; the old rows are being removed from {source}.")
        }
        Some(HoldEnd::Rollback) => {
            format!("{target} owns {keys}; the rollback to {source} begins.")
        }
        // This value exists only after a rollback.
        Some(HoldEnd::Again) => format!("{target} owns {keys}."),
        None if m.mode == Mode::Offline => format!(
            "{target} owns {keys} and takes writes; the old rows stay on {source}{}, and there is no reverse stream.",
            if is_open_ended_hold(view) {
                " until you finish"
            } else {
                " for a while"
            }
        ),
        None if is_open_ended_hold(view) => {
            format!("{target} owns {keys}; {source} is kept in step until you finish or roll back.")
        }
        None => format!("{target} owns {keys}; {source} is kept in step, a rollback is possible."),
    }
}

/// Returns the sentence about the current step.
fn step_sentence(view: &MigrationView) -> String {
    let Some(step) = current(view) else {
        return "All steps are done.".to_owned();
    };
    let mut chars = step.summary.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}.", chars.as_str())
}

/// Returns the name of the shard that owns the keys.
fn owner_of_keys(view: &MigrationView) -> &str {
    match view.summary.ownership {
        Ownership::Ready | Ownership::Fencing | Ownership::Aborted | Ownership::RolledBack => {
            view.summary.source.as_str()
        }
        Ownership::Flipped | Ownership::RollbackFencing | Ownership::Completed => {
            view.summary.target.as_str()
        }
    }
}

/// Returns how many percent of the rows of `tables` are done, or of their bytes if the number of rows is unknown.
///
/// Bytes are less exact: the total is the size of the tables on disk, but the done bytes are those that the network
/// protocol carried, which are fewer.
pub(crate) fn tables_percent(tables: &[TableProgress]) -> Option<u8> {
    let sum = |figure: fn(&TableProgress) -> i64| tables.iter().map(figure).sum::<i64>();
    let (bytes, rows) = (sum(|t| t.bytes_total), sum(|t| t.rows_total));
    if rows > 0 {
        return Some(percent(sum(|t| t.rows_done.min(t.rows_total)), rows));
    }
    (bytes > 0).then(|| percent(sum(|t| t.bytes_done.min(t.bytes_total)), bytes))
}

/// Returns how many percent of the migration are done: each step has the same weight, and the current step counts with
/// its done part. `None` if the migration is being aborted or was aborted or rolled back.
pub(crate) fn progress_percent(view: &MigrationView) -> Option<u8> {
    if !is_forward(view.summary.state) {
        return None;
    }
    if view.summary.finished_at.is_some() {
        return Some(100);
    }
    let total = i64::try_from(view.steps.len()).unwrap_or(1) * 100;
    let ended = view.steps.iter().filter(|step| has_ended(step)).count();
    let progress = current(view).and_then(|step| step.progress.as_ref());
    let part = progress.and_then(|progress| tables_percent(&progress.tables));
    let done = i64::try_from(ended).unwrap_or(0) * 100 + i64::from(part.unwrap_or(0));
    Some(percent(done, total))
}

/// Returns whether a migration in this state moves its keys to the target, or has done so.
pub(crate) fn is_forward(state: MigrationState) -> bool {
    match state {
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Waiting
        | MigrationState::Paused
        | MigrationState::Failed
        | MigrationState::Flipped
        | MigrationState::Completed => true,
        MigrationState::Unwinding | MigrationState::Unwound | MigrationState::RolledBack => false,
    }
}

pub(crate) fn has_ended(step: &StepView) -> bool {
    matches!(step.state, StepState::Done | StepState::Skipped)
}
