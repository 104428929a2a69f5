//! The page of a migration: state, commands, steps, tables, stream, write-blocked window and events.

mod course;
pub(super) mod cutover;
mod events;
mod phases;
mod ready;
mod step;
mod window;
mod work;

use super::commands::CommandsView;
use super::graph::StepGraphView;
use super::marks::{self, StateMark};
use super::page::{DashboardPage, Fragment, PageError};
use crate::access::Caller;
use crate::controller::{ControlError, Controller, is_missing};
use crate::view::figures::{bytes, count, millis, moment, seconds};
use crate::view::sentence::migration_sentence;
use crate::view::{MigrationView, StepView, WaitKind, WaitReason};
use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::Utc;
use course::CourseView;
use events::EventsView;
use phases::PhasesView;
use plans::failure::Failure;
use plans::id::MigrationId;
use plans::plan::Plan;
use plans::render::plan_text;
use plans::request::Mode;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::step::copy::Copied;
use plans::step::drop_surplus::SurplusDropped;
use plans::step::promote::Promoted;
use plans::step::unwind::LeftObject;
use plans::step::verify::Verified;
use ready::ReadyView;
use serde::Deserialize;
use serde_json::Value;
use step::StepPanel;
use window::WindowsView;
use work::{StreamView, TablesView};

/// The query parameters.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct MigrationQuery {
    /// The name of the step whose details are shown; empty: none.
    step: String,
}

impl MigrationQuery {
    fn query(&self) -> String {
        if self.step.is_empty() {
            return String::new();
        }
        let mut query = form_urlencoded::Serializer::for_suffix("?".to_owned(), 1);
        query.append_pair("step", &self.step).finish()
    }
}

/// Shows the page. If the id is that of an operation with several moves, it redirects to the operation.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(query): Query<MigrationQuery>,
) -> Result<Response, PageError> {
    let id = MigrationId(id);
    let fragments = match fragments(&controller, &id, &query, &caller).await {
        Err(error) if is_missing(&error) && controller.operation(&id).await.is_ok() => {
            return Ok(Redirect::to(&format!("/operations/{id}")).into_response());
        }
        fragments => fragments?,
    };
    let page = DashboardPage {
        title: format!("Migration {id}"),
        live: Some(format!("/live/migrations/{id}{}", query.query())),
        fragments,
        caller: Some(caller),
    };
    Ok(page.into_response())
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    id: &MigrationId,
    query: &MigrationQuery,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let snapshot = controller.load(id).await?;
    let figures = controller.figures(id);
    let events = events::read(controller, id).await?;
    let course = CourseView::read(controller, id).await?;
    let operation = controller.operation(&snapshot.migration.operation).await?;
    let view = MigrationView::new(&snapshot, figures.as_ref(), Utc::now());
    let mut view = view.with_journal(&events);
    describe_offline_hold(&mut view);
    let steps = StepsView {
        migration: id.to_string(),
        rows: view.steps.iter().map(step_row).collect(),
    };
    let panel = StepPanel::new(&view, &snapshot, &events, &query.step);
    let panel = panel.map(|panel| Fragment::new("step", &panel));
    let mut fragments = vec![
        Fragment::new("head", &MigrationHead::new(&view)),
        Fragment::new("phases", &PhasesView::new(&view)),
        Fragment::new("orders", &CommandsView::new(&snapshot, caller)),
        Fragment::new("ready", &ReadyView::new(&view)),
        Fragment::new("graph", &StepGraphView::new(id, &view.steps)),
        Fragment::new("tables", &TablesView::new(&view)),
        Fragment::new("stream", &StreamView::new(&view)),
        Fragment::new("course", &course),
        Fragment::new("windows", &WindowsView::new(&view)),
        Fragment::new("steps", &steps),
        Fragment::new("events", &EventsView::new(id, &events)),
        Fragment::new("plan", &PlanText::new(&operation.plan)),
    ];
    let graph = fragments.iter().position(|fragment| fragment.id == "graph");
    // The details of a step are shown below the graph.
    fragments.splice(graph.map_or(0..0, |index| index + 1..index + 1), panel);
    Ok(fragments)
}

