//! Extracts the parameters of a request for handlers. Invalid ones are reported as problem documents.

use super::ApiError;
use crate::controller::ControlError;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::fmt::Display;

/// The query parameters.
pub(super) struct Query<T>(pub(super) T);

/// The path parameters.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let extracted = axum::extract::Query::from_request_parts(parts, state).await;
        extracted
            .map(|query| Self(query.0))
            .map_err(|rejection| invalid(&rejection.body_text()))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let extracted = axum::extract::Path::from_request_parts(parts, state).await;
        extracted
            .map(|path| Self(path.0))
            .map_err(|rejection| invalid(&rejection.body_text()))
    }
}

fn invalid(what: &impl Display) -> ApiError {
    let what = what.to_string();
    ControlError::Invalid { what }.into()
}
