//! The doctor: finds what prevents moves.

use super::{ApiError, json_or_default};
use crate::controller::{Controller, Diagnosis};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;

/// Makes agents examine the fleet, or the objects that the body names. Changes nothing.
pub(super) async fn examine(
    State(controller): State<Controller>,
    body: Bytes,
) -> Result<Json<Diagnosis>, ApiError> {
    Ok(Json(controller.doctor(json_or_default(&body)?).await?))
}
