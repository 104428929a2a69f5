//! Open capture: from here on every change of a moving key is kept for the target.
//!
//! Order: TRUNCATE guard and row guards, publication, then slot (a publication made after it kills the stream).
//! The slot's exported snapshot is held by two sleeping sessions, so that it outlives an agent.

use serde::{Deserialize, Serialize};

/// What the copy needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaptureOpened {
    /// The slot's consistent point.
    pub consistent_point: String,
}
