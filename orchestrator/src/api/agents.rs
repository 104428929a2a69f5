//! What agents call.

use super::extract::Path;
use super::{ApiError, json};
use crate::access::Visitor;
use crate::controller::Controller;
use crate::store::{AgentRecord, CleanupRecord};
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use plans::id::MigrationId;
use plans::wire::{Claim, CutoverAnswer, CutoverCall, Heartbeat, HeartbeatReply, Report};

/// All that have spoken.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<AgentRecord>>, ApiError> {
    Ok(Json(controller.store().agents().await?))
}

/// Work, as soon as there is some.
pub(super) async fn claim(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let claim: Claim = json(&body)?;
    let reach = controller.reach(&visitor, Some(&claim.agent)).await?;
    let work = controller.claim(&claim, &reach).await?;
    Ok(match work {
        Some(work) => Json(work).into_response(),
        None => super::error::NO_CONTENT.into_response(),
    })
}

/// A sign of life.
pub(super) async fn heartbeat(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    body: Bytes,
) -> Result<Json<HeartbeatReply>, ApiError> {
    let beat: Heartbeat = json(&body)?;
    let reach = controller.reach(&visitor, Some(&beat.agent)).await?;
    for holding in &beat.holding {
        controller.check_reach(&reach, &holding.migration).await?;
    }
    Ok(Json(controller.heartbeat(&beat).await?))
}

/// How something ended.
pub(super) async fn report(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    body: Bytes,
) -> Result<(), ApiError> {
    let report: Report = json(&body)?;
    match &report {
        Report::Step(step) => check_reach(&controller, &visitor, &step.migration).await?,
        Report::Inspected { id, .. } => {
            let reach = controller.reach(&visitor, None).await?;
            controller.check_inspection(&reach, id)?;
        }
    }
    Ok(controller.report(report).await?)
}

/// What a cutover asks.
pub(super) async fn cutover(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    body: Bytes,
) -> Result<Json<CutoverAnswer>, ApiError> {
    let call: CutoverCall = json(&body)?;
    check_reach(&controller, &visitor, &call.migration).await?;
    Ok(Json(controller.cutover(&call).await?))
}

/// Keeps what is about to be created.
pub(super) async fn record_cleanup(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<(), ApiError> {
    let id = MigrationId(id);
    let records: Vec<CleanupRecord> = json(&body)?;
    controller.load(&id).await?;
    check_reach(&controller, &visitor, &id).await?;
    Ok(controller.store().add_cleanup(&id, &records).await?)
}

/// Notes what is gone.
pub(super) async fn cleanup_done(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<(), ApiError> {
    let id = MigrationId(id);
    let records: Vec<CleanupRecord> = json(&body)?;
    controller.load(&id).await?;
    check_reach(&controller, &visitor, &id).await?;
    let done = controller
        .store()
        .finish_cleanup(&id, &records, chrono::Utc::now());
    Ok(done.await?)
}

/// Refuses a migration that an agent with this token may not touch.
async fn check_reach(
    controller: &Controller,
    visitor: &Visitor,
    id: &MigrationId,
) -> Result<(), ApiError> {
    let reach = controller.reach(visitor, None).await?;
    Ok(controller.check_reach(&reach, id).await?)
}
