//! The step `promote`: the physical standby of the source becomes the target of the move.
//!
//! The standby is promoted when it has replayed everything that the migration created on the source. It then contains
//! exactly the transactions whose commit ends at or before the switch point; the stream applies the later ones.

use serde::{Deserialize, Serialize};

use crate::identity::DatabaseIdentity;

/// The result of the step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Promoted {
    /// The identity of the target's database since the promotion.
    pub target: DatabaseIdentity,
    /// The switch point: the position in the source's log where the log of the target branches off.
    pub switch_point: String,
    /// The physical replication slot on the source from which the standby streamed, if it used one. The source retains
    /// log for it until the operator drops it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_slot: Option<String>,
    /// The number of prepared transactions that were copies of the source's and were rolled back on the target.
    #[serde(default)]
    pub rolled_back: u64,
}
