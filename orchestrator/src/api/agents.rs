//! Routes that agents call, and the list of agents. A `Visitor` is the authenticated sender of a request.

use super::extract::Path;
use super::{ApiError, json};
use crate::access::Visitor;
use crate::controller::{CallerBinding, Controller};
use crate::store::{AgentRecord, CleanupRecord};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use plans::id::MigrationId;
use plans::wire::{
    Claim, CutoverAnswer, CutoverCall, Heartbeat, HeartbeatReply, Report, SECRET_HEADER, WireSecret,
};

/// Returns all agents that have sent a request.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<AgentRecord>>, ApiError> {
    Ok(Json(controller.store().agents().await?))
}

/// Returns work for the agent as soon as there is some.
pub(super) async fn claim(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let claim: Claim = json(&body)?;
    // The shards that the token of the agent permits.
    let reach = controller.reach(&visitor, Some(&claim.agent)).await?;
    let token = controller.token_of(&visitor);
    let work = controller.claim(&claim, &reach, &token).await?;
    Ok(match work {
        Some(work) => Json(work).into_response(),
        None => super::error::NO_CONTENT.into_response(),
    })
}

/// Receives a heartbeat.
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
    let token = controller.token_of(&visitor);
    Ok(Json(controller.heartbeat(&beat, &token).await?))
}

/// Receives the outcome of a step or an inspection.
pub(super) async fn report(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    body: Bytes,
) -> Result<(), ApiError> {
    let report: Report = json(&body)?;
    let token = controller.token_of(&visitor);
    match &report {
        Report::Step(step) => check_reach(&controller, &visitor, &step.migration).await?,
        Report::Inspected { id, .. } => {
            let reach = controller.reach(&visitor, None).await?;
            controller.check_inspection(&reach, &token, id)?;
        }
    }
    Ok(controller.report(report, &token).await?)
}

/// Receives a request of a running cutover, for example for the permission to seal.
pub(super) async fn cutover(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    body: Bytes,
) -> Result<Json<CutoverAnswer>, ApiError> {
    let call: CutoverCall = json(&body)?;
    check_reach(&controller, &visitor, &call.migration).await?;
    let token = controller.token_of(&visitor);
    Ok(Json(controller.cutover(&call, &token).await?))
}

/// Writes cleanup records for objects that the agent is about to create.
pub(super) async fn record_cleanup(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let id = MigrationId(id);
    let records: Vec<CleanupRecord> = json(&body)?;
    check_owner(&controller, &visitor, &id, &headers).await?;
    Ok(controller.store().add_cleanup(&id, &records).await?)
}

/// Marks the objects of cleanup records as removed.
pub(super) async fn cleanup_done(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let id = MigrationId(id);
    let records: Vec<CleanupRecord> = json(&body)?;
    check_owner(&controller, &visitor, &id, &headers).await?;
    let done = controller
        .store()
        .finish_cleanup(&id, &records, chrono::Utc::now());
    Ok(done.await?)
}

/// Fails unless the sender has the lease of the migration. A header contains the secret that the agent received with
/// the step, because the body is a list and has no field for it.
async fn check_owner(
    controller: &Controller,
    visitor: &Visitor,
    id: &MigrationId,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    check_reach(controller, visitor, id).await?;
    let secret = headers.get(SECRET_HEADER);
    let secret = secret.and_then(|value| value.to_str().ok());
    let secret = secret.map(WireSecret::from_text);
    let shown = CallerBinding {
        migration: id,
        epoch: None,
        secret: secret.as_ref(),
        token: &controller.token_of(visitor),
    };
    Ok(controller.check_owner(shown).await?)
}

/// Fails if the token of `visitor` does not permit both shards of the migration.
async fn check_reach(
    controller: &Controller,
    visitor: &Visitor,
    id: &MigrationId,
) -> Result<(), ApiError> {
    let reach = controller.reach(visitor, None).await?;
    Ok(controller.check_reach(&reach, id).await?)
}
