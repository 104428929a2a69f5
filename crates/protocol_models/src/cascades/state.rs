//! The state of both shards and of the attempt, and of one application transaction for each shard.

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

/// The application's transaction on a shard. It deletes the row of the reference table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CascadeWriter {
    Idle,
    /// The transaction has a snapshot, which shows this value.
    Begun {
        saw: bool,
    },
    /// The transaction holds the lock. The value is what a mutant has already read.
    Locked {
        read: bool,
    },
    /// The transaction has written and not committed.
    Cascaded,
    LeftOut,
    /// The transaction was committed, refused or rolled back.
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CascadeShard {
    /// The register: true is open, false is closed.
    pub(super) open: bool,
    /// True if this shard was opened last, and has recorded no flip since.
    pub(super) owns: bool,
    /// True if a cascade skips the moving row.
    pub(super) skips: bool,
    /// The newest attempt that has begun on this shard.
    pub(super) count: u8,
    /// True if the row of the reference table exists.
    pub(super) parent: bool,
    /// True if the moving row, which refers to it, exists.
    pub(super) row: bool,
    /// True if the count of skipped rows is not zero.
    pub(super) skipped: bool,
    pub(super) writer: CascadeWriter,
}

impl CascadeShard {
    /// Returns true unless the moving row refers to a missing row.
    pub(super) fn is_whole(&self) -> bool {
        self.parent || !self.row
    }
}

/// What the attempt has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AttemptStage {
    Idle,
    /// The attempt has begun on the new owner.
    Begun,
    Cleared,
    Waited,
    Settled,
    Sealed,
    Flipped,
    Opened,
}

/// A release whose sender has stopped waiting: the attempt, and the shard on which it lets cascades skip rows again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HungRelease {
    pub(super) side: CascadeSide,
    pub(super) attempt: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CascadeState {
    pub(super) shards: [CascadeShard; 2],
    /// The owner in the map.
    pub(super) owner: CascadeSide,
    pub(super) stage: AttemptStage,
    pub(super) attempt: u8,
    pub(super) deaths: u8,
    /// The stream carries the owner's deletion of the moving row.
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

    /// Returns the old owner and the new owner of this attempt.
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
