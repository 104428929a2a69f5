//! The fail points that the demo uses, at which a process is stopped in a step.

use crate::options::{CutoverMoment, Kill, Process};
use plans::step::StepKind;

/// The process that passes a fail point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassedBy {
    /// The agent that performs the step.
    Agents,
    /// The controller.
    Controller,
}

/// A fail point, and the process that passes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassedPoint {
    pub(crate) name: String,
    pub(crate) passed_by: PassedBy,
}

/// Returns the fail point at which a process is killed.
pub(crate) fn of_kill(kill: Kill) -> PassedPoint {
    match kill.process {
        Process::Agent | Process::Source | Process::Target => of_step(kill.step),
        Process::Controller => of_controller(kill.step, "controller.cutover.after_flip"),
        Process::Store => of_controller(kill.step, "controller.cutover.before_flip"),
    }
}

/// Returns the fail point in a step at which its agent waits.
pub(crate) fn of_step(step: StepKind) -> PassedPoint {
    let name = match step {
        StepKind::Preflight => "preflight.checked",
        StepKind::CreateTarget => "create_target.restored",
        StepKind::OpenCapture => "open_capture.slot_created",
        StepKind::Promote => "promote.promoted",
        StepKind::SetReadOnly => "set_read_only.closed",
        StepKind::Copy => "copy.half",
        StepKind::CatchUp => "catch_up.batch_applied",
        StepKind::BuildIndexes => "build_indexes.built_one",
        StepKind::Verify => "verify.compared",
        StepKind::OpenReverse => "open_reverse.slot_created",
        StepKind::Cutover => "cutover.fenced",
        StepKind::Hold => "hold.started",
        StepKind::DropOld => "drop_old.batch_deleted",
        StepKind::DropSurplus => "drop_surplus.batch_deleted",
        StepKind::Rollback => "rollback.fenced",
        StepKind::Unwind => "unwind.started",
        StepKind::HoldBack => "hold_back.started",
        StepKind::DropNew => "drop_new.started",
    };
    PassedPoint {
        name: name.to_owned(),
        passed_by: PassedBy::Agents,
    }
}

/// Returns the fail point in the middle of the cutover at which an agent waits.
pub(crate) fn of_moment(moment: CutoverMoment) -> PassedPoint {
    PassedPoint {
        name: format!("cutover.{moment}"),
        passed_by: PassedBy::Agents,
    }
}

/// Returns the fail point for a kill of the controller or the store. For the cutover it is the worst case: for the
/// controller, the flip is committed and no process knows it yet; for the store, all processes wait for the flip.
fn of_controller(step: StepKind, cutover: &str) -> PassedPoint {
    let name = if step == StepKind::Cutover {
        cutover.to_owned()
    } else {
        format!("controller.{step}.claimed")
    };
    PassedPoint {
        name,
        passed_by: PassedBy::Controller,
    }
}
