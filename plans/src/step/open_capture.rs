//! The step `open_capture`: from now on the slot retains every change of a moving key.
//!
//! It creates the TRUNCATE guard and the row guards, then the publication, then the slot. If the publication were
//! created after the slot, the stream would fail. Two idle sessions hold the slot's exported snapshot, so that it
//! survives a restart of the agent.

use serde::{Deserialize, Serialize};

use crate::id::Epoch;
use crate::identity::DatabaseIdentity;

/// The data that the copy needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaptureOpened {
    /// The slot's consistent point.
    pub consistent_point: String,
    /// The server of the source on which the slot was created, if the agent has recorded it. The server of the
    /// preflight may be another one: a standby may have been promoted since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<DatabaseIdentity>,
    /// The position at which the log of a promoted standby branched off, if the stream continues there with the slot
    /// that existed before. The migration lost nothing then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<String>,
    /// The epoch in which the slot was created, or in which the stream continued on another server. A spool that was
    /// written in an earlier epoch has changes that the stream must not apply.
    #[serde(default)]
    pub epoch: Epoch,
    /// As [`crate::step::create_target::TargetCreated::cascades`], for a move that is seeded from a standby.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cascades: bool,
}
