//! Tokens: made, listed, taken back.

use super::extract::Path;
use super::migrations::{CommandReason, created};
use super::{ApiError, actor, json, json_or_default};
use crate::access::Visitor;
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

/// A secret is in no cache.
const NOT_KEPT: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// A token that was just made: the only time that it is told.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct IssuedToken {
    /// What is kept of it.
    #[serde(flatten)]
    pub record: TokenRecord,
    /// The token.
    pub token: String,
}

/// Makes one.
pub(super) async fn create(
    State(controller): State<Controller>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<impl IntoResponse, ApiError> {
    let made = controller
        .create_token(&json(&body)?, actor(&headers))
        .await?;
    let (record, secret) = made;
    let issued = created(IssuedToken {
        record,
        token: secret.reveal().to_owned(),
    });
    Ok((NOT_KEPT, issued))
}

/// Where a browser signs in without a token being typed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SignInCode {
    /// Path and query on this controller; it signs in once. Where no token is asked for, the overview.
    pub path: String,
    /// When it counts no more.
    pub ends_at: Option<DateTime<Utc>>,
}

/// Makes a code for who shows a person's token.
pub(super) async fn sign_in_code(
    State(controller): State<Controller>,
    Extension(visitor): Extension<Visitor>,
) -> Result<impl IntoResponse, ApiError> {
    let made = controller.sign_in_code(&visitor).await?;
    let code = match made {
        Some((code, ends_at)) => SignInCode {
            path: format!("/sign-in?code={}", code.reveal()),
            ends_at: Some(ends_at),
        },
        None => SignInCode {
            path: "/".to_owned(),
            ends_at: None,
        },
    };
    Ok((NOT_KEPT, Json(code)))
}

/// All, those that were revoked too.
pub(super) async fn list(
    State(controller): State<Controller>,
) -> Result<Json<Vec<TokenRecord>>, ApiError> {
    Ok(Json(controller.store().tokens().await?))
}

/// Takes one back.
pub(super) async fn revoke(
    State(controller): State<Controller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<TokenRecord>, ApiError> {
    let reason: CommandReason = json_or_default(&body)?;
    let reason = reason.reason.as_deref();
    let revoked = controller.revoke_token(&name, actor(&headers), reason);
    Ok(Json(revoked.await?))
}
