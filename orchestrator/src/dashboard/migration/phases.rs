//! The phases of a migration in their order: done, current and future ones.

use super::super::marks::{self, StateMark};
use crate::view::{MigrationView, StepView, WaitKind};
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;

/// All phases in order: those of the move, of an abort and of a rollback.
const PHASES: [&str; 11] = [
    "Prepare",
    "Promote",
    "Copy",
    "Catch up",
    "Index",
    "Verify",
    "Cutover",
    "Hold",
    "Abort",
    "Roll back",
    "Clean up",
];

/// Several steps that the dashboard shows as one phase.
pub(super) struct PhaseOfSteps<'a> {
    pub(super) name: &'static str,
    pub(super) mark: StateMark,
    /// True if the migration is in this phase.
    pub(super) is_current: bool,
    pub(super) steps: Vec<&'a StepView>,
    /// True if no agent works on the phase: its steps are done, have not begun, or only hold.
    is_idle: bool,
}

impl PhaseOfSteps<'_> {
    /// Returns whether each step is done or skipped.
    fn has_ended(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.all(|step| matches!(step.state, StepState::Done | StepState::Skipped))
    }
}

/// Returns the mark of a phase in which the migration waits for a person or another migration; `None` if it continues
/// without a command.
pub(super) fn waiting_mark(view: &MigrationView) -> Option<StateMark> {
    let waits_for = |kind| view.waits.iter().any(|wait| wait.kind == kind);
    match view.summary.state {
        MigrationState::Paused => Some(marks::of_migration(MigrationState::Paused)),
        MigrationState::Waiting => Some(marks::waits_for_you()),
        _ if waits_for(WaitKind::Finish) => Some(marks::waits_for_you()),
        _ if waits_for(WaitKind::Hook) || waits_for(WaitKind::Queue) => {
            Some(marks::of_migration(MigrationState::Waiting))
        }
        MigrationState::Planned
        | MigrationState::Running
        | MigrationState::Failed
        | MigrationState::Unwinding
        | MigrationState::Unwound
        | MigrationState::Flipped
        | MigrationState::Completed
        | MigrationState::RolledBack => None,
    }
}

/// Returns the phases of a migration in their order.
pub(super) fn phases(view: &MigrationView) -> Vec<PhaseOfSteps<'_>> {
    let ended = view.summary.finished_at.is_some();
    let mut phases: Vec<PhaseOfSteps<'_>> = PHASES
        .into_iter()
        .filter_map(|name| phase(name, &view.steps))
        .collect();
    let first_unfinished = phases.iter_mut().find(|phase| !phase.has_ended());
    if let Some(phase) = first_unfinished.filter(|_| !ended) {
        phase.is_current = true;
        if phase.is_idle {
            phase.mark = waiting_mark(view).unwrap_or(phase.mark);
        }
    }
    phases
}

/// Returns the phase with this name, if the migration has one of its steps.
fn phase<'a>(name: &'static str, steps: &'a [StepView]) -> Option<PhaseOfSteps<'a>> {
    let steps: Vec<&StepView> = steps.iter().filter(|s| phase_of(s.kind) == name).collect();
    steps.first()?;
    let has_step_in = |state: StepState| steps.iter().any(|step| step.state == state);
    let has_ended = |step: &StepView| matches!(step.state, StepState::Done | StepState::Skipped);
    let state = [StepState::Failed, StepState::Backoff, StepState::Running]
        .into_iter()
        .find(|state| has_step_in(*state));
    let state = state.unwrap_or_else(|| match steps.iter().all(|step| has_ended(step)) {
        true if steps.iter().all(|s| s.state == StepState::Skipped) => StepState::Skipped,
        true => StepState::Done,
        false if has_step_in(StepState::Done) => StepState::Running,
        false => StepState::Pending,
    });
    let is_worked_on = |step: &&StepView| {
        let is_hold = matches!(step.kind, StepKind::Hold | StepKind::HoldBack);
        !has_ended(step) && step.state != StepState::Pending && !is_hold
    };
    Some(PhaseOfSteps {
        name,
        mark: marks::of_step(state),
        is_current: false,
        is_idle: !steps.iter().any(is_worked_on),
        steps,
    })
}

/// Returns the name of the phase to which a step belongs.
fn phase_of(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::SetReadOnly => "Prepare",
        StepKind::Promote => "Promote",
        StepKind::Copy => "Copy",
        StepKind::CatchUp => "Catch up",
        StepKind::BuildIndexes => "Index",
        StepKind::Verify => "Verify",
        StepKind::OpenReverse | StepKind::Cutover => "Cutover",
        StepKind::Hold => "Hold",
        StepKind::DropOld | StepKind::DropSurplus | StepKind::DropNew => "Clean up",
        StepKind::Unwind => "Abort",
        StepKind::Rollback | StepKind::HoldBack => "Roll back",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_in_a_phase_that_is_shown() {
        for kind in StepKind::ALL {
            assert!(PHASES.contains(&phase_of(kind)), "{kind}");
        }
    }
}
