//! The steps `hold` and `hold_back`: a stream keeps the rows of the shard current that does not own the keys any more.

use serde::{Deserialize, Serialize};

use crate::identity::DatabaseIdentity;

/// The result of the steps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    /// The server of the source that was promoted in the hold, and on which the stream continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<DatabaseIdentity>,
    /// The same for the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<DatabaseIdentity>,
}
