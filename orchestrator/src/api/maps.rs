//! Shard maps: create them, read them with an ETag, and follow them with server-sent events.

use super::extract::{Path, Query};
use super::migrations::CommandReason;
use super::stream::{MapFeed, feed_map};
use super::{ApiError, actor, json, json_or_default, map_text};
use crate::controller::{Controller, ConversionReport};
use crate::store::{ConversionRecord, MapVersionRecord, SettingsRecord};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use plans::id::{MapName, MapVersion, ShardName};
use plans::key::Key;
use plans::shard_map::{Difference, MapSettings, Mapping, ShardMap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Creates version 1 of a map.
pub(super) async fn create(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<super::migrations::CreatedResponse<ShardMap>, ApiError> {
    let map = controller.create_map(json(&body)?, actor(&headers)).await?;
    Ok(super::migrations::created(map))
}

/// Returns the version in force of each map.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<ShardMap>>, ApiError> {
    let mut maps = Vec::new();
    for map in controller.store().maps().await? {
        maps.push(controller.map(&map.name).await?);
    }
    Ok(Json(maps))
}

/// Returns the version in force, in pieces so that a large map needs little memory; or status 304 if the client already
/// has it.
pub(super) async fn show(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let name = MapName(name);
    let tag = etag(controller.bare_map(&name).await?.as_ref());
    let client_tags = headers.get(header::IF_NONE_MATCH);
    let client_tags = client_tags.and_then(|tags| tags.to_str().ok());
    let response_headers = AppendHeaders([
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
    ]);
    if client_tags.is_some_and(|tags| {
        tags.split(',')
            .any(|t| t.trim().trim_start_matches("W/") == tag)
    }) {
        return Ok((super::error::NOT_MODIFIED, response_headers).into_response());
    }
    let marked = controller.marked_map(&name).await?;
    let response_headers = AppendHeaders([
        (header::ETAG, etag(marked.bare())),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::CONTENT_TYPE, "application/json".to_owned()),
    ]);
    let body = Body::from_stream(map_text::pieces(marked));
    Ok((response_headers, body).into_response())
}

/// Removes a map that has no migration.
pub(super) async fn remove(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let parameters: CommandReason = json_or_default(&body)?;
    let reason = parameters.reason.as_deref();
    Ok(controller
        .remove_map(&MapName(name), actor(&headers), reason)
        .await?)
}

/// Returns every version of a map, without mappings.
pub(super) async fn history(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Json<Vec<MapVersionRecord>>, ApiError> {
    let name = MapName(name);
    controller.bare_map(&name).await?;
    Ok(Json(controller.store().history(&name).await?))
}

/// Returns one version of a map.
pub(super) async fn version(
    State(controller): State<Controller>,
    Path((name, version)): Path<(String, i64)>,
) -> Result<Json<ShardMap>, ApiError> {
    let map = controller
        .map_at(&MapName(name), MapVersion(version))
        .await?;
    Ok(Json(Arc::unwrap_or_clone(map)))
}

/// The two versions to compare.
#[derive(Debug, Deserialize)]
pub(super) struct DiffVersions {
    from: i64,
    to: i64,
}

/// Returns the differences between two versions.
pub(super) async fn diff(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    Query(versions): Query<DiffVersions>,
) -> Result<Json<Vec<Difference>>, ApiError> {
    let (from, to) = (MapVersion(versions.from), MapVersion(versions.to));
    let differences = controller.map_difference(&MapName(name), from, to).await?;
    Ok(Json(differences))
}

/// Creates the next version without a migration.
pub(super) async fn edit(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ShardMap>, ApiError> {
    let edit = json(&body)?;
    let map = controller
        .edit_map(&MapName(name), edit, actor(&headers))
        .await?;
    Ok(Json(map))
}

/// Gives a map another strategy or another key.
pub(super) async fn convert(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ConversionReport>, ApiError> {
    let request = json(&body)?;
    let report = controller
        .convert_map(&MapName(name), request, actor(&headers))
        .await?;
    Ok(Json(report))
}

/// Returns the conversions of a map, newest first.
pub(super) async fn conversions(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Json<Vec<ConversionRecord>>, ApiError> {
    let mut all = controller.store().conversions().await?;
    all.retain(|conversion| conversion.map.as_str() == name);
    Ok(Json(all))
}

/// Changes some settings. Settings that the body does not name stay unchanged.
pub(super) async fn set(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<MapSettings>, ApiError> {
    let change = json(&body)?;
    let settings = controller
        .set_map(&MapName(name), change, actor(&headers))
        .await?;
    Ok(Json(settings))
}

/// Receives an application's report of its own latency.
pub(super) async fn latency(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<(), ApiError> {
    let report = json(&body)?;
    Ok(controller.record_latency(&MapName(name), report).await?)
}

/// Returns every revision of the settings, newest first.
pub(super) async fn settings(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Json<Vec<SettingsRecord>>, ApiError> {
    Ok(Json(controller.store().settings(&MapName(name)).await?))
}

/// A key, its owner, and the mapping that contains it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LocatedKey {
    /// The key in the type of the map's shard key.
    pub key: Key,
    /// The shard that owns the key.
    pub shard: ShardName,
    /// The mapping that contains the key.
    pub mapping: Mapping,
}

/// Returns the owner of the key in the body.
pub(super) async fn locate(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<LocatedKey>, ApiError> {
    let (key, mapping) = controller.locate(&MapName(name), &json(&body)?).await?;
    Ok(Json(LocatedKey {
        key,
        shard: mapping.shard.clone(),
        mapping,
    }))
}

/// Returns a stream of events that sends the map now, and again after each change.
pub(super) async fn changes(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<MapFeed, ApiError> {
    let name = MapName(name);
    controller.bare_map(&name).await?;
    Ok(feed_map(controller, name, &headers))
}

/// Returns the ETag. It differs between all versions and between all stores.
fn etag(map: &ShardMap) -> String {
    format!("\"{}-{}\"", map.incarnation, map.version)
}
