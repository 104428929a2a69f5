//! Preflight: everything that stands in the way, at once, before anything is created.

use crate::doctor::Finding;
use crate::identity::DatabaseIdentity;
use serde::{Deserialize, Serialize};

/// What preflight returns when nothing is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preflighted {
    /// Warnings and notes.
    pub findings: Vec<Finding>,
    /// Which database the source is (I10).
    pub source: DatabaseIdentity,
    /// Which database the target is (I10).
    pub target: DatabaseIdentity,
}
