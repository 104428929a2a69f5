//! Lets in what a browser on this machine could mean: the right Host, and for changes no foreign Origin.
//!
//! Without it a page of anybody could speak to the controller through the operator's browser.

use super::error::{ApiError, no_foreigner};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::Response;

/// Checks Host on every request and Origin on every one that changes something.
pub(super) async fn check(
    State(port): State<u16>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let host = header_text(request.headers(), header::HOST).unwrap_or_default();
    if !is_ours(host, port) {
        return Err(no_foreigner("Host", host));
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let origin = header_text(request.headers(), header::ORIGIN);
    if let Some(origin) = origin.filter(|_| changes)
        && origin.strip_prefix("http://") != Some(host)
    {
        return Err(no_foreigner("Origin", origin));
    }
    Ok(next.run(request).await)
}

fn is_ours(host: &str, port: u16) -> bool {
    let Some((name, number)) = host.rsplit_once(':') else {
        return false;
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]") && number == port.to_string()
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}
