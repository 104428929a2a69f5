//! The step `set_read_only` of an offline move: from now on the source refuses writes to the moving keys.
//!
//! If a standby of the source was promoted later, the step runs again: the standby may lack the refusal, and rows that
//! were copied.

use serde::{Deserialize, Serialize};

use crate::identity::DatabaseIdentity;

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReadOnly {
    /// How long the step waited for transactions that had already written, in milliseconds.
    pub waited_ms: u64,
    /// The server of the source that refuses the writes, if the agent has recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<DatabaseIdentity>,
}
