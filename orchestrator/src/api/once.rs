//! Orders that come again with the same key are answered as before, and not carried out again.
//!
//! Only what was done is kept: an order that was refused changed nothing, and may come again. Where the controller
//! was lost in the middle nobody knows whether an order was carried out, and whoever sends it again is told so.
//! A token is told once, so that the answer to its making is never kept.

use super::BODY_LIMIT;
use super::error::{ApiError, keyed};
use crate::access::{Digest, Need, Visitor};
use crate::controller::Controller;
use crate::store::{EarlierOrder, KeptAnswer, KeyedOrder};
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
    let changes = method != "GET" && Need::of(method, pattern, last).changes();
    changes && !QUESTIONS.contains(&pattern) && !(method == "POST" && pattern == "/api/v1/tokens")
}

/// The orders that this process carries out now.
#[derive(Debug, Clone)]
pub(super) struct Orders {
    controller: Controller,
    busy: Arc<Mutex<BTreeSet<Digest>>>,
}

impl Orders {
    pub(super) fn new(controller: Controller) -> Self {
        Self {
            controller,
            busy: Arc::default(),
        }
    }

    fn begin(&self, key: Digest) -> Option<Busy> {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.insert(key).then(|| Busy(self.clone(), key))
    }
}

/// An order is carried out until this is dropped.
struct Busy(Orders, Digest);

impl Drop for Busy {
    fn drop(&mut self) {
        let busy = self.0.busy.lock();
        busy.unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// Answers an order that came before, and keeps what is answered to one that comes with a key.
pub(super) async fn answer(State(orders): State<Orders>, request: Request, next: Next) -> Response {
    let Some(key) = request.headers().get(HEADER).cloned() else {
        return next.run(request).await;
    };
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    match once(&orders, &key, request, next).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn once(
    orders: &Orders,
    key: &HeaderValue,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let pattern = request.extensions().get::<MatchedPath>();
    let pattern = pattern.map_or("", MatchedPath::as_str);
    if !takes_key(request.method().as_str(), pattern) {
        return Err(keyed::not_here(request.method().as_str(), pattern));
    }
    let key = key
        .to_str()
        .ok()
        .filter(|key| !key.trim().is_empty() && key.len() <= LONGEST);
    let key = key.ok_or_else(keyed::no_key)?;
    let visitor = request.extensions().get::<Visitor>();
    let key = Digest::of(&[visitor.map_or("", |visitor| &visitor.name), key]);
    let Some(_busy) = orders.begin(key) else {
        return Err(keyed::under_way());
    };
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_LIMIT).await;
    let body = body.map_err(|_| ApiError::too_large(BODY_LIMIT))?;
    let place = parts.uri.to_string();
    let said = [parts.method.as_str().as_bytes(), place.as_bytes(), &body];
    let order = KeyedOrder {
        key,
        fingerprint: Digest::of(&said),
        at: chrono::Utc::now(),
    };
    let store = orders.controller.store();
    match store.begin_order(&order).await? {
        Some(earlier) => replay(&order, earlier),
        None => {
            let request = Request::from_parts(parts, Body::from(body));
            keep(orders, key, next.run(request).await).await
        }
    }
}

/// What was answered before to the same order.
fn replay(order: &KeyedOrder, earlier: EarlierOrder) -> Result<Response, ApiError> {
    if earlier.fingerprint != order.fingerprint {
        return Err(keyed::another_order());
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
async fn keep(orders: &Orders, key: Digest, response: Response) -> Result<Response, ApiError> {
    let store = orders.controller.store();
    if !response.status().is_success() {
        // What the server failed at may have been done: that is not known, and is told so.
        if response.status().is_client_error() {
            forgotten(store.forget_order(key).await);
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
