//! Creates plans, and returns the JSON schema of a request.

use super::ApiError;
use crate::controller::{ControlError, Controller};
use axum::Json;
use axum::extract::State;
use plans::plan::Plan;
use plans::request::Request;
use serde_json::Value;

/// Creates a plan from a request in YAML or JSON.
pub(super) async fn create(
    State(controller): State<Controller>,
    body: axum::body::Bytes,
) -> Result<Json<Plan>, ApiError> {
    Ok(Json(controller.plan(text(&body)?).await?))
}

/// Returns the JSON schema of a request.
pub(super) async fn schema() -> Json<Value> {
    Json(Request::json_schema())
}

/// Returns the body as text.
pub(super) fn text(body: &[u8]) -> Result<&str, ApiError> {
    std::str::from_utf8(body).map_err(|error| {
        let what = format!("the body is not UTF-8: {error}");
        ControlError::Invalid { what }.into()
    })
}
