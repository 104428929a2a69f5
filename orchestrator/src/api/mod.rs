//! The HTTP API under `/api/v1`, and the probes beside it.
//!
//! Order of a request: the guard checks Host and Origin, `admit` finds out who asks and whether that is enough,
//! what changes something goes to the controller that leads, the handler asks the controller, `error` says no in
//! RFC 9457.
//! Absent: decisions, SQL, status codes outside `error`.

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
pub(crate) use leader::hand_on;
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

/// Largest body, of a form too: a plan of many tables.
pub(crate) const BODY_LIMIT: usize = 16 << 20;
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

/// What a browser gets that is refused.
pub type RefusedPage = fn(AccessRefusal) -> Response;

/// `routes` of `controller` behind its door, and behind the check of Host and Origin for a server at `address`.
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
    /// The address is not on loopback, and whoever reaches it could do everything.
    #[error("{address} is not a loopback address, and no token is named for it")]
    NotLoopback {
        /// As asked.
        address: SocketAddr,
    },
    /// The address is not on loopback, and tokens would be sent in clear.
    #[error("{address} is not a loopback address, and there is no TLS")]
    NoTls {
        /// As asked.
        address: SocketAddr,
    },
    /// Everything that this host is called by is listened on, and nobody said which of that others use.
    #[error("{address} is no address that a browser can be sent to")]
    NoName {
        /// As asked.
        address: SocketAddr,
    },
    /// A file of the certificate or its key cannot be used.
    #[error("{path} cannot be used for TLS: {reason}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The library's words.
        reason: String,
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

/// Listens on `address`; port 0 takes a free one. Where no token is asked for it must be on loopback.
///
/// # Errors
/// [`ServeError`]
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
