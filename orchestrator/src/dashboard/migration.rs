//! The page of a migration: state, commands, steps, tables, stream, write-blocked window and events.

mod attempts;
mod built_object;
mod course;
pub(super) mod cutover;
mod events;
mod head;
mod phases;
mod progress;
mod ready;
mod rollback;
mod step;
mod steps;
mod tabs;
mod timeline;
mod window;
mod work;

use super::commands::CommandsView;
use super::page::{DashboardPage, Fragment, PageError};
use super::palette::Palette;
use crate::access::{Caller, RouteAccess};
use crate::controller::{ControlError, Controller, is_missing};
use crate::view::MigrationView;
use askama::Template;
use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::Utc;
use course::CourseView;
use events::{EventsView, JournalFilter};
use head::MigrationHead;
use plans::id::MigrationId;
use plans::plan::Plan;
use plans::render::plan_text;
use plans::request::Mode;
use plans::step::StepKind;
use progress::ProgressLine;
use ready::ReadyView;
use rollback::RollbackRequest;
use serde::Deserialize;
use step::StepPanel;
use tabs::{EvidenceView, TabsView};
use timeline::TimelineView;
use window::WindowsView;
use work::{StreamView, TablesView};

/// The query parameters.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct MigrationQuery {
    /// The name of the step whose details are shown; empty: none.
    step: String,
    /// The lines of the journal that are shown.
    #[serde(flatten)]
    journal: JournalFilter,
}

impl MigrationQuery {
    fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::for_suffix("?".to_owned(), 1);
        let pairs = [("step", self.step.as_str())].into_iter();
        for (name, value) in pairs.chain(self.journal.pairs()) {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        let query = query.finish();
        if query == "?" { String::new() } else { query }
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
    let readings = controller.readings(id).await?;
    let operation = controller.operation(&snapshot.migration.operation).await?;
    let shards = controller.store().shards().await?;
    let palette = Palette::of(shards.into_iter().map(|shard| shard.name));
    let now = Utc::now();
    let view = MigrationView::new(&snapshot, figures.as_ref(), now);
    let mut view = view.with_journal(&events);
    describe_offline_hold(&mut view);
    let may_command = caller.may(RouteAccess::Operate);
    let progress = ProgressLine::new(&view, &readings, now);
    let mut head = MigrationHead::new(&view, progress, &palette, may_command);
    head.rollback = RollbackRequest::new(&view, &events);
    let mut fragments = vec![
        Fragment::new("head", &head),
        Fragment::new("orders", &CommandsView::new(&snapshot, caller)),
        Fragment::new("timeline", &TimelineView::new(&view, &events, now)),
    ];
    // The details of a step are shown beside the timeline.
    let panel = StepPanel::new(&view, &snapshot, &events, &query.step);
    fragments.extend(panel.map(|panel| Fragment::new("step", &panel)));
    fragments.extend([
        Fragment::new("ready", &ReadyView::new(&view)),
        Fragment::new("windows", &WindowsView::new(&view)),
        Fragment::new("tabs", &TabsView),
        Fragment::new("tables", &TablesView::new(&view)),
        Fragment::new("stream", &StreamView::new(&view)),
        Fragment::new("course", &CourseView::new(&readings, &view.steps)),
        Fragment::new("journal", &query.journal.form(id, &view.steps)),
        Fragment::new("events", &EventsView::new(id, &events, &query.journal)),
        Fragment::new("plan", &PlanText::new(&operation.plan)),
        Fragment::new("evidence", &EvidenceView::new(&view)),
    ]);
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
