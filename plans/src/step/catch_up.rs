//! Catch up: apply captured changes until the lag is small; the stream goes on afterwards.

use serde::{Deserialize, Serialize};

/// Where the stream stood when the step was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaughtUp {
    /// Transactions applied so far.
    pub transactions: i64,
    /// Row changes applied so far.
    pub changes: i64,
}
