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
use crate::store::{CommandStore, EarlierCommand, KeyedCommand, StoredResponse};
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
/// The longest key, in bytes.
const MAX_KEY: usize = 255;
/// The largest response in bytes that is kept.
const MAX_ANSWER: usize = 48 << 20;

/// Routes whose POST requests change nothing.
const READING_POSTS: [&str; 5] = [
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
    changes
        && !READING_POSTS.contains(&pattern)
        && !(method == "POST" && pattern == "/api/v1/tokens")
}

/// The commands with a key that this process is carrying out.
#[derive(Debug, Clone)]
pub(super) struct RunningCommands {
    controller: Controller,
    keys: Arc<Mutex<BTreeSet<SecretDigest>>>,
}

impl RunningCommands {
    pub(super) fn new(controller: Controller) -> Self {
        Self {
            controller,
            keys: Arc::default(),
        }
    }

    /// Marks the command with this key as running; `None` if it already is.
    fn begin(&self, key: SecretDigest) -> Option<RunningCommand> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert(key).then(|| RunningCommand(self.clone(), key))
    }
}

/// A command that is being carried out. Dropping the value marks its end.
struct RunningCommand(RunningCommands, SecretDigest);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let keys = self.0.keys.lock();
        keys.unwrap_or_else(PoisonError::into_inner).remove(&self.1);
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
    match answer_with_key(&running, &key, request, next).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

/// Does the same as [`answer`], for a command that has a key.
async fn answer_with_key(
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
        .filter(|key| !key.trim().is_empty() && key.len() <= MAX_KEY);
    let key = key.ok_or_else(keyed::invalid_key)?;
    let caller = request.extensions().get::<Caller>();
    let key = SecretDigest::of(&[caller.map_or("", |caller| &caller.name), key]);
    let Some(_running_command) = running.begin(key) else {
        return Err(keyed::in_progress());
    };
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_LIMIT).await;
    let body = body.map_err(|_| ApiError::too_large(BODY_LIMIT))?;
    let uri = parts.uri.to_string();
    let hashed = [parts.method.as_str().as_bytes(), uri.as_bytes(), &body];
    let command = KeyedCommand {
        key,
        fingerprint: SecretDigest::of(&hashed),
        at: chrono::Utc::now(),
    };
    let store: &dyn CommandStore = running.controller.store();
    match store.begin_command(&command).await? {
        Some(earlier) => replay(&command, earlier),
        None => {
            let request = Request::from_parts(parts, Body::from(body));
            store_response(running, key, next.run(request).await).await
        }
    }
}

/// Returns the kept response to the same command.
fn replay(command: &KeyedCommand, earlier: EarlierCommand) -> Result<Response, ApiError> {
    if earlier.fingerprint != command.fingerprint {
        return Err(keyed::key_of_another_command());
    }
    let answer = earlier.response.ok_or_else(keyed::unknown_outcome)?;
    let status = StatusCode::from_u16(answer.status).unwrap_or_default();
    let mut response = (status, answer.body).into_response();
    let headers = response.headers_mut();
    if let Ok(kind) = HeaderValue::from_str(&answer.content_type) {
        headers.insert(header::CONTENT_TYPE, kind);
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

/// Keeps the response to a successful command, and deletes the record of one that was refused.
async fn store_response(
    running: &RunningCommands,
    key: SecretDigest,
    response: Response,
) -> Result<Response, ApiError> {
    let store: &dyn CommandStore = running.controller.store();
    if !response.status().is_success() {
        // After a server error the command may have been carried out. The record stays, so that a repetition reports an
        // unknown outcome.
        if response.status().is_client_error() {
            log_failure(store.forget_command(key).await);
        }
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let body: Bytes = to_bytes(body, MAX_ANSWER)
        .await
        .map_err(|_| ApiError::too_large(MAX_ANSWER))?;
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let response = StoredResponse {
        status: parts.status.as_u16(),
        content_type: kind.to_owned(),
        body: body.to_vec(),
    };
    log_failure(store.store_response(key, &response).await);
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// Logs a failure to store a response or to delete a record. A repetition of the command then gets the error that the
/// outcome is unknown.
fn log_failure(stored: Result<(), crate::store::StoreError>) {
    if let Err(error) = stored {
        tracing::warn!(%error, "could not store the answer to a command with an idempotency key");
    }
}
