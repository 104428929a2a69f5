//! The dashboard: pages that the server renders and updates with server-sent events.
//!
//! A page is a list of fragments. Each one is an HTML element with an id, and `live` sends those that have changed.
//! Handlers call the controller in the same way as the handlers of the API. Every page and command works without
//! JavaScript. Only `api` knows status codes. Pages use no assets of other hosts, and no inline scripts or styles.

mod activity;
pub(crate) mod agents;
mod assets;
mod bars;
mod commands;
mod doctor;
mod done_part;
mod graph;
mod live;
mod map;
mod maps;
mod marks;
mod migration;
mod migrations;
mod open;
mod operation;
mod overview;
mod page;
mod palette;
mod prober;
mod reachability;
mod reference;
mod request;
mod shards;
mod sign_in;
mod step_words;
mod tokens;

use crate::api::{AccessRefusal, forward_to_leader};
use crate::controller::Controller;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};

/// The security headers of every page. With the referrer policy `no-referrer` a browser would send `Origin: null` with
/// the dashboard's own forms, and the guard would refuse them.
const HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// Returns the routes of the pages for `controller`. They are merged with the API's routes before the guard is added.
pub fn routes(controller: Controller) -> Router {
    Router::new()
        .route("/", get(overview::show))
        .route("/migrations", post(request::apply).get(migrations::show))
        .route(
            "/migrations/check",
            post(request::check).get(redirect_to_form),
        )
        .route(
            "/migrations/estimate",
            post(request::estimate).get(redirect_to_form),
        )
        .route("/migrations/new", get(request::show).post(request::turn))
        .route(
            "/migrations/plan",
            post(request::plan).get(redirect_to_form),
        )
        .route("/migrations/{id}", get(migration::show))
        .route("/migrations/{id}/switch", get(migration::cutover::show))
        .route(
            "/migrations/{id}/{command}",
            get(commands::confirm).post(commands::give),
        )
        .route("/operations/{id}", get(operation::show))
        .route(
            "/operations/{id}/{command}",
            get(commands::confirm_all).post(commands::give_all),
        )
        .route("/api/docs", get(reference::show))
        .route("/sign-in", get(sign_in::show).post(sign_in::begin))
        .route("/sign-out", post(sign_in::end))
        .route("/shards", get(shards::show))
        .route("/shards/{name}", get(shards::one::show))
        .route("/maps", get(maps::show))
        .route("/maps/{name}", get(map::show))
        .route("/maps/{name}/diff", get(map::compare))
        .route("/maps/{name}/load", post(map::measure))
        .route("/agents", get(agents::show))
        .route("/doctor", get(doctor::show).post(doctor::examine))
        .route("/activity", get(activity::show))
        .route("/audit", get(activity::redirect))
        .route("/tokens", get(tokens::show).post(tokens::create))
        .route(
            "/tokens/{name}/revoke",
            get(tokens::confirm).post(tokens::revoke),
        )
        .route("/live/overview", get(live::overview))
        .route("/live/migrations", get(live::migrations))
        .route("/live/agents", get(live::agents))
        .route("/live/activity", get(live::activity))
        .route("/live/operations/{id}", get(live::operation))
        .route("/live/migrations/{id}", get(live::migration))
        .route("/live/migrations/{id}/switch", get(live::cutover))
        .route("/live/shards", get(live::shards))
        .route("/live/shards/{name}", get(live::shard))
        .route("/live/maps", get(live::maps))
        .route("/live/maps/{name}", get(live::map))
        .route("/assets/{file}", get(assets::show))
        .route("/favicon.ico", get(assets::favicon))
        .layer(DefaultBodyLimit::max(crate::api::BODY_LIMIT))
        .layer(axum::middleware::from_fn_with_state(
            controller.clone(),
            forward_to_leader,
        ))
        .layer(map_response(with_security_headers))
        .with_state(controller)
}

async fn with_security_headers(mut response: Response) -> Response {
    add_security_headers(&mut response);
    response
}

/// Adds the security headers. Responses that do not say how long they may be cached must not be stored.
fn add_security_headers(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

/// Returns the page for a request that was refused.
pub fn refused(refusal: AccessRefusal) -> Response {
    let mut response = page::PageError::from(refusal).into_response();
    add_security_headers(&mut response);
    response
}

/// A plan is only shown in response to a form. Other requests are redirected to the form.
async fn redirect_to_form() -> Redirect {
    Redirect::to("/migrations/new")
}
