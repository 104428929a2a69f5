//! Checks of moves whose targets are standbys (`seed: standby`).

use super::draft::{PlanDraft, PlannerInput};
use crate::id::ShardName;
use crate::request::{Mode, Request};
use std::collections::BTreeSet;

/// Adds every reason for which a standby cannot become the target of a move.
pub(super) fn check(request: &Request, draft: &mut PlanDraft, input: PlannerInput<'_>) {
    let mut problems = BTreeSet::new();
    if !matches!(request, Request::Split(_) | Request::Move(_)) {
        problems.insert(format!(
            "`seed: standby` is possible for split and move, not for {}; use `seed: copy`",
            request.operation()
        ));
    }
    let mut targets: BTreeSet<&ShardName> = BTreeSet::new();
    for wanted in &draft.moves {
        let target = &wanted.target;
        if wanted.mode == Mode::Offline {
            problems.insert(format!(
                "`seed: standby` needs `mode: online`: the stream applies what commits after the promotion of shard {target}"
            ));
        }
        let owned = input.map.owned_by(target);
        if !owned.is_empty() {
            problems.insert(format!(
                "shard {target} owns {owned}, so it is no standby; use `seed: copy`"
            ));
        }
        if !targets.insert(target) {
            problems.insert(format!(
                "with `seed: standby` shard {target} can be the target of one move only; name all its keys in one part"
            ));
        }
    }
    draft.problems.extend(problems);
}
