//! Errors of idempotency keys.

use super::ApiError;
use axum::http::StatusCode;

/// The command with this key has not ended yet.
pub(crate) const IN_PROGRESS: &str = "idempotency.under_way";

pub(crate) fn no_key() -> ApiError {
    let detail = "the Idempotency-Key has 1 to 255 visible characters".to_owned();
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency.key", detail)
}

pub(crate) fn key_not_allowed(method: &str, pattern: &str) -> ApiError {
    let detail = format!("{method} {pattern} takes no Idempotency-Key");
    ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "idempotency.not_here",
        detail,
    )
    .hint(
        "it orders nothing, or its answer holds a secret that is never kept: leave the header out",
    )
}

pub(crate) fn key_of_another_command() -> ApiError {
    let detail = "this Idempotency-Key was given to another order".to_owned();
    ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "idempotency.reused",
        detail,
    )
    .hint("give each order a key of its own")
}

pub(crate) fn in_progress() -> ApiError {
    let detail = "the order with this Idempotency-Key is being carried out".to_owned();
    ApiError::new(StatusCode::CONFLICT, IN_PROGRESS, detail)
        .hint("ask again in a moment: the same answer comes")
}

pub(crate) fn unknown_outcome() -> ApiError {
    let detail = "the order with this Idempotency-Key was begun, and the controller that carried it out was lost before it answered".to_owned();
    ApiError::new(StatusCode::CONFLICT, "idempotency.unknown", detail)
        .hint("look whether it was done; if it was not, order it again with another key")
}
