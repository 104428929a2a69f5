//! Every example is read, planned, and its plan kept as a snapshot.

use crate::fixture::{self, planned};
use plans::failure::Severity;
use plans::plan::Plan;
use plans::planner::{PlanError, plan};
use plans::render::plan_text;
use plans::request::Request;

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
