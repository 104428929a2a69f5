//! Every example is read, planned, and its plan kept as a snapshot.

use crate::fixture::{self, planned};
use plans::failure::Severity;
use plans::plan::Plan;
use plans::planner::{PlanError, plan};
use plans::render::{plan_summary, plan_text};
use plans::request::{Request, Seed};

#[test]
fn every_example_has_the_plan_of_its_snapshot() {
    for (name, text) in fixture::examples() {
        let plan = planned(&text);
        let json = serde_json::to_string_pretty(&plan).unwrap();
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false,
            omit_expression => true, description => name.clone() }, {
            insta::assert_snapshot!(format!("{name}.text"), plan_text(&plan));
            insta::assert_snapshot!(format!("{name}.plan"), json);
        });
    }
}

#[test]
fn a_summary_has_what_a_move_costs_and_leaves_the_details_out() {
    for (name, text) in fixture::examples() {
        let plan = planned(&text);
        let (whole, summary) = (plan_text(&plan), plan_summary(&plan));
        let is_copied = plan.options.seed == Seed::Copy;
        let how = ["copied by"].into_iter().filter(|_| is_copied);
        for line in ["Steps", "locks:", "where "].into_iter().chain(how) {
            assert!(
                whole.contains(line) && !summary.contains(line),
                "{name}: {summary}"
            );
        }
        let (hash, all) = (&plan.hash, plan.moves.iter().flat_map(|m| &m.moving.tables));
        assert!(summary.contains(hash), "{summary}");
        for table in all {
            assert!(summary.contains(&table.table.to_string()), "{summary}");
        }
    }
}

#[test]
fn every_example_survives_being_written_and_read_again() {
    for (name, text) in fixture::examples() {
        let request = Request::parse(&text).unwrap();
        let again = Request::parse(&serde_json::to_string(&request).unwrap());
        assert_eq!(again.as_ref(), Ok(&request), "{name}");
    }
}

#[test]
fn every_plan_survives_its_file() {
    for (name, text) in fixture::examples() {
        let plan = planned(&text);
        let file = serde_json::to_string_pretty(&plan).unwrap();
        assert_eq!(Plan::parse(&file).as_ref(), Ok(&plan), "{name}");
    }
}

#[test]
fn a_refusal_of_the_survey_is_no_plan() {
    let text = fixture::example("split-by-range.yaml");
    let request = Request::parse(&text).unwrap();
    let outline = fixture::outlined(&request).unwrap();
    let mut surveys = fixture::surveys_of(&request, &outline);
    surveys[0]
        .findings
        .push(fixture::finding(Severity::Refused));
    let error = plan(&request, &fixture::map_of(&request), outline, &surveys).unwrap_err();
    let PlanError::Refused { findings } = error else {
        panic!("{error}");
    };
    assert_eq!(findings, [fixture::finding(Severity::Refused)]);
}

#[test]
fn a_target_whose_tables_should_exist_is_refused_without_them() {
    let text = "{operation: move, map: customers, moves: [{source: eu-1, target: TARGET, keys: {from: 0, to: 20}}], \
                options: {schema: existing}}";
    let codes = |target: &str| {
        let request = Request::parse(&text.replace("TARGET", target)).unwrap();
        let outline = fixture::outlined(&request).unwrap();
        let surveys = fixture::surveys_of(&request, &outline);
        let map = fixture::map_of(&request);
        match plan(&request, &map, outline, &surveys) {
            Ok(_) => Vec::new(),
            Err(PlanError::Refused { findings }) => {
                findings.into_iter().map(|f| (f.code, f.object)).collect()
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(codes("us-1"), []);
    let absent = ("target.absent".to_owned(), "shard eu-2".to_owned());
    assert_eq!(codes("eu-2"), [absent]);
}
