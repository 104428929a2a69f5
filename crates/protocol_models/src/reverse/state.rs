//! What both shards and both streams hold, and how far the move is.

/// The two shards; a stream has the number of the shard that it reads.
pub(super) const SOURCE: usize = 0;
pub(super) const TARGET: usize = 1;

/// A record of a shard's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReverseRecord {
    /// A client's write.
    Write(u8),
    /// The same write, applied by a stream of ours.
    Applied(u8),
    /// Committed right before the register opens.
    OpenMarker,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ReverseShard {
    pub(super) log: Vec<ReverseRecord>,
    /// The writes that it holds, in their order.
    pub(super) rows: Vec<u8>,
    /// Of the move and of the move back: `Some(true)` lets writes pass, `None`: no guard stands.
    pub(super) guards: [Option<bool>; 2],
}

impl ReverseShard {
    pub(super) fn is_open(&self) -> bool {
        self.guards.iter().flatten().all(|open| *open)
    }
}

/// A slot on one shard and its applier on the other; progress commits with the data (M1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ReverseStream {
    pub(super) at: usize,
    /// Has met the open marker: what comes now is applied.
    pub(super) applies: bool,
}

/// How far the controller is; each step is one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReversePhase {
    DualWrite,
    ReverseReady,
    Sealed,
    Drained,
    Flipped,
    Marked,
    /// Open on the target; finish and roll back are rivals.
    Hold,
    ForwardReady,
    RollbackSealed,
    RollbackDrained,
    RolledBack,
    RollbackMarked,
    /// Open on the source; the target's copy is kept current until it is dropped.
    SecondHold,
    Withdrawn,
    Completed,
    /// Both streams are gone; old rows are dropped in batches.
    Dropping,
    Dropped,
    /// The same keys come back, by an offline move.
    ReturnGuarded,
    ReturnReady,
    ReturnSealed,
    ReturnCopied,
    Returned,
}

impl ReversePhase {
    /// The ownership row says ROLLBACK_FENCING or ROLLED_BACK.
    pub(super) fn is_rollback(self) -> bool {
        use ReversePhase as P;
        matches!(
            self,
            P::ForwardReady
                | P::RollbackSealed
                | P::RollbackDrained
                | P::RolledBack
                | P::RollbackMarked
                | P::SecondHold
                | P::Withdrawn
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ReverseState {
    pub(super) shards: [ReverseShard; 2],
    pub(super) streams: [Option<ReverseStream>; 2],
    pub(super) phase: ReversePhase,
    /// The next write's number: so many were acknowledged.
    pub(super) written: u8,
    /// The operator's request to finish is under way.
    pub(super) finishing: bool,
    /// COMPLETED was recorded.
    pub(super) completed: bool,
    /// Roll backs that were given up.
    pub(super) given_up: u8,
    /// The source's epoch, raised by the move back.
    pub(super) epoch: u8,
    /// A batch of the drop that hangs, with its epoch; and whether there was one.
    pub(super) zombie: Option<u8>,
    pub(super) hung: bool,
    /// A change was applied where it already was.
    pub(super) doubled: bool,
    /// Rows were dropped before COMPLETED, or beside a stream.
    pub(super) dropped_early: bool,
}
