//! A name for each request: what it does is logged in a span of that name, and the answer bears it.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

/// The header with the name.
const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// Longer ones of the caller's are not used.
const LONGEST: usize = 64;

/// Runs the request in its span; a caller that has a name for it is followed.
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
