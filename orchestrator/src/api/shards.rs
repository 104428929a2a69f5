//! Shards.

use super::{ApiError, json};
use crate::controller::{ControlError, Controller};
use crate::store::ShardRecord;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use plans::id::ShardName;
use plans::plan::ShardRef;

/// Registers one.
pub(super) async fn add(
    State(controller): State<Controller>,
    body: Bytes,
) -> Result<super::migrations::Created<ShardRecord>, ApiError> {
    let shard: ShardRef = json(&body)?;
    let made = controller.add_shard(&shard.name, &shard.dsn).await?;
    Ok(super::migrations::created(made))
}

/// All of them.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<ShardRecord>>, ApiError> {
    Ok(Json(controller.store().shards().await?))
}

/// One.
pub(super) async fn show(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Json<ShardRecord>, ApiError> {
    let shards = controller.store().shards().await?;
    let found = shards.into_iter().find(|s| s.name.as_str() == name);
    let found = found.ok_or_else(|| ControlError::missing("shard", &name))?;
    Ok(Json(found))
}

/// Forgets one that no map names.
pub(super) async fn remove(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<(), ApiError> {
    let removed = controller.store().remove_shard(&ShardName(name)).await;
    Ok(removed?)
}
