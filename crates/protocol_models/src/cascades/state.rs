//! What the shards have, what the attempt has done, and the one transaction that each shard is asked for.

/// One of the two shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CascadeSide {
    Source,
    Target,
}

impl CascadeSide {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Source => Self::Target,
            Self::Target => Self::Source,
        }
    }
}

/// The application's transaction on a shard, which deletes the row of the reference table there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CascadeWriter {
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
pub(crate) struct CascadeShard {
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
    pub(super) writer: CascadeWriter,
}

impl CascadeShard {
    /// The moving row refers to something.
    pub(super) fn is_whole(&self) -> bool {
        self.parent || !self.row
    }
}

/// What the attempt has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AttemptStage {
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
pub(crate) struct HungRelease {
    pub(super) side: CascadeSide,
    pub(super) attempt: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CascadeState {
    pub(super) shards: [CascadeShard; 2],
    /// Whom the map names.
    pub(super) owner: CascadeSide,
    pub(super) stage: AttemptStage,
    pub(super) attempt: u8,
    pub(super) deaths: u8,
    /// The owner's deletion of the moving row is on its way.
    pub(super) sent: bool,
    pub(super) hung: Option<HungRelease>,
}

impl CascadeState {
    pub(super) fn shard(&self, side: CascadeSide) -> &CascadeShard {
        &self.shards[side as usize]
    }

    pub(super) fn shard_mut(&mut self, side: CascadeSide) -> &mut CascadeShard {
        &mut self.shards[side as usize]
    }

    /// Who loses the keys in this attempt, and who gains them.
    pub(super) fn parties(&self) -> (CascadeSide, CascadeSide) {
        match self.stage {
            AttemptStage::Flipped | AttemptStage::Opened => (self.owner.other(), self.owner),
            AttemptStage::Idle
            | AttemptStage::Begun
            | AttemptStage::Cleared
            | AttemptStage::Waited
            | AttemptStage::Settled
            | AttemptStage::Sealed => (self.owner, self.owner.other()),
        }
    }
}
