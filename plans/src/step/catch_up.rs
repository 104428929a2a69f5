//! The step `catch_up`: applies captured changes until the lag is small. The stream continues after the step.

use serde::{Deserialize, Serialize};

/// The figures of the stream when the step was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaughtUp {
    /// The number of transactions applied so far.
    pub transactions: i64,
    /// The number of row changes applied so far.
    pub changes: i64,
}
