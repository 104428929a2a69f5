//! Tokens: made, listed, taken back.

use super::extract::Path;
use super::migrations::{Created, Order, created};
use super::{ApiError, actor, json, json_or_default};
use crate::controller::Controller;
use crate::store::TokenRecord;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token that was just made: the only time that it is told.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Issued {
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
) -> Result<Created<Issued>, ApiError> {
    let made = controller
        .create_token(&json(&body)?, actor(&headers))
        .await?;
    let (record, secret) = made;
    Ok(created(Issued {
        record,
        token: secret.reveal().to_owned(),
    }))
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
    let order: Order = json_or_default(&body)?;
    let reason = order.reason.as_deref();
    let revoked = controller.revoke_token(&name, actor(&headers), reason);
    Ok(Json(revoked.await?))
}
