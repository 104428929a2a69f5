//! Determines which keys move where: converts each operation to a set of moves, checked and ordered.

use super::draft::{PlanDraft, PlannerInput};
use super::{Outline, PlanError, balance, check, even, explicit, seed, whole_tables};
use crate::request::{Ddl, Mode, Request, Seed, Split};

/// Returns the checked moves of a request.
///
/// # Errors
/// [`PlanError::Unfit`] with all problems.
pub(super) fn outline(request: &Request, input: PlannerInput<'_>) -> Result<Outline, PlanError> {
    let mut draft = match request {
        Request::Split(split) => draft_split(split, input),
        Request::Merge(merge) => explicit::merge(merge, input),
        Request::Move(moves) => explicit::moves(moves, input),
        Request::Isolate(isolate) => explicit::isolate(isolate, input),
        Request::Drain(drain) => balance::drain(drain, input),
        Request::Rebalance(rebalance) => balance::rebalance(rebalance, input),
    };
    check::check(&mut draft, input);
    whole_tables::check(request, &mut draft, input);
    if input.options.seed == Seed::Standby {
        seed::check(request, &mut draft, input);
    }
    if input.options.ddl == Ddl::Follow {
        let offline = input.options.mode == Mode::Offline;
        let seeded = input.options.seed == Seed::Standby;
        let problem = match (offline, seeded) {
            (true, _) => Some(
                "the keys of an offline move are read-only, so `ddl: follow` has nothing to follow; use `mode: online`",
            ),
            (false, true) => Some(
                "a target that is a standby cannot follow changes of definitions before it is promoted; use `ddl: halt`, or `seed: copy`",
            ),
            (false, false) => None,
        };
        draft.problems.extend(problem.map(str::to_owned));
    }
    if draft.problems.is_empty() {
        Ok(draft.outline(input.map))
    } else {
        Err(PlanError::Unfit {
            problems: draft.problems,
        })
    }
}

/// Drafts a split: by the measured load if the request has the field `even`, otherwise by the keys that its parts name.
fn draft_split(split: &Split, input: PlannerInput<'_>) -> PlanDraft {
    match &split.even {
        Some(by) => even::split(split, by, input),
        None => explicit::split(split, input),
    }
}
