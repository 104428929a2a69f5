//! Checks of moves whose targets are standbys (`seed: standby`).

use super::Outline;
use super::draft::{PlanDraft, PlannerInput};
use crate::doctor::Finding;
use crate::id::ShardName;
use crate::request::{Mode, Request, Seed};
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

/// Adds to the remedy of each target that is a standby, although it was to receive a copy, that it can be promoted.
pub(super) fn offer_standbys(request: &Request, outline: &Outline, findings: &mut [Finding]) {
    let can_be_seeded = matches!(request, Request::Split(_) | Request::Move(_));
    if !can_be_seeded || request.options().seed == Seed::Standby {
        return;
    }
    let is_target = |finding: &Finding| {
        let mut moves = outline.moves.iter();
        moves.any(|m| finding.object == format!("shard {}, server", m.target))
    };
    let standbys = findings.iter_mut();
    for finding in standbys.filter(|f| f.code == "server.standby" && is_target(f)) {
        finding.remedy =
            "plan with `seed: standby`, or register the primary's address for this shard"
                .to_owned();
    }
}
