//! Shard maps: made, read with an ETag, followed by SSE.

use super::stream::{MapFeed, feed_map};
use super::{ApiError, actor, json};
use crate::controller::Controller;
use crate::store::MapVersionRecord;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use plans::id::MapName;
use plans::shard_map::ShardMap;

/// Makes version 1.
pub(super) async fn create(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<super::migrations::Created<ShardMap>, ApiError> {
    let made = controller.create_map(json(&body)?, actor(&headers)).await?;
    Ok(super::migrations::created(made))
}

/// The version in force of each.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<ShardMap>>, ApiError> {
    let mut maps = Vec::new();
    for map in controller.store().maps().await? {
        maps.push(controller.map(&map.name).await?);
    }
    Ok(Json(maps))
}

/// The version in force; nothing but a status if the caller has it already.
pub(super) async fn show(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let map = controller.map(&MapName(name)).await?;
    let tag = etag(&map);
    let known = headers.get(header::IF_NONE_MATCH);
    let known = known.and_then(|tags| tags.to_str().ok());
    let tagged = AppendHeaders([
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
    ]);
    if known.is_some_and(|tags| {
        tags.split(',')
            .any(|t| t.trim().trim_start_matches("W/") == tag)
    }) {
        return Ok((super::error::NOT_MODIFIED, tagged).into_response());
    }
    Ok((tagged, Json(map)).into_response())
}

/// Every version.
pub(super) async fn history(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Json<Vec<MapVersionRecord>>, ApiError> {
    let name = MapName(name);
    controller.map(&name).await?;
    Ok(Json(controller.store().history(&name).await?))
}

/// The map now, and again whenever it changes.
pub(super) async fn changes(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<MapFeed, ApiError> {
    let name = MapName(name);
    controller.map(&name).await?;
    Ok(feed_map(controller, name, &headers))
}

/// Changes with every version and every store.
fn etag(map: &ShardMap) -> String {
    format!("\"{}-{}\"", map.incarnation, map.version)
}
