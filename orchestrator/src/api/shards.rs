//! Shards.

use super::extract::Path;
use super::migrations::CommandReason;
use super::{ApiError, actor, json, json_or_default};
use crate::controller::{Controller, DetailedProbe, ShardChange};
use crate::store::{NewShard, ShardRecord};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use plans::fleet::{NewStandby, StandbySlot};
use plans::id::ShardName;

/// Registers a shard.
pub(super) async fn add(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<super::migrations::CreatedResponse<ShardRecord>, ApiError> {
    let shard: NewShard = json(&body)?;
    let record = controller.add_shard(&shard, actor(&headers)).await?;
    Ok(super::migrations::created(record))
}

/// Records the slot of a standby that an agent is about to create.
pub(super) async fn record_standby_slot(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<super::migrations::CreatedResponse<StandbySlot>, ApiError> {
    let new: NewStandby = json(&body)?;
    let slot = controller
        .record_standby_slot(&new, actor(&headers))
        .await?;
    Ok(super::migrations::created(slot))
}

/// Returns all shards.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<ShardRecord>>, ApiError> {
    Ok(Json(controller.store().shards().await?))
}

/// Returns one shard.
pub(super) async fn show(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Json<ShardRecord>, ApiError> {
    Ok(Json(controller.shard(&ShardName(name)).await?))
}

/// Returns the last probe of a shard, with what its server did.
pub(super) async fn probe(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Json<DetailedProbe>, ApiError> {
    Ok(Json(controller.detailed_probe(&ShardName(name)).await?))
}

/// Changes a shard's properties.
pub(super) async fn change(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ShardRecord>, ApiError> {
    let change: ShardChange = json(&body)?;
    let record = controller
        .change_shard(&ShardName(name), change, actor(&headers))
        .await?;
    Ok(Json(record))
}

/// Removes a shard that occurs in no map in force.
pub(super) async fn remove(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let parameters: CommandReason = json_or_default(&body)?;
    let (name, reason) = (ShardName(name), parameters.reason.as_deref());
    Ok(controller
        .remove_shard(&name, actor(&headers), reason)
        .await?)
}
