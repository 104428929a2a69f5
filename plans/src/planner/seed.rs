//! Checks of moves whose targets are standbys (`seed: standby`).

use super::Outline;
use super::draft::{PlanDraft, PlannerInput};
use crate::doctor::Finding;
use crate::id::ShardName;
use crate::plan::{PlannedMove, TargetState};
use crate::request::{Mode, Options, Request, Seed};
use crate::survey::Survey;
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

/// A copy of at least this many bytes is compared with a standby: 50 GiB.
const LARGE_BYTES: i64 = 50 << 30;
/// A standby is proposed if at least this part of the source's rows moves, in millionths.
const LARGE_PART_PPM: i64 = 200_000;

/// Returns the bytes of the surveyed tables.
fn all_bytes(survey: &Survey) -> i128 {
    survey
        .tables
        .iter()
        .map(|table| i128::from(table.bytes))
        .sum()
}

/// Returns a note for each copy that a standby would probably replace in much less time.
pub(super) fn proposals(
    moves: &[PlannedMove],
    surveys: &[Survey],
    options: &Options,
) -> Vec<String> {
    if options.seed == Seed::Standby {
        return Vec::new();
    }
    let is_large = |planned: &PlannedMove, survey: &Survey| {
        let moving = i128::from(planned.estimate.bytes);
        planned.mode == Mode::Online
            && planned.target == TargetState::New
            && planned.estimate.bytes >= LARGE_BYTES
            && moving * 1_000_000 >= all_bytes(survey) * i128::from(LARGE_PART_PPM)
    };
    let large = moves.iter().zip(surveys);
    let large = large.filter(|(planned, survey)| is_large(planned, survey));
    let note = |(planned, _): (&PlannedMove, &Survey)| {
        format!(
            "{}: {} are copied and their indexes are built; a physical standby of shard {} as the target would need no copy (`seed: standby`)",
            planned.id,
            crate::render::bytes(planned.estimate.bytes),
            planned.moving.source
        )
    };
    large.map(note).collect()
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
