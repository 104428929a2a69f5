//! Markers: transactional logical messages that name a point in a change stream.
//!
//! A position in the log says nothing about commits that are acknowledged but not yet written;
//! a marker that has arrived proves that everything committed before it has arrived.

use connect::Connected;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::epoch::{self, EpochProof, EpochToken};
use crate::error::{StepError, WithIntent};
use plans::names::MARKER_PREFIX;
use plans::sql::quote_literal;

/// What a marker says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) migration: String,
    pub(crate) epoch: i64,
    pub(crate) attempt: i64,
    pub(crate) kind: MarkerKind,
    /// Random, so that no marker is taken for another (R2).
    pub(crate) id: Uuid,
}

/// What a marker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MarkerKind {
    /// Measures how far behind the stream is.
    Probe,
    /// A point after which the applier has parked.
    Park,
    /// G2: everything that a snapshot saw is durable.
    Barrier,
    /// C5: everything written before the fence lies before it.
    Fenced,
    /// C8: everything written before the seal lies before it.
    Sealed,
    /// C10: what follows on this shard is the application's own.
    Opened,
}

impl Marker {
    pub(crate) fn new(token: &EpochToken, attempt: i64, kind: MarkerKind) -> Self {
        Self {
            migration: token.migration.0.clone(),
            epoch: token.epoch.0,
            attempt,
            kind,
            id: Uuid::new_v4(),
        }
    }

    /// The same with an id that somebody else drew, where there is one.
    pub(crate) fn with_id(self, id: Option<Uuid>) -> Self {
        Self {
            id: id.unwrap_or(self.id),
            ..self
        }
    }

    /// Reads a marker of ours out of a message's content.
    pub(crate) fn parse(prefix: &str, content: &[u8]) -> Option<Self> {
        (prefix == MARKER_PREFIX)
            .then(|| serde_json::from_slice(content).ok())
            .flatten()
    }

    /// Writes the marker under the epoch and commits it synchronously.
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

    /// Writes the marker into a transaction that has proved its epoch, and commits it.
    pub(crate) async fn write_and_commit(&self, client: &Connected) -> Result<(), StepError> {
        let shard = client.name();
        let what = format!("shard {shard}: writing a marker");
        client
            .batch_execute(&format!("{}; commit", self.sql()))
            .await
            .at(&what)
    }

    /// What the message says.
    pub(crate) fn content(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// The statement that writes it.
    pub(crate) fn sql(&self) -> String {
        let content = quote_literal(&self.content());
        format!(
            "select pg_catalog.pg_logical_emit_message(true, '{MARKER_PREFIX}', {content}::text)"
        )
    }
}
