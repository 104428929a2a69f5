//! Sends requests that a follower cannot answer to the leader.
//!
//! A request of the API is redirected with status 307, which keeps method and body. A form of the dashboard is
//! forwarded, because a browser would not send its session cookie to another address. While no controller leads, both
//! wait up to [`LEADER_WAIT`] for a leader.

use super::error::{ApiError, leader_lost, no_leader, redirect_to_leader};
use crate::controller::{Controller, LeadershipState};
use crate::store::Leader;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use controller_client::Identity;
use reqwest::redirect::Policy;
use std::time::Duration;

/// How long a request waits for a leader. The time is longer than a controller needs to take over the leadership.
pub(super) const LEADER_WAIT: Duration = Duration::from_secs(5);
/// The longest wait for the leader's response to a form. A plan may first have to measure loads.
const MAX_FORM_WAIT: Duration = Duration::from_secs(300);

/// Handles requests that only read, and all requests while this process leads. Redirects all others to the leader.
pub(super) async fn redirect(
    State(controller): State<Controller>,
    request: Request,
    next: Next,
) -> Response {
    if is_for_every_controller(request.method(), request.uri().path()) {
        return next.run(request).await;
    }
    match controller.settled_role(LEADER_WAIT).await {
        LeadershipState::Leads(_) => next.run(request).await,
        LeadershipState::Follows(Some(leader)) => {
            let path = request
                .uri()
                .path_and_query()
                .map_or("/", |path| path.as_str());
            redirect_to_leader(&leader.url, path)
        }
        LeadershipState::Follows(None) => no_leader().into_response(),
    }
}

/// Does the same as [`redirect`] for pages, but forwards requests instead.
pub(crate) async fn forward_to_leader(
    State(controller): State<Controller>,
    request: Request,
    next: Next,
) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    match controller.settled_role(LEADER_WAIT).await {
        LeadershipState::Leads(_) => next.run(request).await,
        LeadershipState::Follows(Some(leader)) => match forward(&leader, request).await {
            Ok(response) => response,
            Err(error) => error.into_response(),
        },
        LeadershipState::Follows(None) => no_leader().into_response(),
    }
}

/// Returns whether a follower can answer the request from the store. A GET that needs agents or the leader's memory is
/// only for the leader. A request for the owner of a key is for every controller, although it is a POST.
fn is_for_every_controller(method: &Method, path: &str) -> bool {
    let needs_leader = || {
        let suffixes = ["/load", "/verify", "/fleet", "/probe", "/removal"];
        path.starts_with("/api/v1/") && suffixes.iter().any(|suffix| path.ends_with(suffix))
    };
    match *method {
        Method::GET | Method::HEAD => !needs_leader(),
        Method::POST => path.starts_with("/api/v1/maps/") && path.ends_with("/locate"),
        _ => false,
    }
}

/// Sends the request to the leader, and returns its response.
async fn forward(leader: &Leader, request: Request) -> Result<Response, ApiError> {
    let leader_error = |error: &dyn std::fmt::Display| leader_lost(&leader.url, error);
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, super::BODY_LIMIT)
        .await
        .map_err(|e| leader_error(&e))?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let ca_file = Identity::from_environment().ca_file;
    let client = controller_client::client(Policy::none(), ca_file.as_deref())
        .map_err(|e| leader_error(&e))?;
    let mut forwarded = client
        .request(parts.method, format!("{}{path}", leader.url))
        .timeout(MAX_FORM_WAIT);
    for name in FORWARDED_HEADERS {
        if let Some(value) = parts.headers.get(&name) {
            forwarded = forwarded.header(name, value);
        }
    }
    let answer = forwarded
        .body(body)
        .send()
        .await
        .map_err(|e| leader_error(&e))?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    for name in RETURNED_HEADERS {
        if let Some(value) = answer.headers().get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    *response.body_mut() = Body::from(answer.bytes().await.map_err(|e| leader_error(&e))?);
    Ok(response)
}

/// Headers of a browser's request that are sent to the leader.
const FORWARDED_HEADERS: [HeaderName; 4] = [
    header::CONTENT_TYPE,
    header::ACCEPT,
    header::COOKIE,
    header::AUTHORIZATION,
];

/// Headers of the leader's response that are sent to the browser.
const RETURNED_HEADERS: [HeaderName; 4] = [
    header::SET_COOKIE,
    header::CONTENT_TYPE,
    header::LOCATION,
    header::CACHE_CONTROL,
];
