//! Comparisons on demand: schedules them, and returns the results of the last ones.

use super::extract::Path;
use super::migrations::view;
use super::{ApiError, actor, json};
use crate::controller::Controller;
use crate::view::MigrationView;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use plans::id::MigrationId;
use plans::step::verify::{DifferenceReport, VerifyRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether to repair rows that differ, and the reason for the comparison.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct VerifyRequest {
    repair: bool,
    reason: Option<String>,
}

/// A comparison that was scheduled.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledComparison {
    /// The number of the comparison. The report with this number contains its result.
    pub run: VerifyRun,
    /// The migration whose rows are compared.
    pub migration: MigrationView,
}

/// Schedules a comparison.
pub(super) async fn schedule(
    State(controller): State<Controller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ScheduledComparison>, ApiError> {
    let request: VerifyRequest = if body.is_empty() {
        VerifyRequest::default()
    } else {
        json(&body)?
    };
    let reason = request.reason.as_deref();
    let id = MigrationId(id);
    let (run, snapshot) = controller
        .verify(&id, request.repair, actor(&headers), reason)
        .await?;
    let migration = view(&controller, &snapshot);
    Ok(Json(ScheduledComparison { run, migration }))
}

/// Returns the results of the last comparisons, with the keys of rows that differ.
pub(super) async fn report(
    State(controller): State<Controller>,
    Path(id): Path<String>,
) -> Result<Json<Vec<DifferenceReport>>, ApiError> {
    Ok(Json(controller.differences(&MigrationId(id)).await?))
}
