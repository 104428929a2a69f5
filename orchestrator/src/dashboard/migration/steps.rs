//! The steps of a migration as a table: state, attempts, time and result.

use super::super::marks::{self, StateMark};
use super::super::step_words::step_words;
use crate::view::figures::{bytes, count, millis, seconds};
use crate::view::{MigrationView, StepView};
use askama::Template;
use plans::failure::Failure;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::drop_surplus::SurplusDropped;
use plans::step::promote::Promoted;
use plans::step::verify::Verified;
use serde_json::Value;

/// The table.
#[derive(Template)]
#[template(path = "migration/steps.html")]
pub(super) struct StepsView {
    migration: String,
    rows: Vec<StepStateRow>,
}

impl StepsView {
    pub(super) fn new(view: &MigrationView) -> Self {
        Self {
            migration: view.summary.id.to_string(),
            rows: view.steps.iter().map(step_row).collect(),
        }
    }
}

struct StepStateRow {
    id: String,
    name: &'static str,
    summary: String,
    mark: StateMark,
    attempt: u32,
    took: String,
    message: String,
    result: Option<String>,
    failure: Option<Failure>,
}

fn step_row(step: &StepView) -> StepStateRow {
    let message = step.progress.as_ref().map(|p| p.message.clone());
    StepStateRow {
        id: step.id.to_string(),
        name: step_words(step.kind),
        summary: step.summary.clone(),
        mark: marks::of_step(step.state),
        attempt: step.attempt,
        took: work_and_idle_time(step).unwrap_or_else(|| "–".to_owned()),
        message: message
            .filter(|_| step.state == StepState::Running)
            .unwrap_or_default(),
        result: step.output.as_ref().and_then(|o| result_text(step.kind, o)),
        failure: step.failure.clone(),
    }
}

/// Returns how long agents worked on a step that is done, and for how long no agent worked on it.
pub(super) fn work_and_idle_time(step: &StepView) -> Option<String> {
    let work = millis(step.work_time()?.num_milliseconds());
    let idle = step.idle_time();
    let idle = idle.map(|idle| format!(", idle for {}", millis(idle.num_milliseconds())));
    Some(work + &idle.unwrap_or_default())
}

/// Describes the result of a copy, a promotion, a verification or a deletion of surplus rows.
fn result_text(kind: StepKind, output: &Value) -> Option<String> {
    let output = output.clone();
    if kind == StepKind::Copy {
        let copied: Copied = serde_json::from_value(output).ok()?;
        let (rows, size) = (count(copied.rows), bytes(copied.bytes));
        return Some(format!(
            "{rows} rows, {size} in {}",
            seconds(copied.seconds)
        ));
    }
    if kind == StepKind::Verify {
        let verified: Verified = serde_json::from_value(output).ok()?;
        let (rows, different) = (count(verified.rows_compared), count(verified.different));
        return Some(format!("{rows} rows compared, {different} different"));
    }
    if kind == StepKind::Promote {
        let promoted: Promoted = serde_json::from_value(output).ok()?;
        return Some(format!(
            "timeline {}, which begins at {}",
            promoted.target.timeline, promoted.switch_point
        ));
    }
    if kind == StepKind::DropSurplus {
        let dropped: SurplusDropped = serde_json::from_value(output).ok()?;
        return Some(format!("{} surplus rows deleted", count(dropped.rows)));
    }
    None
}
