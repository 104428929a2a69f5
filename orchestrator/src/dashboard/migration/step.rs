//! The details of a step: attempts, error, next attempt, statements, the agent that executes it, and its journal.

use super::super::marks::{self, StateMark};
use super::super::step_words::step_words;
use crate::store::{Event, Snapshot};
use crate::view::figures::{bytes, count, millis, moment, seconds};
use crate::view::{MigrationView, StepView};
use askama::Template;
use chrono::Utc;
use plans::failure::{Failure, RetryClass};
use plans::state::step::StepState;
use plans::wire::Progress;

/// The maximum number of journal lines. Older ones are omitted.
const MAX_LINES: usize = 20;

/// The panel with the details.
#[derive(Template)]
#[template(path = "migration/step.html")]
pub(super) struct StepPanel {
    migration: String,
    name: &'static str,
    /// The name in the plan and on the command line.
    id: String,
    summary: String,
    mark: StateMark,
    attempts: String,
    epoch: String,
    began: Option<String>,
    took: Option<String>,
    next: Option<String>,
    holder: Option<String>,
    lease: Option<String>,
    failure: Option<StepFailureView>,
    doing: Vec<String>,
    waits: Vec<String>,
    statements: Vec<StatementView>,
    lines: Vec<StepEventLine>,
    hidden: usize,
}

struct StepFailureView {
    failure: Failure,
    retry: &'static str,
}

/// A statement on a shard.
struct StatementView {
    place: String,
    text: String,
}

struct StepEventLine {
    at: String,
    what: String,
    details: String,
}

impl StepPanel {
    /// Returns the details of the step `name`, if the migration has it. `events` is its journal.
    pub(super) fn new(
        view: &MigrationView,
        snapshot: &Snapshot,
        events: &[Event],
        name: &str,
    ) -> Option<Self> {
        let step = view.steps.iter().find(|step| step.id.as_str() == name)?;
        let is_running = step.state == StepState::Running;
        let owner = view.owner.as_ref().filter(|owner| is_running && owner.live);
        let is_of_step = |event: &&Event| event.step.as_ref() == Some(&step.id);
        let progress = step.progress.as_ref().filter(|_| is_running);
        let line_count = events.iter().filter(is_of_step).count();
        Some(Self {
            migration: view.summary.id.to_string(),
            name: step_words(step.kind),
            id: step.id.to_string(),
            summary: step.summary.clone(),
            mark: marks::of_step(step.state),
            attempts: format!("{} of {}", step.attempt, view.plan.options.max_attempts),
            epoch: step.epoch.to_string(),
            began: step.started_at.map(moment),
            took: time_text(step),
            next: step
                .next_at
                .filter(|_| step.state == StepState::Backoff)
                .map(moment),
            holder: owner.map(|owner| format!("{}, process {}", owner.agent, owner.instance)),
            lease: owner.and(snapshot.lease_until).map(moment),
            failure: step.failure.clone().map(failure_view),
            doing: progress.map(progress_texts).unwrap_or_default(),
            waits: if is_running || step.state == StepState::Backoff {
                view.waits.iter().map(ToString::to_string).collect()
            } else {
                Vec::new()
            },
            statements: progress.map(statement_views).unwrap_or_default(),
            lines: events
                .iter()
                .rev()
                .filter(is_of_step)
                .take(MAX_LINES)
                .map(line)
                .collect(),
            hidden: line_count.saturating_sub(MAX_LINES),
        })
    }
}

fn time_text(step: &StepView) -> Option<String> {
    if step.finished_at.is_some() {
        return super::steps::work_and_idle_time(step);
    }
    // A running time is shown in whole seconds, so that the page is not sent again without a visible change.
    let span = Utc::now() - step.started_at?;
    Some(format!("{} so far", seconds(span.num_seconds() as f64)))
}

fn failure_view(failure: Failure) -> StepFailureView {
    let retry = match failure.retry {
        RetryClass::None => "it is not retried: fix the cause first",
        RetryClass::Fixed => "it is retried at fixed intervals",
        RetryClass::Exponential => "it is retried at growing intervals",
    };
    StepFailureView { failure, retry }
}

fn progress_texts(progress: &Progress) -> Vec<String> {
    let rate = (progress.rows_per_second > 0.0).then(|| {
        let rows = count(progress.rows_per_second as i64);
        format!(
            "{rows} rows/s, {}/s",
            bytes(progress.bytes_per_second as i64)
        )
    });
    let left = progress
        .eta_seconds
        .map(|eta| format!("{} left", seconds(eta)));
    let message = Some(progress.message.clone()).filter(|message| !message.is_empty());
    [message, rate, left].into_iter().flatten().collect()
}

fn statement_views(progress: &Progress) -> Vec<StatementView> {
    let statements = progress.statements.iter();
    statements
        .map(|s| StatementView {
            place: format!("{}, session {}, for {}", s.shard, s.role, millis(s.ms)),
            text: s.text.clone(),
        })
        .collect()
}

fn line(event: &Event) -> StepEventLine {
    StepEventLine {
        at: moment(event.at),
        what: super::events::event_text(event),
        details: super::events::details(&event.data),
    }
}
