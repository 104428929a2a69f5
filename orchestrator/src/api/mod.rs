//! The HTTP API under `/api/v1`, and the probes outside this path.
//!
//! A request passes these stages: the guard checks Host and Origin; `admit` authenticates the client and checks its
//! rights; a follower sends commands to the leader; the handler calls the controller; `error` converts an error to an
//! RFC 9457 problem document.
//!
//! The module makes no decisions and contains no SQL. Only `error` knows status codes.

mod admit;
mod agents;
mod audited;
pub(crate) mod connections;
mod doctor;
mod error;
mod extract;
mod fleet;
pub(crate) mod gauges;
mod guard;
mod headers;
mod health;
mod inspections;
mod leader;
mod map_text;
mod maps;
mod migrations;
mod once;
mod openapi;
mod operations;
mod paging;
mod plan;
mod refusals;
mod routes;
mod shards;
mod stream;
mod tls;
mod tokens;
mod trace;
mod verify;

pub(crate) use admit::{Admission, address};
pub use connections::{ConnectionLimits, raise_descriptors};
pub use error::AccessRefusal;
pub(crate) use error::keyed::IN_PROGRESS;
pub use error::{ApiError, Problem};
pub(crate) use error::{INLINE_PASSWORD, UNREADABLE_DSN};
pub(crate) use headers::{COOKIE, REASON_HEADER, cookie};
pub use health::{ControllerVersion, LeadershipHealth, Readiness, ReadinessCheck};
pub(crate) use leader::forward_to_leader;
pub use maps::LocatedKey;
pub(crate) use once::{HEADER as IDEMPOTENCY_HEADER, takes_key};
pub use routes::{document, routes};
pub use tls::ServerCertificate;
pub use tokens::{IssuedToken, SignInCode};
pub use verify::ScheduledComparison;

use crate::access::AccessRule;
use crate::controller::{ControlError, Controller};
use axum::Router;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The largest body in bytes, for forms too. A plan with many tables must fit in it.
pub(crate) const BODY_LIMIT: usize = 16 << 20;
/// The header that contains the name of the user who sends a command.
pub const ACTOR_HEADER: &str = "x-shardwright-actor";

/// Returns the name of the user who sends the command: from the header, or `operator`.
#[must_use]
pub fn actor(headers: &HeaderMap) -> &str {
    let name = headers
        .get(ACTOR_HEADER)
        .and_then(|name| name.to_str().ok());
    name.filter(|name| !name.is_empty()).unwrap_or("operator")
}

/// Creates the page that a browser gets when its request is refused.
pub type RefusedPage = fn(AccessRefusal) -> Response;

/// Adds the stages before the handlers to `routes`, for a server of `controller` at `address`.
pub fn guarded(
    routes: Router,
    controller: &Controller,
    address: SocketAddr,
    page: RefusedPage,
) -> Router {
    routes
        .fallback(error::no_route)
        .method_not_allowed_fallback(error::no_method)
        .layer(axum::middleware::from_fn_with_state(
            Admission::new(controller.clone(), page),
            admit::admit,
        ))
        .layer(axum::middleware::from_fn_with_state(
            guard::ResponseHeaders::of(controller),
            guard::protect,
        ))
        .layer(axum::middleware::from_fn_with_state(
            Arc::new(guard::OwnAddresses::new(address.port(), controller.urls())),
            guard::check,
        ))
        .layer(axum::middleware::from_fn(trace::trace))
}

/// Why the server was not started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not on loopback and no token is required, so every client that reaches it could do everything.
    #[error("{address} is not a loopback address, and no token was configured")]
    NotLoopback {
        /// The requested address.
        address: SocketAddr,
    },
    /// The address is not on loopback, and without TLS tokens would be sent unencrypted.
    #[error("{address} is not a loopback address, and TLS was not configured")]
    NoTls {
        /// The requested address.
        address: SocketAddr,
    },
    /// The server listens on all addresses of the host, and no URL was configured for other hosts.
    #[error("{address} means all addresses of this host, and other hosts cannot connect to it")]
    NoName {
        /// The requested address.
        address: SocketAddr,
    },
    /// A file of the certificate or its key cannot be used.
    #[error("{path} cannot be used for TLS: {reason}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The error message of the TLS library.
        reason: String,
    },
    /// The server cannot listen on the address.
    #[error("could not listen on {address}")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
}

/// Listens on `address`. Port 0 selects a free port. If no token is required, the address must be on loopback.
///
/// # Errors
/// Returns a [`ServeError`].
pub async fn listen(
    address: SocketAddr,
    rule: AccessRule,
) -> Result<tokio::net::TcpListener, ServeError> {
    if rule == AccessRule::Open && !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback { address });
    }
    let listener = tokio::net::TcpListener::bind(address).await;
    listener.map_err(|source| ServeError::Listen { address, source })
}

/// Parses a JSON body. The content type of the request is ignored.
fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::from(ControlError::Malformed {
            line: error.line(),
            column: error.column(),
            message: error.to_string(),
        })
    })
}

/// Does the same as [`json`], and returns the default value if there is no body.
fn json_or_default<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, ApiError> {
    if body.is_empty() {
        Ok(T::default())
    } else {
        json(body)
    }
}
