//! Protects against requests that a foreign web page sends through an operator's browser.
//!
//! The header Host must be an address of this server. For requests that change something, the header Origin must not be
//! that of another site.

use super::error::{ApiError, foreign_header};
use crate::controller::Controller;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;

/// The addresses under which clients reach this server.
#[derive(Debug)]
pub(super) struct OwnAddresses {
    port: u16,
    /// The scheme and the authority (host and port) of each configured URL.
    urls: Vec<(String, String)>,
}

impl OwnAddresses {
    /// Creates the addresses of a server that clients of this host reach on loopback at `port`, and other clients at
    /// `urls`.
    pub(super) fn new<'a>(port: u16, urls: impl Iterator<Item = &'a str>) -> Self {
        let parts = urls.filter_map(|url| url.split_once("://"));
        let urls = parts.map(|(scheme, rest)| {
            let authority = rest.split('/').next().unwrap_or_default();
            (scheme.to_lowercase(), authority.to_lowercase())
        });
        let urls = urls.collect();
        Self { port, urls }
    }

    fn is_host(&self, host: &str) -> bool {
        let is_loopback = host.rsplit_once(':').is_some_and(|(name, number)| {
            matches!(name, "127.0.0.1" | "localhost" | "[::1]") && number == self.port.to_string()
        });
        is_loopback || self.schemes(host).next().is_some()
    }

    /// Returns the schemes of the URLs that have this host.
    fn schemes(&self, host: &str) -> impl Iterator<Item = &str> {
        let host = host.to_lowercase();
        let urls = self.urls.iter();
        urls.filter_map(move |(scheme, authority)| (*authority == host).then_some(scheme.as_str()))
    }

    /// Returns whether `origin` is the origin of this server's own pages at `host`.
    fn is_origin(&self, origin: &str, host: &str) -> bool {
        let Some((scheme, authority)) = origin.split_once("://") else {
            return false;
        };
        let mut known = self.schemes(host).peekable();
        let has_scheme = match known.peek() {
            Some(_) => known.any(|known| known == scheme),
            None => scheme == "http",
        };
        has_scheme && authority == host
    }
}

/// Checks Host in every request, and Origin in every request that changes something.
pub(super) async fn check(
    State(own): State<Arc<OwnAddresses>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let host = header_text(request.headers(), header::HOST).unwrap_or_default();
    if !own.is_host(host) {
        return Err(foreign_header("Host", host));
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let origin = header_text(request.headers(), header::ORIGIN);
    if let Some(origin) = origin.filter(|_| changes)
        && !own.is_origin(origin, host)
    {
        return Err(foreign_header("Origin", origin));
    }
    Ok(next.run(request).await)
}

/// Which headers every response gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseHeaders {
    /// True if browsers may connect only with TLS from now on (HSTS).
    tls: bool,
}

impl ResponseHeaders {
    pub(super) fn of(controller: &Controller) -> Self {
        Self {
            tls: controller.url().starts_with("https://"),
        }
    }
}

/// One year, in seconds.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Adds security headers: browsers must not guess the content type, and under TLS they must use TLS for later requests.
pub(super) async fn protect(
    State(settings): State<ResponseHeaders>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
    if settings.tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    response
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}
