//! What the shards have, what the attempt has done, and the one transaction that each shard is asked for.

/// One of the two shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Source,
    Target,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Source => Self::Target,
            Self::Target => Self::Source,
        }
    }
}

/// The application's transaction on a shard, which deletes the row of the reference table there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Writer {
    Idle,
    /// It has a snapshot, in which the value was this one.
    Begun {
        saw: bool,
    },
    /// It has the lock; with what a mutant has read already.
    Locked {
        read: bool,
    },
    /// It has written, and not committed.
    Cascaded,
    LeftOut,
    /// Committed, refused or rolled back.
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shard {
    /// The register: open, or closed.
    pub(super) open: bool,
    /// It was opened last, and not told of a flip since.
    pub(super) owns: bool,
    /// A cascade skips the moving row.
    pub(super) skips: bool,
    /// The newest attempt that has begun here.
    pub(super) count: u8,
    /// The row of the reference table is there.
    pub(super) parent: bool,
    /// The moving row, which refers to it, is there.
    pub(super) row: bool,
    /// The count of what was skipped is not zero.
    pub(super) skipped: bool,
    pub(super) writer: Writer,
}

impl Shard {
    /// The moving row refers to something.
    pub(super) fn is_whole(&self) -> bool {
        self.parent || !self.row
    }
}

/// What the attempt has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Idle,
    /// It has begun on the shard that is to gain the keys.
    Begun,
    Cleared,
    Waited,
    Settled,
    Sealed,
    Flipped,
    Opened,
}

/// A release that nobody waits for any more: the attempt and where it lets cascades skip rows again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Hung {
    pub(super) side: Side,
    pub(super) attempt: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(super) shards: [Shard; 2],
    /// Whom the map names.
    pub(super) owner: Side,
    pub(super) stage: Stage,
    pub(super) attempt: u8,
    pub(super) deaths: u8,
    /// The owner's deletion of the moving row is on its way.
    pub(super) sent: bool,
    pub(super) hung: Option<Hung>,
}

impl State {
    pub(super) fn shard(&self, side: Side) -> &Shard {
        &self.shards[side as usize]
    }

    pub(super) fn shard_mut(&mut self, side: Side) -> &mut Shard {
        &mut self.shards[side as usize]
    }

    /// Who loses the keys in this attempt, and who gains them.
    pub(super) fn parties(&self) -> (Side, Side) {
        match self.stage {
            Stage::Flipped | Stage::Opened => (self.owner.other(), self.owner),
            Stage::Idle
            | Stage::Begun
            | Stage::Cleared
            | Stage::Waited
            | Stage::Settled
            | Stage::Sealed => (self.owner, self.owner.other()),
        }
    }
}
