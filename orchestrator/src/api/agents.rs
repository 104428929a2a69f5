//! Routes that agents call, and the list of agents.

use super::extract::Path;
use super::migrations::CommandReason;
use super::{ApiError, actor, json, json_or_default};
use crate::access::Caller;
use crate::controller::{Controller, LeaseProof};
use crate::store::{AgentRecord, CleanupRecord};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use plans::id::{AgentName, MigrationId};
use plans::wire::{
    Claim, CutoverAnswer, CutoverCall, Heartbeat, HeartbeatReply, Report, SECRET_HEADER, WireSecret,
};

/// Returns all agents that have sent a request.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<AgentRecord>>, ApiError> {
    Ok(Json(controller.store().agents().await?))
}

/// Removes the record of an agent.
pub(super) async fn remove(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let parameters: CommandReason = json_or_default(&body)?;
    let (name, reason) = (AgentName(name), parameters.reason.as_deref());
    Ok(controller
        .remove_agent(&name, actor(&headers), reason)
        .await?)
}

/// Returns the record of an agent, if it could be removed now.
pub(super) async fn try_remove(
    State(controller): State<Controller>,
    Path(name): Path<String>,
) -> Result<Json<AgentRecord>, ApiError> {
    Ok(Json(controller.try_remove_agent(&AgentName(name)).await?))
}

/// Returns work for the agent as soon as there is some.
pub(super) async fn claim(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let claim: Claim = json(&body)?;
    let permitted_shards = controller
        .permitted_shards(&caller, Some(&claim.agent))
        .await?;
    let token = controller.token_of(&caller);
    let work = controller.claim(&claim, &permitted_shards, &token).await?;
    Ok(match work {
        Some(work) => Json(work).into_response(),
        None => super::error::NO_CONTENT.into_response(),
    })
}

/// Receives a heartbeat.
pub(super) async fn heartbeat(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Json<HeartbeatReply>, ApiError> {
    let heartbeat: Heartbeat = json(&body)?;
    let permitted_shards = controller
        .permitted_shards(&caller, Some(&heartbeat.agent))
        .await?;
    for holding in &heartbeat.holding {
        controller
            .check_reach(&permitted_shards, &holding.migration)
            .await?;
    }
    let token = controller.token_of(&caller);
    Ok(Json(controller.heartbeat(&heartbeat, &token).await?))
}

/// Receives the outcome of a step or an inspection.
pub(super) async fn report(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(), ApiError> {
    let report: Report = json(&body)?;
    let token = controller.token_of(&caller);
    match &report {
        Report::Step(step) => check_permitted(&controller, &caller, &step.migration).await?,
        Report::Inspected { id, .. } => {
            let permitted_shards = controller.permitted_shards(&caller, None).await?;
            controller.check_inspection(&permitted_shards, &token, id)?;
        }
    }
    Ok(controller.report(report, &token).await?)
}

/// Receives a request of a running cutover, for example for the permission to seal.
pub(super) async fn cutover(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<Json<CutoverAnswer>, ApiError> {
    let call: CutoverCall = json(&body)?;
    check_permitted(&controller, &caller, &call.migration).await?;
    let token = controller.token_of(&caller);
    Ok(Json(controller.cutover(&call, &token).await?))
}

/// Writes cleanup records for objects that the agent is about to create.
pub(super) async fn record_cleanup(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let id = MigrationId(id);
    let records: Vec<CleanupRecord> = json(&body)?;
    check_owner(&controller, &caller, &id, &headers).await?;
    Ok(controller.store().add_cleanup(&id, &records).await?)
}

/// Marks the objects of cleanup records as removed.
pub(super) async fn cleanup_done(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(), ApiError> {
    let id = MigrationId(id);
    let records: Vec<CleanupRecord> = json(&body)?;
    check_owner(&controller, &caller, &id, &headers).await?;
    let done = controller
        .store()
        .finish_cleanup(&id, &records, chrono::Utc::now());
    Ok(done.await?)
}

/// Fails unless the caller has the lease of the migration. A header contains the secret that the agent received with
/// the step, because the body is a list and has no field for it.
async fn check_owner(
    controller: &Controller,
    caller: &Caller,
    id: &MigrationId,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    check_permitted(controller, caller, id).await?;
    let secret = headers.get(SECRET_HEADER);
    let secret = secret.and_then(|value| value.to_str().ok());
    let secret = secret.map(WireSecret::from_text);
    let binding = LeaseProof {
        migration: id,
        epoch: None,
        secret: secret.as_ref(),
        token: &controller.token_of(caller),
    };
    Ok(controller.check_owner(binding).await?)
}

/// Fails if the token of `caller` does not permit both shards of the migration.
async fn check_permitted(
    controller: &Controller,
    caller: &Caller,
    id: &MigrationId,
) -> Result<(), ApiError> {
    let permitted_shards = controller.permitted_shards(caller, None).await?;
    Ok(controller.check_reach(&permitted_shards, id).await?)
}
