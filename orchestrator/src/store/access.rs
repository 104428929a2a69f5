//! Access tokens, dashboard sessions and the audit trail, as the store keeps them.

use super::StoreFuture;
use crate::access::{Role, SecretDigest};
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An access token. The store keeps only a digest of its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRecord {
    /// The id of the token.
    pub id: String,
    /// The name of the token's holder in the journal and the audit trail.
    pub name: String,
    /// The role, which determines what the token permits.
    pub role: Role,
    /// Only for an agent's token: labels that a shard must have so that the agent may work on it.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The digest of the secret, by which the store finds the token.
    #[serde(skip)]
    pub digest: SecretDigest,
    /// When the token was created.
    pub created_at: DateTime<Utc>,
    /// The name of the operator who created the token.
    pub created_by: String,
    /// When the token expires; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<DateTime<Utc>>,
    /// When the token was revoked; `None`: it is not revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<DateTime<Utc>>,
    /// The name of the operator who revoked the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
}

impl TokenRecord {
    /// Returns whether the token is valid at `now`: neither revoked nor expired.
    #[must_use]
    pub fn is_good(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.ends_at.is_none_or(|end| now < end)
    }
}

/// A signed-in browser session of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// The digest of the session's cookie.
    pub digest: SecretDigest,
    /// The id of the token with which the session was opened.
    pub token: String,
    /// When the session began.
    pub started_at: DateTime<Utc>,
    /// When the session ends.
    pub ends_at: DateTime<Utc>,
}

/// A change that an operator made outside of migrations, for the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// When the change was made.
    pub at: DateTime<Utc>,
    /// The user who made the change.
    pub actor: String,
    /// The kind of change, in `noun.verb` form.
    pub action: String,
    /// The changed object, as in `shard a` or `map tenants`.
    pub object: String,
    /// Details of the change.
    pub data: Value,
}

/// A numbered line of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    /// The number of the line. Later lines have greater numbers.
    pub line: i64,
    /// The recorded change.
    #[serde(flatten)]
    pub record: AuditRecord,
}

/// The audit trail, access tokens and dashboard sessions.
pub trait AccessStore: Send + Sync + std::fmt::Debug {
    /// Adds a line to the audit trail. The line is durable when the call returns.
    fn add_audit<'a>(&'a self, record: &'a AuditRecord) -> StoreFuture<'a, ()>;

    /// Returns up to `limit` lines of the audit trail, newest first: those with a number below `before`, or the newest.
    fn audit(&self, limit: i64, before: Option<i64>) -> StoreFuture<'_, Vec<AuditLine>>;

    /// Stores a token, durably. Fails with [`StoreError::Exists`] if a token with this name exists and is not revoked.
    fn add_token<'a>(&'a self, token: &'a TokenRecord) -> StoreFuture<'a, ()>;

    /// Returns every token, oldest first, including revoked ones.
    fn tokens(&self) -> StoreFuture<'_, Vec<TokenRecord>>;

    /// Revokes the token with this name, durably. Fails with [`StoreError::Missing`] if no such token exists.
    fn revoke_token<'a>(
        &'a self,
        name: &'a str,
        by: &'a str,
        at: DateTime<Utc>,
    ) -> StoreFuture<'a, TokenRecord>;

    /// Stores a session of the dashboard, and deletes sessions that ended before this one began.
    fn add_session<'a>(&'a self, session: &'a SessionRecord) -> StoreFuture<'a, ()>;

    /// Returns the session with this digest, even if it has ended.
    fn session(&self, digest: SecretDigest) -> StoreFuture<'_, Option<SessionRecord>>;

    /// Deletes a session. Returns whether it existed: if two callers end the same session, only one gets `true`.
    fn end_session(&self, digest: SecretDigest) -> StoreFuture<'_, bool>;
}
