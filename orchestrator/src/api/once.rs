//! Orders that come again with the same key are answered as before, and not carried out again.
//!
//! Only what was done is kept: an order that was refused changed nothing, and may come again. Where the controller
//! was lost in the middle nobody knows whether an order was carried out, and whoever sends it again is told so.
//! A token is told once, so that the answer to its making is never kept.

use super::BODY_LIMIT;
use super::error::{ApiError, keyed};
use crate::access::{RouteAccess, SecretDigest, Visitor};
use crate::controller::Controller;
use crate::store::{EarlierCommand, KeptAnswer, KeyedCommand};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The header with the key.
pub(crate) const HEADER: &str = "idempotency-key";
/// Says that an answer is an earlier one.
const REPLAYED: &str = "idempotency-replayed";
const LONGEST: usize = 255;
/// Largest answer that is kept.
const ANSWER_LIMIT: usize = 48 << 20;

/// What is asked by POST although nothing is ordered.
const QUESTIONS: [&str; 5] = [
    "/api/v1/plans",
    "/api/v1/doctor",
    "/api/v1/maps/{name}/load",
    "/api/v1/maps/{name}/check",
    "/api/v1/shards/{name}/directory",
];

/// Whether an order by this route may come with a key.
pub(crate) fn takes_key(method: &str, pattern: &str) -> bool {
    let last = pattern.rsplit('/').next().unwrap_or_default();
    let changes = method != "GET" && RouteAccess::of(method, pattern, last).changes();
    changes && !QUESTIONS.contains(&pattern) && !(method == "POST" && pattern == "/api/v1/tokens")
}

/// The orders that this process carries out now.
#[derive(Debug, Clone)]
pub(super) struct RunningCommands {
    controller: Controller,
    busy: Arc<Mutex<BTreeSet<SecretDigest>>>,
}

impl RunningCommands {
    pub(super) fn new(controller: Controller) -> Self {
        Self {
            controller,
            busy: Arc::default(),
        }
    }

    fn begin(&self, key: SecretDigest) -> Option<RunningCommand> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.insert(key).then(|| RunningCommand(self.clone(), key))
    }
}

/// An order is carried out until this is dropped.
struct RunningCommand(RunningCommands, SecretDigest);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let busy = self.0.busy.lock();
        busy.unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// Answers an order that came before, and keeps what is answered to one that comes with a key.
pub(super) async fn answer(
    State(running): State<RunningCommands>,
    request: Request,
    next: Next,
) -> Response {
    let Some(key) = request.headers().get(HEADER).cloned() else {
        return next.run(request).await;
    };
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    match once(&running, &key, request, next).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn once(
    running: &RunningCommands,
    key: &HeaderValue,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let pattern = request.extensions().get::<MatchedPath>();
    let pattern = pattern.map_or("", MatchedPath::as_str);
    if !takes_key(request.method().as_str(), pattern) {
        return Err(keyed::key_not_allowed(request.method().as_str(), pattern));
    }
    let key = key
        .to_str()
        .ok()
        .filter(|key| !key.trim().is_empty() && key.len() <= LONGEST);
    let key = key.ok_or_else(keyed::no_key)?;
    let visitor = request.extensions().get::<Visitor>();
    let key = SecretDigest::of(&[visitor.map_or("", |visitor| &visitor.name), key]);
    let Some(_busy) = running.begin(key) else {
        return Err(keyed::in_progress());
    };
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_LIMIT).await;
    let body = body.map_err(|_| ApiError::too_large(BODY_LIMIT))?;
    let place = parts.uri.to_string();
    let digested = [parts.method.as_str().as_bytes(), place.as_bytes(), &body];
    let command = KeyedCommand {
        key,
        fingerprint: SecretDigest::of(&digested),
        at: chrono::Utc::now(),
    };
    let store = running.controller.store();
    match store.begin_command(&command).await? {
        Some(earlier) => replay(&command, earlier),
        None => {
            let request = Request::from_parts(parts, Body::from(body));
            keep(running, key, next.run(request).await).await
        }
    }
}

/// What was answered before to the same order.
fn replay(command: &KeyedCommand, earlier: EarlierCommand) -> Result<Response, ApiError> {
    if earlier.fingerprint != command.fingerprint {
        return Err(keyed::key_of_another_command());
    }
    let kept = earlier.answer.ok_or_else(keyed::unknown_outcome)?;
    let status = StatusCode::from_u16(kept.status).unwrap_or_default();
    let mut response = (status, kept.body).into_response();
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(&kept.kind) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

/// Keeps the answer to what was done, and forgets what was not.
async fn keep(
    running: &RunningCommands,
    key: SecretDigest,
    response: Response,
) -> Result<Response, ApiError> {
    let store = running.controller.store();
    if !response.status().is_success() {
        // What the server failed at may have been done: that is not known, and is told so.
        if response.status().is_client_error() {
            forgotten(store.forget_command(key).await);
        }
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let body: Bytes = to_bytes(body, ANSWER_LIMIT)
        .await
        .map_err(|_| ApiError::too_large(ANSWER_LIMIT))?;
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let answer = KeptAnswer {
        status: parts.status.as_u16(),
        kind: kind.to_owned(),
        body: body.to_vec(),
    };
    forgotten(store.keep_answer(key, &answer).await);
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// The order is done, whatever is kept of it; who sends it again is told that it is not known.
fn forgotten(kept: Result<(), crate::store::StoreError>) {
    if let Err(error) = kept {
        tracing::warn!(%error, "the answer to an order with a key was not kept");
    }
}
