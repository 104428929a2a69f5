//! The versions of the messages that a program supports, and whether two programs have a version in common.
//!
//! A new optional field needs no new version: a reader that does not know it ignores it, and a reader that expects it
//! uses its default. A new version is needed for what must not be ignored, such as a new kind of step, which is sent
//! only to programs that support it. Each release also supports the version of the release before it (ADR 32).

use std::fmt;

/// The first version whose dispatches carry a secret (ADR 48).
pub const FIRST_PROTOCOL_WITH_SECRETS: u32 = 4;

/// The first version whose agents know that cascades can skip rows (ADR 55).
pub const FIRST_PROTOCOL_WITH_CASCADES: u32 = 4;

/// The first version whose agents know the steps of a move that is seeded from a standby (ADR 59).
pub const FIRST_PROTOCOL_WITH_SEEDING: u32 = 5;

/// The first version whose agents follow changes of definitions (ADR 64).
pub const FIRST_PROTOCOL_WITH_FOLLOWING: u32 = 5;
/// The first version whose agents know hash maps with exceptions.
pub const FIRST_PROTOCOL_WITH_EXCEPTIONS: u32 = 5;
/// The first version whose agents know tables that have a key as a whole.
pub const FIRST_PROTOCOL_WITH_WHOLE_TABLES: u32 = 5;

/// The first version whose agents assign changes of dependent tables by their parent rows (ADR 76).
pub const FIRST_PROTOCOL_WITH_DEPENDENTS: u32 = 5;

/// The newest version of the messages that this program supports.
pub const NEWEST_PROTOCOL: u32 = 5;

/// The oldest version that this program supports: that of the release before this one.
pub const OLDEST_PROTOCOL: u32 = 3;

/// The range of versions of the messages that a program supports. This is not the protocol by which keys move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolRange {
    /// The oldest version.
    pub oldest: u32,
    /// The newest version.
    pub newest: u32,
}

impl ProtocolRange {
    /// The range that this program supports.
    pub const SUPPORTED: Self = Self {
        oldest: OLDEST_PROTOCOL,
        newest: NEWEST_PROTOCOL,
    };

    /// Returns the newest version that both programs support; `None` if they have no version in common.
    #[must_use]
    pub fn common(self, other: Self) -> Option<u32> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

impl fmt::Display for ProtocolRange {
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
    use super::ProtocolRange;

    fn range(oldest: u32, newest: u32) -> ProtocolRange {
        ProtocolRange { oldest, newest }
    }

    #[test]
    fn programs_one_version_apart_use_the_newest_version_of_the_older() {
        assert_eq!(range(3, 4).common(range(4, 5)), Some(4));
        assert_eq!(range(4, 5).common(range(3, 4)), Some(4));
        assert_eq!(range(3, 3).common(range(3, 4)), Some(3));
        assert_eq!(
            ProtocolRange::SUPPORTED.common(ProtocolRange::SUPPORTED),
            Some(super::NEWEST_PROTOCOL)
        );
    }

    #[test]
    fn programs_further_apart_have_no_version_in_common() {
        assert_eq!(range(3, 4).common(range(5, 6)), None);
        assert_eq!(range(5, 6).common(range(3, 4)), None);
    }
}
