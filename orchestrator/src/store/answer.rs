//! Orders that come with a key, and what was answered to them.

use crate::access::SecretDigest;
use chrono::{DateTime, TimeDelta, Utc};

/// How long an answer is kept.
pub(super) const KEPT_FOR: TimeDelta = TimeDelta::hours(24);

/// An order that came with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyedCommand {
    /// Of who gave it, and the key.
    pub key: SecretDigest,
    /// Of what it says.
    pub fingerprint: SecretDigest,
    /// When it came.
    pub at: DateTime<Utc>,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The status.
    pub status: u16,
    /// The media type.
    pub kind: String,
    /// The body.
    pub body: Vec<u8>,
}

/// What is known of an order that came before with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierCommand {
    /// Of what it said.
    pub fingerprint: SecretDigest,
    /// What was answered; `None`: it has begun, and maybe was never ended.
    pub answer: Option<KeptAnswer>,
}
