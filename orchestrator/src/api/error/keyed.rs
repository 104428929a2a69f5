//! Errors of idempotency keys.

use super::ApiError;
use axum::http::StatusCode;

/// The command with this key has not ended yet.
pub(crate) const IN_PROGRESS: &str = "idempotency.under_way";

pub(crate) fn invalid_key() -> ApiError {
    let detail = "an Idempotency-Key must have 1 to 255 visible characters".to_owned();
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency.key", detail)
}

pub(crate) fn key_not_allowed(method: &str, pattern: &str) -> ApiError {
    let detail = format!("{method} {pattern} does not accept an Idempotency-Key");
    ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "idempotency.not_here",
        detail,
    )
    .hint(
        "leave out the header: the request changes nothing, or its answer contains a secret that must not be stored",
    )
}

pub(crate) fn key_of_another_command() -> ApiError {
    let detail = "another command was sent with this Idempotency-Key".to_owned();
    ApiError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "idempotency.reused",
        detail,
    )
    .hint("use a new key for each command")
}

pub(crate) fn in_progress() -> ApiError {
    let detail = "the command with this Idempotency-Key is being carried out".to_owned();
    ApiError::new(StatusCode::CONFLICT, IN_PROGRESS, detail)
        .hint("send the command again in a moment with the same key, to get its answer")
}

pub(crate) fn unknown_outcome() -> ApiError {
    let detail = "the command with this Idempotency-Key was begun, and the controller ended before it stored an answer".to_owned();
    ApiError::new(StatusCode::CONFLICT, "idempotency.unknown", detail).hint(
        "check whether the command was carried out; if it was not, send it again with another key",
    )
}
