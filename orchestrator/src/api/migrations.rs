//! Migrations: list them, send them commands, and follow them.

use super::extract::{Path, Query};
use super::paging::PageQuery;
use super::stream::{accepts_feed, feed_migration, last_event_id};
use super::{ApiError, actor, json, json_or_default};
use crate::access::Caller;
use crate::controller::{Command, ControlError, Controller};
use crate::store::{CleanupRecord, FigureReading, Snapshot};
use crate::view::{MigrationSummary, MigrationView};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::{Extension, Json};
use plans::id::MigrationId;
use schemars::JsonSchema;
use serde::Deserialize;

/// The maximum number of events in one response.
pub(super) const MAX_EVENTS: i64 = 10_000;

/// The response with a new object.
pub(super) type CreatedResponse<T> = (StatusCode, Json<T>);

/// Creates the response with a new object.
pub(super) fn created<T>(made: T) -> CreatedResponse<T> {
    (super::error::CREATED, Json(made))
}

/// The reason for a command.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct CommandReason {
    pub(super) reason: Option<String>,
}

/// Parses the command in the path and its parameters in the body.
pub(super) fn parse_command(
    command: &str,
    body: &Bytes,
) -> Result<(Command, CommandReason), ApiError> {
    let parsed = Command::parse(command);
    let command = parsed.ok_or_else(|| ControlError::missing("command", command))?;
    Ok((command, json_or_default(body)?))
}

/// The number of the last event that the client has read.
#[derive(Debug, Deserialize)]
pub(super) struct EventCursor {
    after: Option<i64>,
}

/// Lists the newest migrations.
pub(super) async fn list(
    State(controller): State<Controller>,
    Query(page): Query<PageQuery>,
) -> Result<Response, ApiError> {
    let after = page.after().map(MigrationId::from);
    if let Some(after) = &after {
        controller.load(after).await?;
    }
    let all = controller
        .store()
        .list(page.rows_to_read(), after.as_ref())
        .await?;
    let all: Vec<MigrationSummary> = all.iter().map(MigrationSummary::from).collect();
    Ok(page.answer("/api/v1/migrations", all, |m| m.id.to_string()))
}

/// Returns one migration with all details.
pub(super) async fn show(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, ApiError> {
    let id = MigrationId(id);
    let snapshot = controller.load(&id).await?;
    let permitted_shards = controller.permitted_shards(&caller, None).await?;
    controller.check_reach(&permitted_shards, &id).await?;
    let tag = format!("\"{}\"", snapshot.migration.revision);
    let tag = AppendHeaders([(header::ETAG, tag)]);
    let events = controller.store().events(&id, 0, MAX_EVENTS).await?;
    Ok((
        tag,
        Json(view(&controller, &snapshot).with_journal(&events)),
    ))
}

/// Carries out a command.
pub(super) async fn command(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<MigrationView>, ApiError> {
    let (command, parameters) = parse_command(&command, &body)?;
    let reason = parameters.reason.as_deref();
    let id = MigrationId(id);
    let revision = expected_revision(&headers)?;
    let snapshot = controller
        .command_at(&id, command, actor(&headers), reason, revision)
        .await?;
    Ok(Json(view(&controller, &snapshot)))
}

/// Returns the revision that the client has read, if the request names one.
fn expected_revision(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(tag) = headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let revision = tag
        .to_str()
        .ok()
        .and_then(|tag| tag.trim().trim_matches('"').parse().ok());
    let what = "the header If-Match does not contain the ETag of a migration".to_owned();
    let revision = revision.ok_or(ControlError::Invalid { what })?;
    Ok(Some(revision))
}

/// Checks whether a command could be carried out now. Changes nothing.
pub(super) async fn try_command(
    State(controller): State<Controller>,
    Path((id, command)): Path<(String, String)>,
) -> Result<Json<MigrationView>, ApiError> {
    let (command, _) = parse_command(&command, &Bytes::new())?;
    let snapshot = controller.try_command(&MigrationId(id), command).await?;
    Ok(Json(view(&controller, &snapshot)))
}

/// Changes the limits on the load that a migration causes.
pub(super) async fn limit(
    State(controller): State<Controller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<MigrationView>, ApiError> {
    let change = json(&body)?;
    let id = MigrationId(id);
    let snapshot = controller.set_limit(&id, &change, actor(&headers)).await?;
    Ok(Json(view(&controller, &snapshot)))
}

/// Returns the journal; or, if the client accepts events, a stream that sends new lines of the journal and changes of
/// the view.
pub(super) async fn events(
    State(controller): State<Controller>,
    Path(id): Path<String>,
    Query(cursor): Query<EventCursor>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = MigrationId(id);
    controller.load(&id).await?;
    let after = last_event_id(&headers).or(cursor.after).unwrap_or(0);
    if accepts_feed(&headers) {
        return Ok(feed_migration(controller, id, after).into_response());
    }
    let events = controller.store().events(&id, after, MAX_EVENTS).await?;
    Ok(Json(events).into_response())
}

/// Returns the progress figures over time.
pub(super) async fn course(
    State(controller): State<Controller>,
    Path(id): Path<String>,
) -> Result<Json<Vec<FigureReading>>, ApiError> {
    Ok(Json(controller.readings(&MigrationId(id)).await?))
}

/// Returns the objects that the migration created on shards, and whether they were removed.
pub(super) async fn cleanup(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Vec<CleanupRecord>>, ApiError> {
    let id = MigrationId(id);
    controller.load(&id).await?;
    let permitted_shards = controller.permitted_shards(&caller, None).await?;
    controller.check_reach(&permitted_shards, &id).await?;
    Ok(Json(controller.store().cleanup(&id).await?))
}

/// Returns the migration with the figures of its last heartbeat.
pub(super) fn view(controller: &Controller, snapshot: &Snapshot) -> MigrationView {
    let figures = controller.figures(&snapshot.migration.id);
    MigrationView::new(snapshot, figures.as_ref(), chrono::Utc::now())
}
