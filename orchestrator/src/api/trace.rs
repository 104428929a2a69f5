//! The id of each request. Log lines of the request are in a span with this id, and the response contains it.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

/// The header with the id.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id of a client that is used.
const MAX_ID: usize = 64;

/// Handles the request in its span. The id is that of the client if it sends a valid one, otherwise a new one.
pub(super) async fn trace(request: Request, next: Next) -> Response {
    let id = client_id(&request).unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
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

/// Returns the id that the client sent, if it has a valid form.
fn client_id(request: &Request) -> Option<String> {
    let header = request.headers().get(HEADER)?.to_str().ok()?;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_valid = (1..=MAX_ID).contains(&header.len()) && header.chars().all(is_allowed);
    is_valid.then(|| header.to_owned())
}
