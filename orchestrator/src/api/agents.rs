//! What agents call.

use super::{ApiError, json};
use crate::controller::Controller;
use crate::store::{AgentRecord, CleanupRecord};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use plans::id::MigrationId;
use plans::wire::{CutoverAnswer, HeartbeatReply, Report};

/// All that have spoken.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<AgentRecord>>, ApiError> {
    Ok(Json(controller.store().agents().await?))
}

/// Work, as soon as there is some.
pub(super) async fn claim(
    State(controller): State<Controller>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let work = controller.claim(&json(&body)?).await?;
    Ok(match work {
        Some(work) => Json(work).into_response(),
        None => super::error::NO_CONTENT.into_response(),
    })
}

/// A sign of life.
pub(super) async fn heartbeat(
    State(controller): State<Controller>,
    body: Bytes,
) -> Result<Json<HeartbeatReply>, ApiError> {
    Ok(Json(controller.heartbeat(&json(&body)?).await?))
}

/// How something ended.
pub(super) async fn report(
    State(controller): State<Controller>,
    body: Bytes,
) -> Result<(), ApiError> {
    let report: Report = json(&body)?;
    Ok(controller.report(report).await?)
}

/// What a cutover asks.
pub(super) async fn cutover(
    State(controller): State<Controller>,
    body: Bytes,
) -> Result<Json<CutoverAnswer>, ApiError> {
    Ok(Json(controller.cutover(&json(&body)?).await?))
}

/// Keeps what is about to be created.
pub(super) async fn record_cleanup(
    State(controller): State<Controller>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<(), ApiError> {
    let id = MigrationId(id);
    let records: Vec<CleanupRecord> = json(&body)?;
    controller.load(&id).await?;
    Ok(controller.store().add_cleanup(&id, &records).await?)
}

/// Notes what is gone.
pub(super) async fn cleanup_done(
    State(controller): State<Controller>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<(), ApiError> {
    let id = MigrationId(id);
    let records: Vec<CleanupRecord> = json(&body)?;
    controller.load(&id).await?;
    let done = controller
        .store()
        .finish_cleanup(&id, &records, chrono::Utc::now());
    Ok(done.await?)
}
