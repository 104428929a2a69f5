//! A new migration: the operator writes a request, reads its plan, and applies exactly this plan.

mod check;
mod examples;

use super::marks::{self, StateMark};
use super::operation::after_text;
use super::page::{DashboardPage, PageError};
use crate::access::Caller;
use crate::api::{ApiError, Problem};
use crate::controller::{ControlError, Controller};
use crate::view::figures::{bytes, count};
use askama::Template;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
pub(super) use check::check;
use examples::Example;
use plans::doctor::Finding;
use plans::plan::{Plan, PlannedMove, TargetState};
use plans::render::plan_text;
use serde::Deserialize;
use std::sync::Arc;

/// The maximum number of listed moves. The text of the plan contains all.
const MAX_MOVES: usize = 200;

/// The query parameters.
#[derive(Debug, Deserialize)]
pub(super) struct RequestInput {
    /// The name of the example that fills the form.
    example: Option<String>,
    /// The map for which the example is written.
    map: Option<String>,
}

/// The form of the request.
#[derive(Debug, Deserialize)]
pub(super) struct RequestForm {
    request: String,
}

/// The form that applies a plan.
#[derive(Debug, Deserialize)]
pub(super) struct ApplyForm {
    plan: String,
    #[serde(default)]
    request: String,
    /// Present if the plan must wait for migrations that move some of its keys.
    queue: Option<String>,
}

#[derive(Template, Default)]
#[template(path = "request.html")]
struct RequestPage {
    request: String,
    problem: Option<Problem>,
    findings: Vec<FindingRow>,
    plan: Option<PlanView>,
    examples: Vec<RequestChoice>,
    /// The maps in the selection list, if there are several.
    maps: Vec<RequestChoice>,
    /// The CSRF token.
    csrf: String,
}

/// An entry of a selection list.
struct RequestChoice {
    name: String,
    label: String,
    is_selected: bool,
}

struct PlanView {
    moves: Vec<PlannedMoveRow>,
    /// The number of moves that are not listed.
    hidden: usize,
    notes: Vec<String>,
    text: String,
    json: String,
}

/// A move of the plan.
struct PlannedMoveRow {
    id: String,
    source: String,
    target: String,
    keys: String,
    why: String,
    mode: &'static str,
    has_new_target: bool,
    /// The moves for which it waits.
    after: String,
    /// The estimated rows and bytes.
    estimate: String,
}

struct FindingRow {
    mark: StateMark,
    finding: Finding,
}

impl RequestPage {
    fn page(mut self, caller: Caller) -> DashboardPage {
        self.csrf = caller.csrf.clone().unwrap_or_default();
        DashboardPage::static_page("New migration", &self, Some(caller))
    }

    /// Creates the form with the text `request` and the selection lists.
    async fn new(controller: &Controller, request: String) -> Result<Self, ControlError> {
        let maps = controller.store().maps().await?;
        let selectable = maps.iter().filter(|_| maps.len() > 1);
        let choice = |example: Example| RequestChoice {
            name: example.name().to_owned(),
            label: example.label().to_owned(),
            is_selected: false,
        };
        Ok(Self {
            request,
            examples: Example::ALL.into_iter().map(choice).collect(),
            maps: selectable
                .map(|map| RequestChoice {
                    name: map.name.to_string(),
                    label: format!("{}, {}", map.name, map.strategy),
                    is_selected: false,
                })
                .collect(),
            ..Self::default()
        })
    }

    /// Shows the form again, with the error and its findings.
    async fn refused(
        controller: &Controller,
        request: String,
        error: ControlError,
        caller: Caller,
    ) -> Result<Response, PageError> {
        let (status, mut problem) = ApiError::from(error).into_parts();
        let page = Self {
            findings: finding_rows(std::mem::take(&mut problem.findings)),
            problem: Some(problem),
            ..Self::new(controller, request).await?
        };
        Ok((status, page.page(caller)).into_response())
    }
}

