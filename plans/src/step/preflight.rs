//! The step `preflight`: reports everything that prevents the move, before anything is created.

use crate::doctor::Finding;
use crate::identity::DatabaseIdentity;
use serde::{Deserialize, Serialize};

/// The result of the step, if nothing is refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preflighted {
    /// Warnings and notes.
    pub findings: Vec<Finding>,
    /// The identity of the source's database (I10).
    pub source: DatabaseIdentity,
    /// The identity of the target's database (I10).
    pub target: DatabaseIdentity,
}
