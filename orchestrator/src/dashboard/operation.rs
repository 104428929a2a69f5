//! The page of an operation with several moves: its state, its commands, its moves and what they wait for.
//!
//! An operation with a single move is shown as its migration.

mod moves;

use super::commands;
use super::marks::{self, StateMark};
use super::migration::PlanText;
use super::open::OpenMigration;
use super::page::{DashboardPage, Fragment, PageError};
use crate::access::Caller;
use crate::controller::operations::OperationState;
use crate::controller::{ControlError, Controller};
use crate::store::{Migration, Snapshot};
use crate::view::OperationView;
use crate::view::figures::{bytes, count, moment};
use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use chrono::Utc;
use moves::MovesView;
pub(super) use moves::after_text;
use plans::failure::Failure;
use plans::id::MigrationId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum number of failures that are shown.
const MAX_FAILURES: usize = 10;

/// Shows the page.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let id = MigrationId(id);
    let operation = controller.operation(&id).await?;
    if let [only] = operation.migrations.as_slice() {
        return Ok(Redirect::to(&format!("/migrations/{}", only.id)).into_response());
    }
    let page = DashboardPage {
        title: format!("Operation {id}"),
        live: Some(format!("/live/operations/{id}")),
        fragments: fragments(&controller, &id, &caller).await?,
        caller: Some(caller),
    };
    Ok(page.into_response())
}

/// Returns the fragments of the page in their current state.
pub(super) async fn fragments(
    controller: &Controller,
    id: &MigrationId,
    caller: &Caller,
) -> Result<Vec<Fragment>, ControlError> {
    let now = Utc::now();
    let unfinished = controller.store().unfinished().await?;
    let operation = controller.operation(id).await?;
    let own_snapshots = unfinished
        .iter()
        .filter(|s| s.migration.operation == operation.id)
        .map(Arc::as_ref);
    let own_snapshots: Vec<&Snapshot> = own_snapshots.collect();
    let views: Vec<OpenMigration> = own_snapshots
        .iter()
        .map(|s| OpenMigration::new(controller, s, now))
        .collect();
    let view = OperationView::from(&operation);
    Ok(vec![
        Fragment::new("head", &OperationHead::new(&view, &operation.migrations)),
        Fragment::new(
            "orders",
            &commands::of_operation(&operation, &own_snapshots, caller),
        ),
        Fragment::new("moves", &MovesView::new(&operation, &views)),
        Fragment::new("plan", &PlanText::new(&operation.plan)),
    ])
}

#[derive(Template)]
#[template(path = "operation/head.html")]
struct OperationHead {
    id: String,
    title: String,
    mark: StateMark,
    sentence: String,
    failures: Vec<FailedMove>,
    override_reason: Option<String>,
    queued: bool,
    map: String,
    mode: String,
    version: String,
    expects: String,
    limits: String,
    submitted: String,
    by: String,
    ended: Option<String>,
    notes: Vec<String>,
}

/// A move that failed.
struct FailedMove {
    id: String,
    name: String,
    failure: Failure,
}

impl OperationHead {
    fn new(view: &OperationView, migrations: &[Migration]) -> Self {
        let failures = migrations.iter().filter_map(|m| {
            Some(FailedMove {
                id: m.id.to_string(),
                name: m.plan.id.clone(),
                failure: m.failure.clone()?,
            })
        });
        let (options, estimate) = (&view.options, &view.estimate);
        Self {
            id: view.id.to_string(),
            title: format!("{} on map {}", view.operation, view.map),
            mark: marks::of_operation(view.state),
            sentence: sentence(view.state, migrations),
            failures: failures.take(MAX_FAILURES).collect(),
            override_reason: view.override_reason.clone(),
            queued: view.queued,
            map: view.map.to_string(),
            mode: view.mode.replace('+', " and "),
            version: view.map_version.to_string(),
            expects: format!(
                "about {} rows, {}",
                count(estimate.rows),
                bytes(estimate.bytes)
            ),
            limits: format!(
                "{}, {} on one shard",
                moves_text(options.moves_at_once),
                options.moves_per_shard
            ),
            submitted: moment(view.created_at),
            by: view.submitted_by.clone(),
            ended: view.finished_at.map(moment),
            notes: view.notes.clone(),
        }
    }
}

fn moves_text(limit: u32) -> String {
    format!("{limit} move{}", if limit == 1 { "" } else { "s" })
}

/// Describes how many moves are in which state, and what the operator may have to do.
fn sentence(state: OperationState, migrations: &[Migration]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for migration in migrations {
        *counts
            .entry(marks::of_migration(migration.state).text)
            .or_default() += 1;
    }
    let counts = counts.into_iter();
    let counts: Vec<String> = counts
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let remark = match state {
        OperationState::Waiting => " Some cutovers wait for your approval.",
        OperationState::Paused => " It was paused by an operator.",
        OperationState::Failed => " Failed moves stay unchanged: fix the cause, then resume.",
        OperationState::Flipped => " The old rows are kept until you finish or roll back.",
        OperationState::Partial => " It has ended; its moves ended in different states.",
        OperationState::Planned
        | OperationState::Running
        | OperationState::Unwinding
        | OperationState::Unwound
        | OperationState::Completed
        | OperationState::RolledBack => "",
    };
    format!("{} moves: {}.{remark}", migrations.len(), counts.join(", "))
}
