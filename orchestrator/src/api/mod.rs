//! The HTTP API under `/api/v1`, and the probes beside it.
//!
//! Order of a request: the guard checks Host and Origin, what changes something goes to the controller that leads,
//! the handler asks the controller, `error` says no in RFC 9457.
//! Absent: decisions, SQL, status codes outside `error`.

mod agents;
mod doctor;
mod error;
mod fleet;
mod guard;
mod health;
mod inspections;
mod leader;
mod map_text;
mod maps;
mod migrations;
mod operations;
mod plan;
mod shards;
mod stream;
mod verify;

pub use error::{ApiError, Problem};
pub(crate) use error::{INLINE_PASSWORD, UNREADABLE_DSN};
pub use health::Health;
pub(crate) use leader::hand_on;
pub use maps::Located;
pub use verify::Ordered;

use crate::controller::{ControlError, Controller};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::HeaderMap;
use axum::routing::{get, patch, post};
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::sync::Arc;

/// Largest body: a plan of many tables.
const BODY_LIMIT: usize = 16 << 20;
/// The header that names who gives an order.
pub const ACTOR_HEADER: &str = "x-shardwright-actor";

/// Who gives the order, by the header, or `operator`.
#[must_use]
pub fn actor(headers: &HeaderMap) -> &str {
    let named = headers
        .get(ACTOR_HEADER)
        .and_then(|name| name.to_str().ok());
    named.filter(|name| !name.is_empty()).unwrap_or("operator")
}

/// All routes of the API over `controller`, unguarded; pages may be merged in before [`guarded`].
pub fn routes(controller: Controller) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/version", get(health::version))
        .route("/api/v1/health", get(health::health))
        .route("/metrics", get(inspections::metrics))
        .route("/api/v1/shards", post(shards::add).get(shards::list))
        .route(
            "/api/v1/shards/{name}",
            get(shards::show)
                .patch(shards::change)
                .delete(shards::remove),
        )
        .route(
            "/api/v1/shards/{name}/directory",
            post(inspections::directory),
        )
        .merge(map_routes())
        .route("/api/v1/plans", post(plan::make))
        .route("/api/v1/schemas/request", get(plan::schema))
        .merge(operation_routes())
        .route("/api/v1/doctor", post(doctor::examine))
        .route("/api/v1/fleet", get(fleet::show))
        .route("/api/v1/fleet/reconcile", post(fleet::reconcile))
        .route("/api/v1/fleet/cleanup", post(fleet::cleanup))
        .route("/api/v1/audit", get(operations::audit))
        .route("/api/v1/agents", get(agents::list))
        .route("/api/v1/agents/claim", post(agents::claim))
        .route("/api/v1/agents/heartbeat", post(agents::heartbeat))
        .route("/api/v1/agents/report", post(agents::report))
        .route("/api/v1/agents/cutover", post(agents::cutover))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(axum::middleware::from_fn_with_state(
            controller.clone(),
            leader::redirect,
        ))
        .with_state(controller)
}

fn map_routes() -> Router<Controller> {
    Router::new()
        .route("/api/v1/maps", post(maps::create).get(maps::list))
        .route("/api/v1/maps/{name}", get(maps::show))
        .route(
            "/api/v1/maps/{name}/versions",
            post(maps::edit).get(maps::history),
        )
        .route("/api/v1/maps/{name}/versions/{version}", get(maps::version))
        .route("/api/v1/maps/{name}/diff", get(maps::diff))
        .route(
            "/api/v1/maps/{name}/settings",
            patch(maps::set).get(maps::settings),
        )
        .route("/api/v1/maps/{name}/locate", post(maps::locate))
        .route("/api/v1/maps/{name}/changes", get(maps::changes))
        .route(
            "/api/v1/maps/{name}/load",
            get(inspections::load).post(inspections::load_by),
        )
        .route("/api/v1/maps/{name}/counters", post(inspections::counters))
        .route("/api/v1/maps/{name}/latency", post(maps::latency))
        .route("/api/v1/maps/{name}/check", post(inspections::check))
        .route("/api/v1/maps/{name}/mend", post(inspections::mend))
}

fn operation_routes() -> Router<Controller> {
    Router::new()
        .route(
            "/api/v1/operations",
            post(operations::submit).get(operations::list),
        )
        .route("/api/v1/operations/{id}", get(operations::show))
        .route("/api/v1/operations/{id}/plan", get(operations::plan))
        .route("/api/v1/operations/{id}/events", get(operations::events))
        .route(
            "/api/v1/operations/{id}/{command}",
            post(operations::command),
        )
        .route(
            "/api/v1/migrations",
            post(operations::submit).get(migrations::list),
        )
        .route("/api/v1/migrations/{id}", get(migrations::show))
        .route("/api/v1/migrations/{id}/events", get(migrations::events))
        .route("/api/v1/migrations/{id}/cleanup", get(migrations::cleanup))
        .route(
            "/api/v1/migrations/{id}/cleanup-records",
            post(agents::record_cleanup),
        )
        .route(
            "/api/v1/migrations/{id}/cleanup-records/done",
            post(agents::cleanup_done),
        )
        .route("/api/v1/migrations/{id}/limits", post(migrations::limit))
        .route(
            "/api/v1/migrations/{id}/verify",
            post(verify::order).get(verify::report),
        )
        .route(
            "/api/v1/migrations/{id}/{command}",
            post(migrations::command),
        )
}

/// `routes` behind the check of Host and Origin for a server at `address`, which others reach at `url`.
pub fn guarded(routes: Router, address: SocketAddr, url: &str) -> Router {
    routes
        .fallback(error::no_route)
        .method_not_allowed_fallback(error::no_method)
        .layer(axum::middleware::from_fn_with_state(
            Arc::new(guard::Ours::new(address.port(), url)),
            guard::check,
        ))
}

/// Why the server was not started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not on loopback.
    #[error("{address} is not a loopback address, and this version has no other protection")]
    NotLoopback {
        /// As asked.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("could not listen on {address}")]
    Listen {
        /// As asked.
        address: SocketAddr,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
}

/// Listens on `address`, which must be on loopback; port 0 takes a free one.
///
/// # Errors
/// [`ServeError`]
pub async fn listen(address: SocketAddr) -> Result<tokio::net::TcpListener, ServeError> {
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback { address });
    }
    let listener = tokio::net::TcpListener::bind(address).await;
    listener.map_err(|source| ServeError::Listen { address, source })
}

/// Reads a JSON body of any content type.
fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::from(ControlError::Malformed {
            line: error.line(),
            column: error.column(),
            message: error.to_string(),
        })
    })
}

/// As [`json`], for a body that may be left out.
fn json_or_default<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, ApiError> {
    if body.is_empty() {
        Ok(T::default())
    } else {
        json(body)
    }
}

/// Serves the API and the dashboard of `controller` on `listener`, and makes it stand for the lead, until the task is
/// dropped. Unless it was told another address, others are sent to the one that is listened on.
///
/// # Errors
/// What the operating system says of the listener.
pub async fn serve(
    listener: tokio::net::TcpListener,
    controller: Controller,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    controller.advertise(&format!("http://{address}"));
    let pages = crate::dashboard::routes(controller.clone());
    let routes = routes(controller.clone()).merge(pages);
    let app = guarded(routes, address, controller.url());
    tokio::select! {
        () = controller.run() => Ok(()),
        served = async { axum::serve(listener, app).await } => served,
    }
}
