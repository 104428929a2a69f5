//! A cutover's requests to the controller and the responses, and the transactions that prevent a cutover.

use crate::id::{AttemptNo, Epoch, MapVersion, MigrationId, ShardName};
use crate::names::Direction;
use crate::step::verify::TableVerified;
use crate::wire::WireSecret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// A request of the cutover to the control store (C2, C7, C9). The response is synchronous.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CutoverCall {
    /// The migration.
    pub migration: MigrationId,
    /// The epoch of the agent.
    pub epoch: Epoch,
    /// The secret of the dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
    /// The request.
    #[serde(rename = "ask")]
    pub query: CutoverQuery,
}

/// A transaction of another user that has written to the moving tables and does not end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongWriter {
    /// The shard.
    pub shard: ShardName,
    /// The process id of its server process.
    pub pid: i32,
    /// When the server process began, as the server prints it. The pid alone does not suffice, because it may be
    /// reused.
    pub backend_start: String,
    /// The role of the session.
    pub user: String,
    /// The `application_name`, with printable characters only.
    pub application: String,
    /// When the transaction began, to the microsecond. The session may meanwhile have another transaction.
    pub since: String,
    /// Its last statement, with `?` in place of every literal.
    pub query: String,
}

impl LongWriter {
    /// Returns true if both are the same transaction of the same process.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.shard, self.pid, &self.backend_start, &self.since)
            == (&other.shard, other.pid, &other.backend_start, &other.since)
    }
}

/// The markers of an attempt. The controller creates them, and an agent must present them to flip (ADR 48).
///
/// They are only in the response to `Begin`, and are never printed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Markers {
    /// The id of the marker that is written into the log after the fence.
    pub fenced: Uuid,
    /// The id of the marker that is written into the log after the seal.
    pub sealed: Uuid,
}

impl fmt::Debug for Markers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Markers(****)")
    }
}

/// A request of the cutover.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum CutoverQuery {
    /// C2: changes READY (or an interrupted attempt) to FENCING(n). With the direction `Reverse` it begins a rollback.
    Begin {
        /// The direction of the cutover.
        direction: Direction,
    },
    /// C7: requests the permission to seal. The controller locks the row until the flip, the release or the end of its
    /// session.
    Seal {
        /// The direction of the cutover.
        direction: Direction,
        /// The number of the attempt.
        attempt: AttemptNo,
        /// The results of the comparison that the new owner has stored, read there before the fence. `None`: protocol
        /// 3, or a rollback.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compared: Option<Vec<TableVerified>>,
    },
    /// C9: requests the flip, in the session that granted the seal.
    Flip {
        /// The direction of the cutover. A flip of the other direction is refused.
        direction: Direction,
        /// The number of the attempt.
        attempt: AttemptNo,
        /// The markers of the attempt that the new owner has applied. `None`: protocol 3, or an offline move.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        applied: Option<Markers>,
    },
    /// C1: requests the permission to end these transactions, which prevent the cutover. An empty list: none prevents
    /// it any more.
    Cancel {
        /// The transactions, in the order of their age.
        writers: Vec<LongWriter>,
    },
    /// Gives the attempt up. It is sent before the old owner is opened again.
    Release {
        /// The direction of the cutover. It determines which shard is opened after [`CutoverAnswer::Released`].
        direction: Direction,
        /// The number of the attempt.
        attempt: AttemptNo,
        /// The reason.
        reason: String,
    },
}

/// The response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum CutoverAnswer {
    /// The state is FENCING with this attempt. A flip would create the next map version.
    Begun {
        /// The number of the attempt.
        attempt: AttemptNo,
        /// The map version in force.
        map_version: MapVersion,
        /// The ids of the markers that this attempt writes. `None`: protocol 3.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        markers: Option<Markers>,
    },
    /// The request is granted.
    Granted,
    /// The operator has not decided yet.
    #[serde(rename = "asked")]
    AwaitingOperator,
    /// The map names the new owner of the requested direction, regardless of which attempt flipped.
    Flipped {
        /// The new map version.
        map_version: MapVersion,
    },
    /// This attempt can no longer flip, and the old owner owns the keys.
    Released,
    /// The response to `Begin`: the flip of this direction was committed earlier. The cutover continues with C10.
    AlreadyFlipped {
        /// The number of the attempt that succeeded.
        attempt: AttemptNo,
        /// The map version that it created.
        map_version: MapVersion,
    },
    /// The request is refused. The attempt has ended for the caller.
    Refused {
        /// The reason.
        reason: String,
    },
}