/// Adapts the description of the hold for an offline move: no stream applies changes to the rows on the old owner.
fn describe_offline_hold(view: &mut MigrationView) {
    let is_offline = view.summary.mode == Mode::Offline;
    let mut steps = view.steps.iter_mut();
    if let Some(step) = steps.find(|step| is_offline && step.kind == StepKind::Hold) {
        "keep the old rows; there is no reverse stream".clone_into(&mut step.summary);
    }
}

#[derive(Template)]
#[template(path = "migration/head.html")]
struct MigrationHead {
    id: String,
    title: String,
    /// The operation, if it has several moves, and the name of this move in it.
    part: Option<OperationPart>,
    mark: StateMark,
    sentence: String,
    waits: Vec<WaitNotice>,
    failure: Option<Failure>,
    leftovers: Vec<LeftObject>,
    notes: Vec<String>,
    retrying: Option<RetryNotice>,
    map: String,
    keys: String,
    versions: String,
    mode: &'static str,
    limits: Option<String>,
    owner: String,
    submitted: String,
    by: String,
    ended: Option<String>,
}

/// The position of a move in its operation.
struct OperationPart {
    operation: String,
    name: String,
    why: String,
}

/// A step that waits for its next attempt.
struct RetryNotice {
    step: String,
    failure: Failure,
    attempt: u32,
    of: u32,
}

impl MigrationHead {
    fn new(view: &MigrationView) -> Self {
        let m = &view.summary;
        let mut versions = vec![m.map_version.before];
        versions.extend(m.map_version.after);
        versions.extend(m.map_version.back);
        let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let owner = view.owner.as_ref().filter(|owner| owner.live);
        Self {
            id: m.id.to_string(),
            title: format!("{} {} → {}", m.operation, m.source, m.target),
            part: (m.operation_id != m.id).then(|| OperationPart {
                operation: m.operation_id.to_string(),
                name: m.move_id.clone(),
                why: view.plan.why.clone(),
            }),
            mark: marks::of_migration(m.state),
            sentence: migration_sentence(view),
            waits: view
                .waits
                .iter()
                .filter(|wait| has_notice(wait, m.state))
                .map(wait_notice)
                .collect(),
            failure: m.failure.clone(),
            leftovers: view.leftovers.clone(),
            notes: view.notes.clone(),
            retrying: retry_notice(view),
            map: m.map.to_string(),
            keys: m.keys.to_string(),
            versions: versions.join(" → "),
            mode: m.mode.name(),
            limits: view.limits.as_ref().map(ToString::to_string),
            owner: owner.map_or_else(|| "no agent".to_owned(), |owner| owner.agent.to_string()),
            submitted: moment(m.created_at),
            by: m.submitted_by.clone(),
            ended: m.finished_at.map(moment),
        }
    }
}

/// What the migration waits for.
struct WaitNotice {
    what: String,
    since: Option<String>,
    held_by: Option<String>,
    remedy: Option<String>,
}

/// Returns whether a wait is shown as a notice. Failures and next attempts have another notice, and the sentence of a
/// planned migration already names what it waits for.
fn has_notice(wait: &WaitReason, state: MigrationState) -> bool {
    let is_in_sentence = state == MigrationState::Planned && wait.kind == WaitKind::Queue;
    !is_in_sentence && !matches!(wait.kind, WaitKind::Failed | WaitKind::Retry)
}

fn wait_notice(wait: &WaitReason) -> WaitNotice {
    WaitNotice {
        what: wait.what.clone(),
        since: wait.since.map(moment),
        held_by: wait.held_by.clone(),
        remedy: wait.remedy.clone(),
    }
}

fn retry_notice(view: &MigrationView) -> Option<RetryNotice> {
    let step = view.steps.iter().find(|s| s.state == StepState::Backoff)?;
    Some(RetryNotice {
        step: step.id.to_string(),
        failure: step.failure.clone()?,
        attempt: step.attempt,
        of: view.plan.options.max_attempts,
    })
}

#[derive(Template)]
#[template(path = "migration/steps.html")]
struct StepsView {
    migration: String,
    rows: Vec<StepStateRow>,
}

struct StepStateRow {
    name: String,
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
        name: step.id.to_string(),
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
fn work_and_idle_time(step: &StepView) -> Option<String> {
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

/// The plan as it was submitted.
#[derive(Template)]
#[template(path = "migration/plan.html")]
pub(super) struct PlanText {
    text: String,
}

impl PlanText {
    /// Returns the whole plan in the form that the command line prints.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            text: plan_text(plan),
        }
    }
}
