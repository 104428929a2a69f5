//! Whether the last probe reached a shard.

/// Whether the last probe reached a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShardReachability {
    /// The last probe reached it.
    Reachable,
    /// The last probe failed.
    Unreachable,
    /// No probe has ended yet.
    NotProbed,
}

impl ShardReachability {
    /// All states.
    pub(super) const ALL: [Self; 3] = [Self::Reachable, Self::Unreachable, Self::NotProbed];

    /// Returns the name in URLs and on pages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reachable => "reachable",
            Self::Unreachable => "unreachable",
            Self::NotProbed => "not probed",
        }
    }
}
