//! Checks that a standby, and the server that it becomes, accepted no write to a key that it did not own (I1).

use crate::ledger::{AcceptedWrite, RefusedWrites};
use serde::{Deserialize, Serialize};

/// The writes that clients tried on a standby that becomes the target.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StandbyWrites {
    /// The number of writes that were refused because the server was a standby.
    pub read_only: u64,
    /// The number of writes that a guard refused after the promotion.
    pub by_guard: u64,
    /// The number of writes that failed for another reason.
    pub failed: u64,
    /// The number of accepted writes to keys that the server did not own. Each of them is a violation.
    pub accepted: u64,
}

impl StandbyWrites {
    pub(super) fn add_refused(&mut self, refused: &RefusedWrites) {
        self.read_only += refused.read_only;
        self.by_guard += refused.by_guard;
        self.failed += refused.failed;
    }

    pub(super) fn add_accepted(&mut self, _accepted: &AcceptedWrite) {
        self.accepted += 1;
    }

    /// Returns the result as text, or `None` if no client tried to write.
    pub(crate) fn text(&self) -> Option<String> {
        (*self != Self::default()).then(|| {
            format!(
                "Standby      refused {} writes before the promotion and {} by guards after it, {} failed otherwise; accepted {} writes to keys that it did not own.",
                self.read_only, self.by_guard, self.failed, self.accepted
            )
        })
    }
}
