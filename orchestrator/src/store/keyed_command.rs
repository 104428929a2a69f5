//! Commands with an idempotency key, and the responses to them.

use super::StoreFuture;
use crate::access::SecretDigest;
use chrono::{DateTime, TimeDelta, Utc};

/// How long a response is kept.
pub(super) const KEPT_FOR: TimeDelta = TimeDelta::hours(24);

/// A command that came with an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyedCommand {
    /// The digest of the client's name and the key.
    pub key: SecretDigest,
    /// The digest of the request.
    pub fingerprint: SecretDigest,
    /// When the command arrived.
    pub at: DateTime<Utc>,
}

/// The stored HTTP response to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// The HTTP status.
    pub status: u16,
    /// The media type.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// An earlier command with the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierCommand {
    /// The digest of the earlier request.
    pub fingerprint: SecretDigest,
    /// The response; `None`: the command has begun, and possibly never ended.
    pub response: Option<StoredResponse>,
}

/// Commands with an idempotency key, and the responses to them.
pub trait CommandStore: Send + Sync + std::fmt::Debug {
    /// Records that a command with an idempotency key begins, and deletes records that are older than one day. If a
    /// command with the same key was recorded before, returns that record and leaves it unchanged.
    fn begin_command<'a>(
        &'a self,
        command: &'a KeyedCommand,
    ) -> StoreFuture<'a, Option<EarlierCommand>>;

    /// Stores the response to a command with an idempotency key.
    fn store_response<'a>(
        &'a self,
        key: SecretDigest,
        response: &'a StoredResponse,
    ) -> StoreFuture<'a, ()>;

    /// Deletes the record of a command with an idempotency key, because the command changed nothing.
    fn forget_command(&self, key: SecretDigest) -> StoreFuture<'_, ()>;
}
