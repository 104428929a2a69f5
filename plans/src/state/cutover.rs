//! Who owns the moving keys: the one row on which flip, abort, roll back and completion are rivals (I4).

use super::IllegalTransition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The ownership state of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// The source owns the keys; no attempt is under way.
    #[default]
    Ready,
    /// An attempt is under way (C2); the source owns the keys.
    Fencing,
    /// Given up before the flip; the source owns the keys for good.
    Aborted,
    /// The target owns the keys (C9).
    Flipped,
    /// An attempt to go back is under way; the target owns the keys.
    RollbackFencing,
    /// The source owns the keys again.
    RolledBack,
    /// The target owns the keys; the way back is given up (I8).
    Completed,
}

/// What happens to the ownership; each is one compare-and-set in the control store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnershipEvent {
    /// A forward attempt begins; also after an interrupted one, under the next number.
    Fence,
    /// The attempt is given up, the source is open again.
    Release,
    /// The map names the target.
    Flip,
    /// The migration is taken back.
    Abort,
    /// An attempt to go back begins.
    FenceBack,
    /// The attempt to go back is given up.
    ReleaseBack,
    /// The map names the source again.
    FlipBack,
    /// After a roll back: another cutover is wanted; no attempt of it is under way.
    Again,
    /// The way back is given up.
    Complete,
}

impl Ownership {
    /// The state after `event`.
    ///
    /// # Errors
    /// [`IllegalTransition`] when the event cannot happen in this state.
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

    /// The name in SQL, JSON and on screens.
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

    /// The state called `name`.
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
    fn completion_and_the_way_back_exclude_each_other() {
        let completed = Ownership::Flipped.next(OwnershipEvent::Complete).unwrap();
        assert!(completed.next(OwnershipEvent::FenceBack).is_err());
        let back = Ownership::Flipped.next(OwnershipEvent::FenceBack).unwrap();
        assert!(back.next(OwnershipEvent::Complete).is_err());
    }
}
