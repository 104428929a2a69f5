//! Who requested a rollback, when, and why, from the journal.

use crate::store::{Event, HoldEnd};
use crate::view::MigrationView;
use crate::view::figures::moment;
use plans::state::cutover::Ownership;

/// The request of a rollback.
pub(super) struct RollbackRequest {
    by: String,
    /// When it was requested, as HTML.
    pub(super) at: String,
    reason: Option<String>,
}

impl RollbackRequest {
    /// Returns the newest request, if the keys are, or will be, back on the source because of it.
    pub(super) fn new(view: &MigrationView, events: &[Event]) -> Option<Self> {
        let is_back = match view.summary.ownership {
            Ownership::RollbackFencing | Ownership::RolledBack => true,
            Ownership::Flipped => view.hold_end == Some(HoldEnd::Rollback),
            Ownership::Ready | Ownership::Fencing | Ownership::Aborted | Ownership::Completed => {
                false
            }
        };
        let mut newest_first = events.iter().rev().filter(|_| is_back);
        let event = newest_first.find(|event| is_rollback_request(event))?;
        let reason = event.data.get("reason").and_then(|reason| reason.as_str());
        Some(Self {
            by: event.actor.clone(),
            at: moment(event.at),
            reason: reason.map(str::to_owned),
        })
    }

    /// Returns who requested it.
    pub(super) fn by(&self) -> &str {
        &self.by
    }

    /// Returns the reason, or that there is none.
    pub(super) fn why(&self) -> String {
        match &self.reason {
            Some(reason) => format!("reason: “{reason}”"),
            None => "no reason was given".to_owned(),
        }
    }
}

fn is_rollback_request(event: &Event) -> bool {
    let end = event.data.get("end").and_then(|end| end.as_str());
    event.kind == "hold.ended" && end == Some(HoldEnd::Rollback.name())
}
