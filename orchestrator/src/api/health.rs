//! Probes.

use super::ApiError;
use crate::controller::Controller;
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

/// The process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The store answers.
pub(super) async fn ready(State(controller): State<Controller>) -> Result<&'static str, ApiError> {
    controller.store().ping().await?;
    Ok("ready\n")
}

/// Which version this is, and of which store.
pub(super) async fn version(State(controller): State<Controller>) -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "protocol": plans::wire::PROTOCOL,
        "incarnation": controller.store().incarnation(),
    }))
}
