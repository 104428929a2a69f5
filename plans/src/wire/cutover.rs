//! What a cutover asks of the controller and is answered, and the writers that keep it from starting.

use crate::id::{AttemptNo, Epoch, MapVersion, MigrationId, ShardName};
use crate::names::Direction;
use crate::step::verify::TableVerified;
use crate::wire::WireSecret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// What the cutover asks of the control store (C2, C7, C9); answered synchronously.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CutoverCall {
    /// The migration.
    pub migration: MigrationId,
    /// The caller's epoch.
    pub epoch: Epoch,
    /// What came with the dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<WireSecret>,
    /// What it asks.
    #[serde(rename = "ask")]
    pub query: CutoverQuery,
}

/// A transaction of somebody else that has written to the moving tables and does not end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongWriter {
    /// The shard.
    pub shard: ShardName,
    /// Its server process.
    pub pid: i32,
    /// When the process began, as the server prints it: a pid alone may be somebody else's by now.
    pub backend_start: String,
    /// Who.
    pub user: String,
    /// `application_name`, of letters that can be printed.
    pub application: String,
    /// Since when its transaction is open, to the microsecond: its session may be in another one by now.
    pub since: String,
    /// Its last statement, every literal replaced by `?`.
    pub query: String,
}

impl LongWriter {
    /// True when both are the same transaction of the same process.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (&self.shard, self.pid, &self.backend_start, &self.since)
            == (&other.shard, other.pid, &other.backend_start, &other.since)
    }
}

/// The markers of an attempt: the controller draws them, and whoever flips shows them (ADR 48).
///
/// They are told in the answer to `Begin` alone, and never printed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Markers {
    /// Written into the log behind the fence.
    pub fenced: Uuid,
    /// Written into the log behind the seal.
    pub sealed: Uuid,
}

impl fmt::Debug for Markers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Markers(****)")
    }
}

/// What the cutover asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum CutoverQuery {
    /// C2: READY (or an interrupted attempt) to FENCING(n); `Reverse` asks for the way back.
    Begin {
        /// Which cutover.
        direction: Direction,
    },
    /// C7: may the source be sealed? The controller locks the row until the flip, the release or the loss of its session.
    Seal {
        /// Which cutover.
        direction: Direction,
        /// The attempt.
        attempt: AttemptNo,
        /// What the gaining shard has recorded of the comparison, read there before the fence; `None`: protocol 3, or a
        /// way back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compared: Option<Vec<TableVerified>>,
    },
    /// C9: the flip, in the session that granted the seal.
    Flip {
        /// Which cutover: a flip of the other direction is never taken for this one.
        direction: Direction,
        /// The attempt.
        attempt: AttemptNo,
        /// The markers of the attempt that the gaining shard has applied; `None`: protocol 3, or an offline move.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        applied: Option<Markers>,
    },
    /// C1: may these writers be ended, which keep the cutover from starting? An empty list: nobody is in the way any more.
    Cancel {
        /// The writers, by how long they have been open.
        writers: Vec<LongWriter>,
    },
    /// The attempt is given up; asked before the shard that would lose the keys is reopened.
    Release {
        /// Which cutover: it says which shard is opened after [`CutoverAnswer::Released`].
        direction: Direction,
        /// The attempt.
        attempt: AttemptNo,
        /// Why.
        reason: String,
    },
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum CutoverAnswer {
    /// FENCING under this number; a flip would make this map version.
    Begun {
        /// The attempt.
        attempt: AttemptNo,
        /// The map version that is valid now.
        map_version: MapVersion,
        /// The ids of the markers that this attempt writes; `None`: protocol 3.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        markers: Option<Markers>,
    },
    /// What was asked is allowed.
    Granted,
    /// The operator has not answered yet.
    #[serde(rename = "asked")]
    AwaitingOperator,
    /// The map names the shard that gains the keys in the direction asked for, whichever attempt gave them to it.
    Flipped {
        /// The new version.
        map_version: MapVersion,
    },
    /// Nothing of this attempt will be flipped any more, and the shard that would have lost the keys owns them.
    Released,
    /// Answer to `Begin`: the flip of this direction was committed before; only forward from here (C10).
    AlreadyFlipped {
        /// The attempt that went through.
        attempt: AttemptNo,
        /// The version that it made.
        map_version: MapVersion,
    },
    /// Not possible; the attempt is over for the caller.
    Refused {
        /// Why.
        reason: String,
    },
}
