//! The shards beside the map: what contradicts, what is left over, and its mending.

use super::{ApiError, actor, json_or_default};
use crate::controller::{CleanupReport, CleanupRequest, Controller, FleetReport, ReconcileRequest};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;

/// What the last looks showed.
pub(super) async fn show(State(controller): State<Controller>) -> Json<FleetReport> {
    Json(controller.fleet())
}

/// Looks now, and does what the order says.
pub(super) async fn reconcile(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<FleetReport>, ApiError> {
    let request: ReconcileRequest = json_or_default(&body)?;
    Ok(Json(controller.reconcile(&request, actor(&headers)).await?))
}

/// Lists what no live migration explains, and removes it if the order says so.
pub(super) async fn cleanup(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<CleanupReport>, ApiError> {
    let request: CleanupRequest = json_or_default(&body)?;
    Ok(Json(controller.cleanup(&request, actor(&headers)).await?))
}
