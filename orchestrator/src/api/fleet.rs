//! Compares the shards with the map: reports contradictions and leftover objects, and repairs them.

use super::{ApiError, actor, json_or_default};
use crate::controller::{CleanupReport, CleanupRequest, Controller, FleetReport, ReconcileRequest};
use crate::store::ImbalanceSample;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;

/// Returns the results of the last probes.
pub(super) async fn show(State(controller): State<Controller>) -> Json<FleetReport> {
    Json(controller.fleet())
}

/// Returns the imbalance of the fleet over the last day.
pub(super) async fn imbalance(
    State(controller): State<Controller>,
) -> Result<Json<Vec<ImbalanceSample>>, ApiError> {
    Ok(Json(controller.imbalance_history().await?))
}

/// Probes every shard now, and carries out the repairs that the request names.
pub(super) async fn reconcile(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<FleetReport>, ApiError> {
    let request: ReconcileRequest = json_or_default(&body)?;
    Ok(Json(controller.reconcile(&request, actor(&headers)).await?))
}

/// Lists objects that belong to no unfinished migration. Removes them if the request demands it.
pub(super) async fn cleanup(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<CleanupReport>, ApiError> {
    let request: CleanupRequest = json_or_default(&body)?;
    Ok(Json(controller.cleanup(&request, actor(&headers)).await?))
}
