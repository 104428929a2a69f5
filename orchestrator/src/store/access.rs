//! Tokens and sessions, as the store keeps them.

use crate::access::{Role, SecretDigest};
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A token; what is secret of it is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRecord {
    /// Its id.
    pub id: String,
    /// What the journals call its holder.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// Of an agent's token: labels that shards must carry.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// By this it is found.
    #[serde(skip)]
    pub digest: SecretDigest,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
    /// From when on it is none; `None`: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<DateTime<Utc>>,
    /// When it was taken back, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<DateTime<Utc>>,
    /// Who took it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
}

impl TokenRecord {
    /// Whether it opens anything at `now`.
    #[must_use]
    pub fn is_good(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.ends_at.is_none_or(|end| now < end)
    }
}

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Of its cookie.
    pub digest: SecretDigest,
    /// Id of the token that it began with.
    pub token: String,
    /// When.
    pub started_at: DateTime<Utc>,
    /// When it ends.
    pub ends_at: DateTime<Utc>,
}
