//! The ownership state of the moving keys. Flip, abort, rollback and completion are transitions of the same row, so
//! only one of them succeeds (I4).

use super::IllegalTransition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The ownership state of a migration's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// The source owns the keys. No cutover attempt is in progress.
    #[default]
    Ready,
    /// A cutover attempt is in progress (C2). The source owns the keys.
    Fencing,
    /// The migration was aborted before the flip. The source keeps the keys.
    Aborted,
    /// The target owns the keys (C9).
    Flipped,
    /// An attempt to roll back is in progress. The target owns the keys.
    RollbackFencing,
    /// The source owns the keys again.
    RolledBack,
    /// The target owns the keys, and a rollback is no longer possible (I8).
    Completed,
}

/// An event that changes the ownership state. Each is one compare-and-set in the control store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnershipEvent {
    /// A cutover attempt begins. After an interrupted attempt the next one has a new number.
    Fence,
    /// The attempt was given up, and the source is open again.
    Release,
    /// The map names the target as owner.
    Flip,
    /// The migration was aborted.
    Abort,
    /// An attempt to roll back begins.
    FenceBack,
    /// The attempt to roll back was given up.
    ReleaseBack,
    /// The map names the source as owner again.
    FlipBack,
    /// After a rollback the operator requests another cutover. No attempt of it is in progress yet.
    Again,
    /// A rollback is no longer possible.
    Complete,
}

impl Ownership {
    /// Returns the state after `event`.
    ///
    /// # Errors
    /// [`IllegalTransition`] if the event cannot occur in this state.
    pub fn next(self, event: OwnershipEvent) -> Result<Self, IllegalTransition> {
        use {Ownership as S, OwnershipEvent as E};
        match (self, event) {
            (S::Ready | S::Fencing, E::Fence) => Ok(S::Fencing),
            (S::Fencing, E::Release) => Ok(S::Ready),
            (S::Fencing, E::Flip) => Ok(S::Flipped),
            (S::Ready | S::Fencing | S::Aborted, E::Abort) => Ok(S::Aborted),
            (S::Flipped | S::RollbackFencing, E::FenceBack) => Ok(S::RollbackFencing),
            (S::RollbackFencing, E::ReleaseBack) => Ok(S::Flipped),
            (S::RollbackFencing, E::FlipBack) => Ok(S::RolledBack),
            (S::RolledBack, E::Again) => Ok(S::Ready),
            (S::Flipped | S::Completed, E::Complete) => Ok(S::Completed),
            (state, event) => Err(IllegalTransition {
                machine: "ownership",
                state: state.name().to_owned(),
                event: format!("{event:?}").to_lowercase(),
            }),
        }
    }

    /// Returns the name in SQL, JSON and on pages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Fencing => "fencing",
            Self::Aborted => "aborted",
            Self::Flipped => "flipped",
            Self::RollbackFencing => "rollback_fencing",
            Self::RolledBack => "rolled_back",
            Self::Completed => "completed",
        }
    }

    /// Returns the state with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [
            Self::Ready,
            Self::Fencing,
            Self::Aborted,
            Self::Flipped,
            Self::RollbackFencing,
            Self::RolledBack,
            Self::Completed,
        ]
        .into_iter()
        .find(|state| state.name() == name)
    }
}

impl fmt::Display for Ownership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flip_and_abort_exclude_each_other() {
        let fencing = Ownership::Ready.next(OwnershipEvent::Fence).unwrap();
        let flipped = fencing.next(OwnershipEvent::Flip).unwrap();
        let aborted = fencing.next(OwnershipEvent::Abort).unwrap();
        assert!(flipped.next(OwnershipEvent::Abort).is_err());
        assert!(aborted.next(OwnershipEvent::Flip).is_err());
        assert!(aborted.next(OwnershipEvent::Fence).is_err());
    }

    #[test]
    fn completion_and_rollback_exclude_each_other() {
        let completed = Ownership::Flipped.next(OwnershipEvent::Complete).unwrap();
        assert!(completed.next(OwnershipEvent::FenceBack).is_err());
        let back = Ownership::Flipped.next(OwnershipEvent::FenceBack).unwrap();
        assert!(back.next(OwnershipEvent::Complete).is_err());
    }
}
