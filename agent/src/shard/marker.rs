//! Markers: transactional logical messages that name a point in a change stream.
//!
//! A position in the log does not show whether earlier commits, which were acknowledged, have been decoded. A marker
//! that has arrived proves that every commit before it has arrived.

use connect::Connected;
use plans::id::{AttemptNo, Epoch, MigrationId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::epoch::{self, EpochProof, EpochToken};
use crate::error::{StepError, WithIntent};
use plans::names::MARKER_PREFIX;
use plans::sql::quote_literal;

/// The content of a marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) migration: MigrationId,
    pub(crate) epoch: Epoch,
    /// 0 outside of a cutover.
    pub(crate) attempt: AttemptNo,
    pub(crate) kind: MarkerKind,
    /// Random, so that no marker is mistaken for another (R2).
    pub(crate) id: Uuid,
}

/// The purpose of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MarkerKind {
    /// Measures the lag of the stream.
    Probe,
    /// The point after which the applier is parked.
    Park,
    /// G2: everything that a snapshot saw is durable.
    Barrier,
    /// C5: every write before the fence comes before this marker.
    Fenced,
    /// C8: every write before the seal comes before this marker.
    Sealed,
    /// C10: the changes after this marker on this shard are the application's own.
    Opened,
}

impl Marker {
    /// Returns a marker with a random id.
    pub(crate) fn new(token: &EpochToken, attempt: AttemptNo, kind: MarkerKind) -> Self {
        Self {
            migration: token.migration.clone(),
            epoch: token.epoch,
            attempt,
            kind,
            id: Uuid::new_v4(),
        }
    }

    /// Returns the marker with the given id, if there is one.
    pub(crate) fn with_id(self, id: Option<Uuid>) -> Self {
        Self {
            id: id.unwrap_or(self.id),
            ..self
        }
    }

    /// Parses the content of a message. Returns `None` if the message is not a marker.
    pub(crate) fn parse(prefix: &str, content: &[u8]) -> Option<Self> {
        (prefix == MARKER_PREFIX)
            .then(|| serde_json::from_slice(content).ok())
            .flatten()
    }

    /// Writes the marker in a transaction that proves the epoch, and commits it synchronously.
    pub(crate) async fn emit(
        &self,
        client: &Connected,
        token: &EpochToken,
    ) -> Result<(), StepError> {
        let shard = client.name();
        let what = format!("shard {shard}: writing a marker");
        epoch::transact(client, token, EpochProof::Work, &self.sql(), &what)
            .await
            .map(|_| ())
    }

    /// Writes the marker in the caller's transaction, which has proved its epoch, and commits it.
    pub(crate) async fn write_and_commit(&self, client: &Connected) -> Result<(), StepError> {
        let shard = client.name();
        let what = format!("shard {shard}: writing a marker");
        client
            .batch_execute(&format!("{}; commit", self.sql()))
            .await
            .at(&what)
    }

    /// Returns the content of the message.
    pub(crate) fn content(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// Returns the statement that writes the marker.
    pub(crate) fn sql(&self) -> String {
        let content = quote_literal(&self.content());
        format!(
            "select pg_catalog.pg_logical_emit_message(true, '{MARKER_PREFIX}', {content}::text)"
        )
    }
}
