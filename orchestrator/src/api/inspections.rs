//! Inspections of shards by agents: the load of a map's shards, checks of a map, and directory tables (tables of the
//! application that list which shard has which key). Also the counters that client libraries report, of how often
//! applications use keys; and the metrics.

use super::extract::{Path, Query};
use super::gauges::gauges;
use super::{ApiError, actor, json};
use crate::controller::{ClientReport, Controller, LoadRequest, MapCheck, MapLoad, RepairOutcome};
use crate::metrics;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use plans::id::{MapName, ShardName};
use plans::inspection::Directory;
use serde::Deserialize;

/// Measures the load of a map. The query parameters specify what is measured.
pub(super) async fn load(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    Query(request): Query<LoadRequest>,
) -> Result<Json<MapLoad>, ApiError> {
    Ok(Json(controller.map_load(&MapName(name), request).await?))
}

/// Measures the load of a map, as [`load`] does. Here the body specifies what is measured.
pub(super) async fn load_with_body(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<MapLoad>, ApiError> {
    let request = if body.is_empty() {
        LoadRequest::default()
    } else {
        json(&body)?
    };
    Ok(Json(controller.map_load(&MapName(name), request).await?))
}

/// Receives from a client library how often its application used which keys.
pub(super) async fn counters(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<(), ApiError> {
    let report: ClientReport = json(&body)?;
    Ok(controller.count(&MapName(name), report).await?)
}

/// The query parameters of a check.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CheckQuery {
    /// The token that the previous check returned because it could not examine everything. With it, only the rest is
    /// examined.
    token: Option<String>,
}

/// Checks a map.
pub(super) async fn check(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    Query(query): Query<CheckQuery>,
) -> Result<Json<MapCheck>, ApiError> {
    let name = MapName(name);
    let check = controller.check_map(&name, query.token.as_deref()).await?;
    Ok(Json(check))
}

/// Carries out the repairs that the request names.
pub(super) async fn repair(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Vec<RepairOutcome>>, ApiError> {
    let request = json(&body)?;
    let name = MapName(name);
    let outcomes = controller
        .repair_map(&name, &request, actor(&headers))
        .await?;
    Ok(Json(outcomes))
}

/// Reads a directory table.
pub(super) async fn directory(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Directory>, ApiError> {
    let name = ShardName(name);
    Ok(Json(controller.read_directory(&name, json(&body)?).await?))
}

/// Returns metrics for a monitoring system.
pub(super) async fn metrics(
    State(controller): State<Controller>,
) -> Result<impl IntoResponse, ApiError> {
    let gauges = gauges(&controller).await?;
    let text = controller.observed().text(&gauges);
    // Writing to a String cannot fail.
    let text = text.unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text))
}
