//! The effect of each command in one sentence. Pages and the command line display it before the user gives the command.

use crate::controller::Command;
use crate::store::CancelRequest;
use plans::plan::MovePlan;
use plans::request::{Hold, Mode, Seed};

/// Returns the effect of a command on one migration.
///
/// `cancel` contains the transactions that the migration requests to end. `is_rolled_back` is true after a rollback.
#[must_use]
pub fn effect(
    command: Command,
    plan: &MovePlan,
    cancel: Option<&CancelRequest>,
    is_rolled_back: bool,
) -> String {
    let effect = match plan.mode {
        Mode::Online => online(command, plan, cancel, is_rolled_back),
        Mode::Offline => offline(command, plan, cancel, is_rolled_back),
    };
    if command == Command::Approve && plan.options.approvals > 1 {
        let needed = plan.options.approvals;
        return format!("Counts as one of {needed} approvals; with the last of them: {effect}");
    }
    effect
}

/// Returns the effect of a command on every migration of an operation that can carry it out.
#[must_use]
pub fn effect_on_all(command: Command) -> &'static str {
    match command {
        Command::Approve => {
            "Each move cuts over as soon as it is verified; moves that already wait for the approval cut over at once. Writes to their keys are blocked for some milliseconds. Online moves can be rolled back until you finish."
        }
        Command::ApproveCancel => {
            "Ends the listed transactions, which prevent cutovers. Cannot be undone."
        }
        Command::Overrule => {
            "Each move that a hook delays continues without it. Cannot be undone, but you can pause."
        }
        Command::Pause => {
            "Each move stops at its next safe point and keeps everything that was done. Resume continues it."
        }
        Command::Resume => {
            "Each paused or failed move continues where it stopped. You can pause it again."
        }
        Command::Retry => "Each step that waits for another attempt is retried at once.",
        Command::Abort => {
            "Aborts each move whose keys the source still owns, and removes everything that it created. Cannot be undone. Moves that were cut over stay."
        }
        Command::Rollback => {
            "Returns the keys of each online move in hold to its source, with what was written since. Can be undone: cut over again until you finish."
        }
        Command::Finish => {
            "Deletes the old rows of each move in hold. Cannot be undone: no rollback is possible afterwards."
        }
    }
}

/// Returns the effect on an online migration.
fn online(
    command: Command,
    plan: &MovePlan,
    cancel: Option<&CancelRequest>,
    is_rolled_back: bool,
) -> String {
    let (source, target) = (&plan.moving.source, &plan.moving.target);
    let is_seeded = plan.options.seed == Seed::Standby;
    match command {
        Command::Approve => format!(
            "Writes to the moving keys are blocked for some milliseconds, at most {} ms; then {target} owns the keys. Can be undone: roll back until {}.",
            plan.options.write_stop_budget_ms,
            hold_end_text(plan)
        ),
        Command::ApproveCancel => {
            let pids = cancel.into_iter().flat_map(|cancel| &cancel.writers);
            let pids: Vec<String> = pids.map(|writer| writer.pid.to_string()).collect();
            format!(
                "Ends the transactions of server process {} and rolls them back, so that the cutover can begin. Cannot be undone.",
                pids.join(", ")
            )
        }
        Command::Overrule => {
            "Continues without the hooks that delay it, until it is paused or fails. Cannot be undone, but you can pause.".to_owned()
        }
        Command::Pause => {
            "Stops at the next safe point and keeps everything that was done. Resume continues it.".to_owned()
        }
        Command::Resume => "Continues where it stopped. You can pause it again.".to_owned(),
        Command::Retry => {
            "Retries the step at once; its attempts are counted from zero again.".to_owned()
        }
        Command::Abort if is_seeded => format!(
            "Removes everything that was created; {source} keeps the keys. Cannot be undone. If {target} was promoted, it stays promoted: create it again before it is used for another plan."
        ),
        Command::Abort => {
            format!(
                "Removes everything that was created; {source} keeps the keys. Cannot be undone: another attempt copies again."
            )
        }
        Command::Rollback => {
            format!(
                "Returns the keys to {source}, with what was written on {target} since; writes to them are blocked for some milliseconds. Can be undone: cut over again until {}.",
                hold_end_text(plan)
            )
        }
        Command::Finish if is_rolled_back && is_seeded => format!(
            "Removes everything that was created, and keeps the rows on {target}; {source} keeps the keys. Cannot be undone afterwards."
        ),
        Command::Finish if is_rolled_back => {
            format!(
                "Drops the copy on {target} and everything that was created; {source} keeps the keys. Cannot be undone afterwards."
            )
        }
        Command::Finish if is_seeded => format!(
            "Deletes the old rows from {source}, and the rows of other keys from {target}. Cannot be undone: no rollback is possible afterwards."
        ),
        Command::Finish => {
            format!(
                "Deletes the old rows from {source}. Cannot be undone: no rollback is possible afterwards."
            )
        }
    }
}

/// Returns until when the migration keeps the copy that the owner of the keys does not use.
fn hold_end_text(plan: &MovePlan) -> &'static str {
    match plan.options.hold {
        Hold::UntilFinish => "you finish",
        Hold::Seconds(_) => "the hold ends",
    }
}

/// Returns the effect on an offline migration, if it differs from that on an online migration.
fn offline(
    command: Command,
    plan: &MovePlan,
    cancel: Option<&CancelRequest>,
    is_rolled_back: bool,
) -> String {
    let (source, target) = (&plan.moving.source, &plan.moving.target);
    match command {
        Command::Approve => {
            format!(
                "{target} owns the moving keys some milliseconds later, and accepts writes to them. Cannot be undone: an offline move has no rollback."
            )
        }
        Command::Pause => {
            "Stops at the next safe point; keys that are read-only stay read-only meanwhile. Resume continues it."
                .to_owned()
        }
        Command::Abort => format!(
            "Removes everything that was created; {source} keeps the keys and accepts writes to them again. Cannot be undone: another attempt copies again."
        ),
        Command::Finish => {
            format!(
            "Deletes the old rows, which no client reads any more, from {source}. Cannot be undone."
        )
        }
        Command::Resume
        | Command::Retry
        | Command::Rollback
        | Command::ApproveCancel
        | Command::Overrule => online(command, plan, cancel, is_rolled_back),
    }
}
