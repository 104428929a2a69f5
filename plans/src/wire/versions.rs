//! Which versions of the messages a program understands, and whether two programs have one in common.
//!
//! A field that a reader may leave aside does not make a new version: whoever does not know it ignores it, and whoever
//! misses it takes its default. A new version is for what must not be left aside, as a new kind of step; it is told only
//! to those that speak it. Each version understands the one before it (ADR 32).

use std::fmt;

/// The first version whose dispatches carry a secret (ADR 48).
pub const SECRETS: u32 = 4;

/// The first version whose agents know that cascades skip rows (ADR 55).
pub const CASCADES: u32 = 4;

/// The newest version of the messages that this program speaks.
pub const PROTOCOL: u32 = 4;

/// The oldest one that it still understands: what the release before this one speaks.
pub const OLDEST_PROTOCOL: u32 = 3;

/// Versions that a program understands, each between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocols {
    /// The oldest.
    pub oldest: u32,
    /// The newest.
    pub newest: u32,
}

impl Protocols {
    /// What this program understands.
    pub const OURS: Self = Self {
        oldest: OLDEST_PROTOCOL,
        newest: PROTOCOL,
    };

    /// The newest version that both understand.
    #[must_use]
    pub fn common(self, other: Self) -> Option<u32> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

impl fmt::Display for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.oldest == self.newest {
            write!(f, "protocol {}", self.newest)
        } else {
            write!(f, "protocols {} to {}", self.oldest, self.newest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Protocols;

    fn of(oldest: u32, newest: u32) -> Protocols {
        Protocols { oldest, newest }
    }

    #[test]
    fn neighbours_have_the_older_ones_version_in_common() {
        assert_eq!(of(3, 4).common(of(4, 5)), Some(4));
        assert_eq!(of(4, 5).common(of(3, 4)), Some(4));
        assert_eq!(of(3, 3).common(of(3, 4)), Some(3));
        assert_eq!(
            Protocols::OURS.common(Protocols::OURS),
            Some(super::PROTOCOL)
        );
    }

    #[test]
    fn programs_that_are_further_apart_have_none() {
        assert_eq!(of(3, 4).common(of(5, 6)), None);
        assert_eq!(of(5, 6).common(of(3, 4)), None);
    }
}
