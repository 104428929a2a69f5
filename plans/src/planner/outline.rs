//! Determines which keys move where: converts each operation to a set of moves, checked and ordered.

use super::wish::{PlanDraft, PlannerInput};
use super::{Outline, PlanError, balance, check, even, explicit};
use crate::request::{Request, Split};

/// Returns the checked moves of a request.
///
/// # Errors
/// [`PlanError::Unfit`] with all problems.
pub(super) fn outline(request: &Request, ground: PlannerInput<'_>) -> Result<Outline, PlanError> {
    let mut draft = match request {
        Request::Split(split) => parted(split, ground),
        Request::Merge(merge) => explicit::merge(merge, ground),
        Request::Move(moves) => explicit::moves(moves, ground),
        Request::Isolate(isolate) => explicit::isolate(isolate, ground),
        Request::Drain(drain) => balance::drain(drain, ground),
        Request::Rebalance(rebalance) => balance::rebalance(rebalance, ground),
    };
    check::check(&mut draft, ground);
    if draft.problems.is_empty() {
        Ok(draft.outline(ground.map))
    } else {
        Err(PlanError::Unfit {
            problems: draft.problems,
        })
    }
}

/// Drafts a split: by measured load if the request has `even`, otherwise by the keys that its parts name.
fn parted(split: &Split, ground: PlannerInput<'_>) -> PlanDraft {
    match &split.even {
        Some(by) => even::split(split, by, ground),
        None => explicit::split(split, ground),
    }
}
