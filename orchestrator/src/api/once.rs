//! Idempotency keys: a command that is repeated with the same key gets the earlier response and is not carried out
//! again.
//!
//! Only the response to a successful command is kept. A command that was refused changed nothing, and can be repeated.
//! If the controller died during a command, a repetition gets the error that the outcome is unknown. A new token is
//! shown only once, so the response that contains it is never kept.

use super::BODY_LIMIT;
use super::error::{ApiError, keyed};
use crate::access::{Caller, RouteAccess, SecretDigest};
use crate::controller::Controller;
use crate::store::{EarlierCommand, KeptAnswer, KeyedCommand};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The request header with the key.
pub(crate) const HEADER: &str = "idempotency-key";
/// The response header that marks a repeated response.
const REPLAYED: &str = "idempotency-replayed";
const LONGEST: usize = 255;
/// The largest response in bytes that is kept.
const ANSWER_LIMIT: usize = 48 << 20;

/// Requests that are sent with POST but change nothing.
const QUESTIONS: [&str; 5] = [
    "/api/v1/plans",
    "/api/v1/doctor",
    "/api/v1/maps/{name}/load",
    "/api/v1/maps/{name}/check",
    "/api/v1/shards/{name}/directory",
];

/// Returns whether a command on this route may have a key.
pub(crate) fn takes_key(method: &str, pattern: &str) -> bool {
    let last = pattern.rsplit('/').next().unwrap_or_default();
    let changes = method != "GET" && RouteAccess::of(method, pattern, last).changes();
    changes && !QUESTIONS.contains(&pattern) && !(method == "POST" && pattern == "/api/v1/tokens")
}

/// The commands with a key that this process is carrying out.
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

/// A command that is being carried out. Dropping the value marks its end.
struct RunningCommand(RunningCommands, SecretDigest);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let busy = self.0.busy.lock();
        busy.unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// Returns the earlier response to a repeated command. Otherwise carries the command out and keeps its response.
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
    let caller = request.extensions().get::<Caller>();
    let key = SecretDigest::of(&[caller.map_or("", |caller| &caller.name), key]);
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

/// Returns the kept response to the same command.
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

/// Keeps the response to a successful command, and deletes the record of one that was refused.
async fn keep(
    running: &RunningCommands,
    key: SecretDigest,
    response: Response,
) -> Result<Response, ApiError> {
    let store = running.controller.store();
    if !response.status().is_success() {
        // After a server error the command may have been carried out. The record stays, so that a repetition reports an
        // unknown outcome.
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

/// Logs if the response could not be kept. The command has been carried out; a repetition will report an unknown
/// outcome.
fn forgotten(kept: Result<(), crate::store::StoreError>) {
    if let Err(error) = kept {
        tracing::warn!(%error, "the answer to an order with a key was not kept");
    }
}
