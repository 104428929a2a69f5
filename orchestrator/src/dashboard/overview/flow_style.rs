//! How the arrow of a move is drawn.

use crate::view::MigrationView;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;

/// How the arrow of a move is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowStyle {
    /// An agent works.
    Busy,
    /// The move has started, and does not continue now.
    Idle,
    /// The target owns the keys, and the old rows are kept.
    Held,
    /// The source owns the keys again, and the copy is kept.
    RolledBack,
}

impl FlowStyle {
    /// Returns the style of a move; `None` if it has not started or has ended.
    pub(super) fn of(view: &MigrationView) -> Option<Self> {
        let m = &view.summary;
        if m.started_at.is_none() || m.finished_at.is_some() {
            return None;
        }
        match m.ownership {
            Ownership::Flipped | Ownership::RollbackFencing | Ownership::Completed => {
                return Some(Self::Held);
            }
            Ownership::RolledBack => return Some(Self::RolledBack),
            Ownership::Ready | Ownership::Fencing | Ownership::Aborted => {}
        }
        match m.state {
            MigrationState::Running => Some(Self::Busy),
            MigrationState::Waiting
            | MigrationState::Paused
            | MigrationState::Failed
            | MigrationState::Unwinding => Some(Self::Idle),
            MigrationState::Flipped => Some(Self::Held),
            MigrationState::RolledBack => Some(Self::RolledBack),
            MigrationState::Planned | MigrationState::Unwound | MigrationState::Completed => None,
        }
    }

    /// Returns whether only the hold remains.
    pub(super) fn is_quiet(self) -> bool {
        matches!(self, Self::Held | Self::RolledBack)
    }

    /// Returns the CSS class.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Busy => " busy-flow",
            Self::Idle => "",
            Self::Held | Self::RolledBack => " quiet-flow",
        }
    }
}
