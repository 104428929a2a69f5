//! The rows of the timeline, and what decides where they end.

use super::*;
use crate::dashboard::marks::{StateMark, of_step};
use plans::id::Epoch;
use serde_json::{Value, json};

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

#[test]
fn now_is_rounded_to_what_can_be_seen() {
    assert_eq!(rounded(at(7) + TimeDelta::milliseconds(250), at(0)), at(7));
    assert_eq!(rounded(at(40_099), at(0)), at(40_000));
}

fn row(mark: StateMark) -> TimelineRow {
    TimelineRow {
        name: "Copy".to_owned(),
        step: None,
        mark,
        took: "12 s".to_owned(),
        bars: vec![TimelineBar {
            x: 0.0,
            width: 50.0,
            class: "busy",
            title: "copy running".to_owned(),
        }],
    }
}

#[test]
fn a_row_has_its_content_in_words() {
    let running = row(of_step(StepState::Running));
    assert_eq!(running.label(), "Copy; running; 12 s; copy running");
    assert!(running.is_notable());
    assert!(!row(of_step(StepState::Done)).is_notable());
}

#[test]
fn a_prediction_counts_only_while_the_step_runs() {
    let mut step = StepView {
        id: "copy".into(),
        kind: StepKind::Hold,
        summary: String::new(),
        state: StepState::Running,
        attempt: 1,
        epoch: Epoch(1),
        next_at: None,
        started_at: None,
        finished_at: None,
        worked_ms: None,
        output: None,
        failure: None,
        progress: None,
    };
    assert!(is_hold(&step));
    step.kind = StepKind::Copy;
    assert!(!is_hold(&step));
    let progress: Value = json!({"message": "", "tables": [], "rows_per_second": 0.0,
        "bytes_per_second": 0.0, "eta_seconds": 60.0});
    step.progress = serde_json::from_value(progress).ok();
    assert_eq!(predicted_end(&[step.clone()], at(0)), Some(at(60)));
    step.state = StepState::Done;
    assert_eq!(predicted_end(&[step], at(0)), None);
}
