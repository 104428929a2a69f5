//! Operations: submitted plans with all their moves.

use super::extract::{Path, Query};
use super::migrations::{CreatedResponse, MAX_EVENTS, created, parse_command};
use super::paging::PageQuery;
use super::stream::{accepts_feed, feed_operation};
use super::{ApiError, actor};
use crate::controller::{ControlError, Controller};
use crate::report::{OperationReport, ReportFormat};
use crate::store::Event;
use crate::view::OperationView;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use plans::id::MigrationId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The query parameters of a submission.
#[derive(Debug, Default, Deserialize)]
pub(super) struct AdmissionQuery {
    /// True to accept the plan even if other migrations first move some of its keys.
    #[serde(default)]
    queue: bool,
}

/// A line of a migration's journal, with the id of the migration.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JournalLine {
    migration: MigrationId,
    #[serde(flatten)]
    event: Event,
}

/// Submits a plan.
pub(super) async fn submit(
    State(controller): State<Controller>,
    Query(query): Query<AdmissionQuery>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<CreatedResponse<OperationView>, ApiError> {
    let text = super::plan::text(&body)?;
    let migrations = controller
        .submit(text, query.queue, actor(&headers))
        .await?;
    let first = migrations
        .first()
        .map(|snapshot| &snapshot.migration.operation);
    let id = first.ok_or_else(|| ControlError::missing("move", "of the plan"))?;
    Ok(created(view(&controller, id).await?))
}

/// Lists the newest operations.
pub(super) async fn list(
    State(controller): State<Controller>,
    Query(page): Query<PageQuery>,
) -> Result<Response, ApiError> {
    let after = page.after().map(MigrationId::from);
    if let Some(after) = &after {
        controller.operation(after).await?;
    }
    let store = controller.store();
    let all = store
        .operations(page.rows_to_read(), after.as_ref())
        .await?;
    let all: Vec<OperationView> = all.iter().map(OperationView::from).collect();
    Ok(page.answer("/api/v1/operations", all, |o| o.id.to_string()))
}

/// Returns one operation with its moves.
pub(super) async fn show(
    State(controller): State<Controller>,
    Path(id): Path<String>,
) -> Result<Json<OperationView>, ApiError> {
    Ok(Json(view(&controller, &MigrationId(id)).await?))
}

/// Carries out a command on every migration of the operation for which it is possible.
pub(super) async fn command(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<OperationView>, ApiError> {
    let (command, parameters) = parse_command(&command, &body)?;
    let reason = parameters.reason.as_deref();
    let operation = controller
        .command_all(&MigrationId(id), command, actor(&headers), reason)
        .await?;
    Ok(Json(OperationView::from(&operation)))
}

/// Checks whether a command could be carried out now on any migration of the operation. Changes nothing.
pub(super) async fn try_command(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
) -> Result<Json<OperationView>, ApiError> {
    let (command, _) = parse_command(&command, &Bytes::new())?;
    let id = MigrationId(id);
    let operation = controller.try_command_all(&id, command).await?;
    Ok(Json(OperationView::from(&operation)))
}

/// Returns the plan as it was submitted.
pub(super) async fn plan(
    State(controller): State<Controller>,
    Path(id): Path<String>,
) -> Result<Json<plans::plan::Plan>, ApiError> {
    Ok(Json(controller.operation(&MigrationId(id)).await?.plan))
}

/// The requested format.
#[derive(Debug, Deserialize)]
pub(super) struct ReportQuery {
    #[serde(default)]
    format: ReportFormat,
}

/// Returns the report: as JSON, as Markdown, or as one HTML file that refers to no other file.
pub(super) async fn report(
    State(controller): State<Controller>,
    Path(id): Path<String>,
    Query(query): Query<ReportQuery>,
) -> Result<Response, ApiError> {
    let report = OperationReport::of(&controller, &MigrationId(id)).await?;
    let text = report.write(query.format).map_err(ControlError::Report)?;
    let headers = [
        (header::CONTENT_TYPE, query.format.content_type()),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, text).into_response())
}

/// Returns the journals of all migrations of the operation, ordered by time; or, if the client accepts events, a stream
/// that sends the view of the operation after each change.
pub(super) async fn events(
    State(controller): State<Controller>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let operation = controller.operation(&MigrationId(id)).await?;
    if accepts_feed(&headers) {
        return Ok(feed_operation(controller, operation.id).into_response());
    }
    let mut lines = Vec::new();
    for migration in operation.migrations {
        let events = controller
            .store()
            .events(&migration.id, 0, MAX_EVENTS)
            .await?;
        lines.extend(events.into_iter().map(|event| JournalLine {
            migration: migration.id.clone(),
            event,
        }));
    }
    lines.sort_by_key(|line| line.event.at);
    Ok(Json(lines).into_response())
}

/// Returns the audit trail, newest line first.
pub(super) async fn audit(
    State(controller): State<Controller>,
    Query(page): Query<PageQuery>,
) -> Result<Response, ApiError> {
    let before = page.after_number()?;
    let lines = controller
        .store()
        .audit(page.rows_to_read(), before)
        .await?;
    Ok(page.answer("/api/v1/audit", lines, |line| line.line.to_string()))
}

/// Returns the operation in the form of the API.
pub(super) async fn view(
    controller: &Controller,
    id: &MigrationId,
) -> Result<OperationView, ControlError> {
    Ok(OperationView::from(&controller.operation(id).await?))
}
