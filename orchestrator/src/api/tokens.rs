//! Access tokens: create, list and revoke them.

use super::extract::Path;
use super::migrations::{CommandReason, created};
use super::{ApiError, actor, json, json_or_default};
use crate::access::Caller;
use crate::controller::Controller;
use crate::store::TokenRecord;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The header that forbids caches to store a response. It is for responses that contain a secret.
const NO_STORE: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// A token that was just created. No other response contains the secret.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct IssuedToken {
    /// The record that the store keeps. It does not contain the secret.
    #[serde(flatten)]
    pub record: TokenRecord,
    /// The secret.
    pub token: String,
}

/// Creates a token.
pub(super) async fn create(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<impl IntoResponse, ApiError> {
    let created_token = controller
        .create_token(&json(&body)?, actor(&headers))
        .await?;
    let (record, secret) = created_token;
    let issued = created(IssuedToken {
        record,
        token: secret.reveal().to_owned(),
    });
    Ok((NO_STORE, issued))
}

/// A link with which a browser signs in without a typed token.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SignInCode {
    /// The path and query on this controller. The link can be used once. If no token is required, it is the overview
    /// page.
    pub path: String,
    /// When the link expires.
    pub ends_at: Option<DateTime<Utc>>,
}

/// Creates a sign-in link for a client with a person's token.
pub(super) async fn sign_in_code(
    State(controller): State<Controller>,
    Extension(caller): Extension<Caller>,
) -> Result<impl IntoResponse, ApiError> {
    let created_code = controller.sign_in_code(&caller).await?;
    let code = match created_code {
        Some((code, ends_at)) => SignInCode {
            path: format!("/sign-in?code={}", code.reveal()),
            ends_at: Some(ends_at),
        },
        None => SignInCode {
            path: "/".to_owned(),
            ends_at: None,
        },
    };
    Ok((NO_STORE, Json(code)))
}

/// Returns all tokens, including revoked ones.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<TokenRecord>>, ApiError> {
    Ok(Json(controller.store().tokens().await?))
}

/// Revokes a token.
pub(super) async fn revoke(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<TokenRecord>, ApiError> {
    let parameters: CommandReason = json_or_default(&body)?;
    let reason = parameters.reason.as_deref();
    let revoked = controller.revoke_token(&name, actor(&headers), reason);
    Ok(Json(revoked.await?))
}
