//! The step `open_capture`: from now on the slot retains every change of a moving key.
//!
//! It creates the TRUNCATE guard and the row guards, then the publication, then the slot. If the publication were
//! created after the slot, the stream would fail. Two idle sessions hold the slot's exported snapshot, so that it
//! survives a restart of the agent.

use serde::{Deserialize, Serialize};

/// The data that the copy needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaptureOpened {
    /// The slot's consistent point.
    pub consistent_point: String,
    /// As [`crate::step::create_target::TargetCreated::cascades`], for a move that is seeded from a standby.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cascades: bool,
}
