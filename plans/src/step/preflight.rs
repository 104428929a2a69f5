//! Preflight: everything that stands in the way, at once, before anything is created.

use crate::failure::Finding;
use serde::{Deserialize, Serialize};

/// What preflight returns when nothing is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preflighted {
    /// Warnings and notes.
    pub findings: Vec<Finding>,
    /// `system_identifier` and timeline of the source (I10).
    pub source: Identity,
    /// `system_identifier` and timeline of the target (I10).
    pub target: Identity,
}

/// Which server this is; a promoted standby has a new timeline.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Identity {
    /// `system_identifier` of the cluster.
    pub system: String,
    /// Timeline id.
    pub timeline: i32,
}
