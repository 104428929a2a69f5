//! The steps. Each file implements the step kind of its name in `plans::step`; `cutover` also implements `rollback`.

mod build_indexes;
mod catch_up;
mod copy;
pub(crate) mod create_target;
mod cutover;
pub(crate) mod definitions;
mod delete;
mod dirty;
mod drop_new;
pub(crate) mod drop_old;
pub(crate) mod drop_surplus;
mod dual_write;
mod hold;
mod hold_back;
mod leftover;
mod open_capture;
mod open_reverse;
mod preflight;
mod promote;
mod set_read_only;
mod unwind;
mod verify;

use plans::failure::StepCode;
use plans::step::StepKind;
use serde::Serialize;
use serde_json::Value;

use crate::error::StepError;
use crate::migration::context::StepContext;
pub(crate) use copy::hold_newest_snapshot;
#[cfg(test)]
pub(crate) use copy::{empty_unfinished_units, record_slot_snapshot};
#[cfg(test)]
pub(crate) use create_target::prepare_target;
pub(crate) use cutover::before_rollback::impossible_error as rollback_impossible_error;
pub(crate) use cutover::recover_register;
pub(crate) use cutover::unread_slot::advance_unread_slot;
pub(crate) use dirty::sweep_dirty_keys;
#[cfg(test)]
pub(crate) use dirty::{ComparisonSessions, compare_and_delete_equal, count_differences};
pub(crate) use dual_write::remove_standby_names;
pub(crate) use hold::report as report_hold;
use plans::names::Direction;
#[cfg(test)]
pub(crate) use promote::bind_source;
pub(crate) use promote::unbind_unless_requested;
#[cfg(test)]
pub(crate) use verify::StreamShards;
#[cfg(test)]
pub(crate) use verify::open_offline_point;

/// Runs one step to its end and returns its output.
pub(crate) async fn run(context: &StepContext, kind: StepKind) -> Result<Value, StepError> {
    match kind {
        StepKind::Preflight => to_output(preflight::run(context).await?),
        StepKind::CreateTarget => to_output(create_target::run(context).await?),
        StepKind::OpenCapture => to_output(open_capture::run(context).await?),
        StepKind::Promote => to_output(promote::run(context).await?),
        StepKind::SetReadOnly => to_output(set_read_only::run(context).await?),
        StepKind::Copy => to_output(copy::run(context).await?),
        StepKind::CatchUp => to_output(catch_up::run(context).await?),
        StepKind::BuildIndexes => to_output(build_indexes::run(context).await?),
        StepKind::Verify => to_output(verify::run(context).await?),
        StepKind::OpenReverse => to_output(open_reverse::run(context).await?),
        StepKind::Cutover => to_output(cutover::run(context, Direction::Forward).await?),
        StepKind::Hold => to_output(hold::run(context).await?),
        StepKind::DropOld => to_output(drop_old::run(context).await?),
        StepKind::DropSurplus => to_output(drop_surplus::run(context).await?),
        StepKind::Unwind => to_output(unwind::run(context).await?),
        StepKind::Rollback => to_output(cutover::run(context, Direction::Reverse).await?),
        StepKind::HoldBack => to_output(hold_back::run(context).await?),
        StepKind::DropNew => to_output(drop_new::run(context).await?),
    }
}

/// Returns whether the step takes the migration over on each shard separately, so that an unreachable shard does not
/// prevent the removal on the other one.
pub(crate) fn takes_over_each_shard(kind: StepKind) -> bool {
    matches!(kind, StepKind::Unwind | StepKind::DropNew)
}

/// Returns whether the step waits for a command of the operator, while a stream keeps the rows of the other shard current.
pub(crate) fn is_hold(kind: StepKind) -> bool {
    matches!(kind, StepKind::Hold | StepKind::HoldBack)
}

/// Returns whether the step is short and must not be interrupted. A pause then takes effect at the end of the attempt.
pub(crate) fn must_not_be_interrupted(kind: StepKind) -> bool {
    matches!(kind, StepKind::Cutover | StepKind::Rollback)
}

fn to_output(value: impl Serialize) -> Result<Value, StepError> {
    serde_json::to_value(value)
        .map_err(|error| StepError::passing(StepCode::StepOutput, error.to_string()))
}
