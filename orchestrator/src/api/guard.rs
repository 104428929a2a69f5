//! Lets in what a browser on this machine could mean, or who was sent here by the advertised address: the right Host,
//! and for changes no foreign Origin.
//!
//! Without it a page of anybody could speak to the controller through the operator's browser.

use super::error::{ApiError, no_foreigner};
use crate::controller::Controller;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;

/// The addresses by which this server is called.
#[derive(Debug)]
pub(super) struct OwnAddresses {
    port: u16,
    /// What it is reached at from elsewhere: schemes and authorities.
    named: Vec<(String, String)>,
}

impl OwnAddresses {
    /// A server that listens on loopback at `port`, and is reached at `urls`.
    pub(super) fn new<'a>(port: u16, urls: impl Iterator<Item = &'a str>) -> Self {
        let named = urls.filter_map(|url| url.split_once("://"));
        let named = named.map(|(scheme, rest)| {
            let authority = rest.split('/').next().unwrap_or_default();
            (scheme.to_lowercase(), authority.to_lowercase())
        });
        let named = named.collect();
        Self { port, named }
    }

    fn is_host(&self, host: &str) -> bool {
        let local = host.rsplit_once(':').is_some_and(|(name, number)| {
            matches!(name, "127.0.0.1" | "localhost" | "[::1]") && number == self.port.to_string()
        });
        local || self.schemes(host).next().is_some()
    }

    /// By which `host` is spoken to.
    fn schemes(&self, host: &str) -> impl Iterator<Item = &str> {
        let host = host.to_lowercase();
        let named = self.named.iter();
        named.filter_map(move |(scheme, authority)| (*authority == host).then_some(scheme.as_str()))
    }

    /// `origin` is the page that this server sends to `host`.
    fn is_origin(&self, origin: &str, host: &str) -> bool {
        let Some((scheme, from)) = origin.split_once("://") else {
            return false;
        };
        let mut known = self.schemes(host).peekable();
        let allowed = match known.peek() {
            Some(_) => known.any(|known| known == scheme),
            None => scheme == "http",
        };
        allowed && from == host
    }
}

/// Checks Host on every request and Origin on every one that changes something.
pub(super) async fn check(
    State(ours): State<Arc<OwnAddresses>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let host = header_text(request.headers(), header::HOST).unwrap_or_default();
    if !ours.is_host(host) {
        return Err(no_foreigner("Host", host));
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let origin = header_text(request.headers(), header::ORIGIN);
    if let Some(origin) = origin.filter(|_| changes)
        && !ours.is_origin(origin, host)
    {
        return Err(no_foreigner("Origin", origin));
    }
    Ok(next.run(request).await)
}

/// What every answer bears besides what it says.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseHeaders {
    /// Browsers are to come back by TLS alone.
    tls: bool,
}

impl ResponseHeaders {
    pub(super) fn of(controller: &Controller) -> Self {
        Self {
            tls: controller.url().starts_with("https://"),
        }
    }
}

/// A year.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// An answer is what its type says, and under TLS the next request is made by TLS.
pub(super) async fn protect(
    State(protection): State<ResponseHeaders>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
    if protection.tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    response
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}
