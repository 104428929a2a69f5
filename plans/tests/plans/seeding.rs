//! Plans whose target is a standby of the source.

use crate::fixture::{self, brief, finding, fleet, map, planned, try_outline};
use plans::doctor::Finding;
use plans::failure::Severity;
use plans::plan::TargetState;
use plans::planner::{PlanError, plan};
use plans::render::{plan_summary, plan_text};
use plans::request::Request;
use plans::step::{SEEDED, StepKind};

const SPLIT: &str = "{operation: split, map: m, source: a, into: [{shard: a, keys: {to: 50}}, {shard: d, keys: {from: 50, to: 100}}], options: {seed: standby}}";

fn outlined(text: &str) -> Result<Vec<String>, Vec<String>> {
    let owners = [(None, Some(100), "a"), (Some(100), None, "b")];
    let outline = try_outline(text, &map("m", &owners), &fleet(&["a", "b", "c", "d"]), &[]);
    outline.map(|outline| brief(&outline))
}

#[test]
fn a_split_into_a_standby_has_the_steps_of_a_promotion() {
    let plan = planned(&fixture::example("split-from-standby.yaml"));
    let [planned] = plan.moves.as_slice() else {
        panic!("{plan:?}")
    };
    assert_eq!(planned.target, TargetState::Standby);
    let kinds: Vec<StepKind> = planned.graph.nodes().iter().map(|node| node.kind).collect();
    assert_eq!(kinds, SEEDED);
}

#[test]
fn the_text_of_a_plan_shows_what_is_not_copied_and_what_is_deleted() {
    let plan = planned(&fixture::example("split-from-standby.yaml"));
    for text in [plan_text(&plan), plan_summary(&plan)] {
        for line in [
            "to shard shard-b (standby of the source), online",
            "  seed             standby of shard shard-a, promoted: about 750000 rows (64.3 MiB) are not copied",
            "  surplus          about 750000 rows (64.3 MiB) of keys that shard shard-b will not own",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("copied by") && !text.contains("offline instead"));
    }
}

#[test]
fn only_an_online_split_or_move_into_a_shard_without_keys_can_be_seeded() {
    assert_eq!(outlined(SPLIT).unwrap(), ["m1 a > d: [50, 100)"]);
    let offline = SPLIT.replace("seed: standby", "seed: standby, mode: offline");
    let owner = SPLIT.replace("shard: d", "shard: b");
    let twice = "{operation: move, map: m, moves: [{source: a, target: d, keys: {to: 10}}, {source: b, target: d, keys: {from: 200}}], options: {seed: standby}}";
    let merge = "{operation: merge, map: m, sources: [a, b], into: d, options: {seed: standby}}";
    for (text, why) in [
        (offline.as_str(), "needs `mode: online`"),
        (owner.as_str(), "shard b owns [100, ∞), so it is no standby"),
        (twice, "shard d can be the target of one move only"),
        (merge, "possible for split and move, not for merge"),
    ] {
        let problems = outlined(text).unwrap_err();
        assert!(
            problems.iter().any(|p| p.contains(why)),
            "{why}: {problems:?}"
        );
    }
}

/// The remedies of the findings that refuse a plan.
fn remedies(request: &str, object: &str) -> Vec<String> {
    let request = Request::parse(request).unwrap();
    let outline = fixture::outlined(&request).unwrap();
    let mut surveys = fixture::surveys_of(&request, &outline);
    surveys[0].findings.push(Finding {
        code: "server.standby".to_owned(),
        object: object.to_owned(),
        remedy: "register the primary's address for this shard".to_owned(),
        ..finding(Severity::Refused)
    });
    match plan(&request, &fixture::map_of(&request), outline, &surveys) {
        Err(PlanError::Refused { findings }) => findings.into_iter().map(|f| f.remedy).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_standby_as_the_target_of_a_copy_can_be_seeded_instead() {
    let split = fixture::example("split-by-range.yaml");
    let plain = "register the primary's address for this shard";
    let offered = format!("plan with `seed: standby`, or {plain}");
    assert_eq!(
        remedies(&split, "shard shard-b, server"),
        [offered.as_str()]
    );
    assert_eq!(remedies(&split, "shard shard-a, server"), [plain]);
    let merge = fixture::example("merge.yaml");
    let target = Request::parse(&merge).unwrap();
    let target = fixture::outlined(&target).unwrap().moves[0].target.clone();
    assert_eq!(
        remedies(&merge, &format!("shard {target}, server")),
        [plain]
    );
}
