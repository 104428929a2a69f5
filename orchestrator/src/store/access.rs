//! Access tokens and dashboard sessions, as the store keeps them.

use crate::access::{Role, SecretDigest};
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// Returns whether the token is valid at `now`.
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
