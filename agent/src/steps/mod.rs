//! The steps. Each file implements the step kind of its name in `plans::step`; `cutover` also implements `rollback`.

mod build_indexes;
mod catch_up;
mod copy;
mod create_target;
mod cutover;
pub(crate) mod definitions;
mod delete;
mod dirty;
mod drop_new;
pub(crate) mod drop_old;
mod dual_write;
mod hold;
mod hold_back;
mod leftover;
mod open_capture;
mod open_reverse;
mod preflight;
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
pub(crate) use cutover::recover_register;
pub(crate) use cutover::unread_slot::advance_unread_slot;
pub(crate) use dirty::sweep_dirty_keys;
#[cfg(test)]
pub(crate) use dirty::{ComparisonSessions, compare_and_delete_equal, count_differences};
pub(crate) use dual_write::remove_standby_names;
use plans::names::Direction;
#[cfg(test)]
pub(crate) use verify::StreamShards;

/// Runs one step to its end and returns its output.
pub(crate) async fn run(context: &StepContext, kind: StepKind) -> Result<Value, StepError> {
    match kind {
        StepKind::Preflight => output(preflight::run(context).await?),
        StepKind::CreateTarget => output(create_target::run(context).await?),
        StepKind::OpenCapture => output(open_capture::run(context).await?),
        StepKind::SetReadOnly => output(set_read_only::run(context).await?),
        StepKind::Copy => output(copy::run(context).await?),
        StepKind::CatchUp => output(catch_up::run(context).await?),
        StepKind::BuildIndexes => output(build_indexes::run(context).await?),
        StepKind::Verify => output(verify::run(context).await?),
        StepKind::OpenReverse => output(open_reverse::run(context).await?),
        StepKind::Cutover => output(cutover::run(context, Direction::Forward).await?),
        StepKind::Hold => output(hold::run(context).await?),
        StepKind::DropOld => output(drop_old::run(context).await?),
        StepKind::Unwind => output(unwind::run(context).await?),
        StepKind::Rollback => output(cutover::run(context, Direction::Reverse).await?),
        StepKind::HoldBack => output(hold_back::run(context).await?),
        StepKind::DropNew => output(drop_new::run(context).await?),
    }
}

/// Returns whether the step takes the migration over on each shard separately, so that an unreachable shard does not
/// prevent the removal on the other one.
pub(crate) fn takes_over_each_shard(kind: StepKind) -> bool {
    matches!(kind, StepKind::Unwind | StepKind::DropNew)
}

/// Returns whether the step is short and must not be interrupted. A pause then takes effect at the end of the attempt.
pub(crate) fn must_not_be_interrupted(kind: StepKind) -> bool {
    matches!(kind, StepKind::Cutover | StepKind::Rollback)
}

fn output(value: impl Serialize) -> Result<Value, StepError> {
    serde_json::to_value(value)
        .map_err(|error| StepError::passing(StepCode::StepOutput, error.to_string()))
}
