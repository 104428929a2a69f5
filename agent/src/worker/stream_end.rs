//! The end of the stream in a hold. The owner of the keys has every row, and only the rows on the other shard stay
//! outdated. So the hold continues without a stream that has lost changes, until the operator decides:
//! - `finish` removes the outdated rows; this needs no stream.
//! - A rollback is refused, because the source lacks changes.
//! - Another cutover after a rollback compares the rows on the target with the source first.

use plans::failure::{Failure, StepCode};
use plans::names::Direction;
use plans::step::StepKind;

use crate::error::StepError;
use crate::migration::context::StepContext;
use crate::migration::servers;
use crate::steps;

/// Lets a migration continue on servers that were promoted after the flip. If the stream cannot continue there, a hold
/// continues without it. A rollback does not begin: it would recover an earlier attempt, and open the target without the
/// proof that the promoted server has what the target had acknowledged.
///
/// # Errors
/// Those of [`servers::accept_promoted`]; `rollback.impossible`.
pub(super) async fn accept_promoted(
    context: &StepContext,
    kind: StepKind,
) -> Result<(), StepError> {
    match servers::accept_promoted(context).await {
        Err(StepError::Failed(failure)) if is_possible_without(kind, &failure) => {
            context.session.end_stream(direction(kind), failure).await;
            Ok(())
        }
        Err(StepError::Failed(failure))
            if kind == StepKind::Rollback && failure.loses_changes() =>
        {
            Err(steps::rollback_impossible_error(failure.message))
        }
        accepted => accepted,
    }
}

/// Waits until the stream fails with a failure that ends the step.
pub(super) async fn wait_for_failure(context: &StepContext, kind: StepKind) -> StepError {
    let error = context.wait_for_stream_failure().await;
    let Some(failure) = error.failure().filter(|it| is_possible_without(kind, it)) else {
        return error;
    };
    if steps::is_hold(kind) {
        // The next run of the step finds out whether the stream can continue on the promoted server.
        if failure.has_code(StepCode::ServerPromoted) {
            return error;
        }
        let failure = failure.clone();
        context.session.end_stream(direction(kind), failure).await;
        steps::report_hold(context, direction(kind));
    }
    std::future::pending().await
}

/// Returns the direction of the stream that this step has, or had before.
fn direction(kind: StepKind) -> Direction {
    if matches!(kind, StepKind::HoldBack | StepKind::DropNew) {
        Direction::Forward
    } else {
        Direction::Reverse
    }
}

/// Returns whether the step continues without its stream after this failure.
fn is_possible_without(kind: StepKind, failure: &Failure) -> bool {
    let removes_rows = matches!(
        kind,
        StepKind::DropOld | StepKind::DropSurplus | StepKind::DropNew
    );
    (steps::is_hold(kind) || removes_rows) && failure.loses_changes()
}
