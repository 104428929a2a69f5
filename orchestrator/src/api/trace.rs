//! The id of each request. Log lines of the request are in a span with this id, and the response contains it.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

/// The header with the id.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// A longer id of the client is not used.
const LONGEST: usize = 64;

/// Handles the request in its span. If the client sends an id, it is used.
pub(super) async fn trace(request: Request, next: Next) -> Response {
    let id = named(&request).unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    let route = request.extensions().get::<MatchedPath>();
    let span = tracing::info_span!(
        "http.request",
        request.id = %id,
        method = %request.method(),
        route = route.map_or("", MatchedPath::as_str),
    );
    let mut response = next.run(request).instrument(span).await;
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, id);
    }
    response
}

fn named(request: &Request) -> Option<String> {
    let header = request.headers().get(HEADER)?.to_str().ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = (1..=LONGEST).contains(&header.len()) && header.chars().all(plain);
    fits.then(|| header.to_owned())
}