fn finding_rows(findings: Vec<Finding>) -> Vec<FindingRow> {
    let rows = findings.into_iter().map(|finding| FindingRow {
        mark: marks::of_finding(finding.severity),
        finding,
    });
    rows.collect()
}

/// Shows the form, empty or with an example.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Query(input): Query<RequestInput>,
) -> Result<DashboardPage, PageError> {
    let mut page = RequestPage::new(&controller, String::new()).await?;
    if let Some(name) = input.example {
        let example = Example::parse(&name);
        let example = example.ok_or_else(|| ControlError::missing("example", &name))?;
        let maps = controller.store().maps().await?;
        let map_named = |name: &String| maps.iter().find(|map| map.name.as_str() == name);
        let map = input.map.as_ref().filter(|name| !name.is_empty());
        let map = match map {
            Some(name) => Some(map_named(name).ok_or_else(|| ControlError::missing("map", name))?),
            None => maps.first(),
        };
        let map = map.map(Arc::as_ref);
        let shards = controller.store().shards().await?;
        let fleet: Vec<_> = shards.into_iter().map(|shard| shard.name).collect();
        page.request = example.text(map, &fleet);
        select(&mut page.examples, &name);
        select(&mut page.maps, map.map_or("", |map| map.name.as_str()));
    }
    Ok(page.page(caller))
}

fn select(choices: &mut [RequestChoice], name: &str) {
    for choice in choices {
        choice.is_selected = choice.name == name;
    }
}

/// Shows the plan of the request, or the reason why no plan can be made.
pub(super) async fn plan(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Form(input): Form<RequestForm>,
) -> Result<Response, PageError> {
    let request = unix_lines(&input.request);
    match controller.plan(&request).await {
        Ok(plan) => {
            let page = RequestPage {
                findings: finding_rows(plan.findings.clone()),
                plan: Some(plan_view(&plan)),
                ..RequestPage::new(&controller, request).await?
            };
            Ok(page.page(caller).into_response())
        }
        Err(error) => RequestPage::refused(&controller, request, error, caller).await,
    }
}

/// Applies the plan that was shown. The controller checks its hash, and whether the plan is still current.
pub(super) async fn apply(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Form(input): Form<ApplyForm>,
) -> Result<Response, PageError> {
    match controller
        .submit(&input.plan, input.queue.is_some(), &caller.name)
        .await
    {
        Ok(migrations) => {
            let page = match migrations.as_slice() {
                [] => "/".to_owned(),
                [only] => format!("/migrations/{}", only.migration.id),
                [first, ..] => format!("/operations/{}", first.migration.operation),
            };
            Ok(Redirect::to(&page).into_response())
        }
        Err(error) => {
            let request = unix_lines(&input.request);
            RequestPage::refused(&controller, request, error, caller).await
        }
    }
}

fn plan_view(plan: &Plan) -> PlanView {
    PlanView {
        moves: plan.moves.iter().take(MAX_MOVES).map(move_row).collect(),
        hidden: plan.moves.len().saturating_sub(MAX_MOVES),
        notes: plan.notes.clone(),
        text: plan_text(plan),
        json: serde_json::to_string(plan).unwrap_or_default(),
    }
}

fn move_row(planned: &PlannedMove) -> PlannedMoveRow {
    let (moving, estimate) = (&planned.moving, &planned.estimate);
    PlannedMoveRow {
        id: planned.id.clone(),
        source: moving.source.to_string(),
        target: moving.target.to_string(),
        keys: moving.keys.to_string(),
        why: planned.why.clone(),
        mode: planned.mode.name(),
        has_new_target: planned.target == TargetState::New,
        after: after_text(&planned.after),
        estimate: format!("{} rows, {}", count(estimate.rows), bytes(estimate.bytes)),
    }
}

/// Converts CRLF to LF: browsers send forms with CRLF, and error messages count columns as the author sees them.
fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}
