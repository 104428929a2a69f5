//! Checks of moves whose targets are standbys (`seed: standby`).

use super::draft::{PlanDraft, PlannerInput};
use crate::id::ShardName;
use crate::plan::{PlannedMove, SurplusEstimate, TargetState};
use crate::request::{Mode, Options, Request, Seed};
use crate::survey::Survey;
use crate::table::MovingTable;
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

/// Returns the rows and bytes of the surveyed tables that do not move. Reference tables move as a whole.
pub(super) fn surplus(survey: &Survey) -> SurplusEstimate {
    let tables = survey.tables.iter().zip(&survey.moving_ppm);
    let sum = |figure: fn(&MovingTable) -> i64| {
        let parts = tables.clone().map(|(table, ppm)| {
            let staying = i128::from(1_000_000 - ppm.clamp(&0, &1_000_000));
            i128::from(figure(table)) * staying / 1_000_000
        });
        i64::try_from(parts.sum::<i128>()).unwrap_or(i64::MAX)
    };
    SurplusEstimate {
        rows: sum(|table| table.rows),
        bytes: sum(|table| table.bytes),
    }
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
        let all = moving + i128::from(surplus(survey).bytes);
        planned.mode == Mode::Online
            && planned.target == TargetState::New
            && planned.estimate.bytes >= LARGE_BYTES
            && moving * 1_000_000 >= all * i128::from(LARGE_PART_PPM)
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
