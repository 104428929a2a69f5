//! The state of both shards and both streams, and the progress of the move.

/// The two shards. A stream has the number of the shard whose log it reads.
pub(super) const SOURCE: usize = 0;
pub(super) const TARGET: usize = 1;

/// A record of a shard's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReverseRecord {
    /// A client's write.
    Write(u8),
    /// The same write, applied by a stream.
    Applied(u8),
    /// The marker that is committed immediately before the register opens.
    OpenMarker,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ReverseShard {
    pub(super) log: Vec<ReverseRecord>,
    /// The writes in their order.
    pub(super) rows: Vec<u8>,
    /// The guards of the move and of the later move back. `Some(true)` accepts writes; `None`: the guard does not
    /// exist.
    pub(super) guards: [Option<bool>; 2],
}

impl ReverseShard {
    pub(super) fn is_open(&self) -> bool {
        self.guards.iter().flatten().all(|open| *open)
    }
}

/// A slot on one shard and the apply on the other. Progress commits with the data (M1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ReverseStream {
    pub(super) at: usize,
    /// True after the open marker: from then on records are applied.
    pub(super) applies: bool,
}

/// What a standby of the source has: the shard, and the progress of the reverse stream, which commits with the rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ReverseStandby {
    pub(super) source: ReverseShard,
    pub(super) stream: ReverseStream,
}

/// The progress of the controller. Each step is one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReversePhase {
    DualWrite,
    ReverseReady,
    Sealed,
    Drained,
    Flipped,
    Marked,
    /// The target is open. An operator may finish or roll back.
    Hold,
    ForwardReady,
    RollbackSealed,
    RollbackDrained,
    RolledBack,
    RollbackMarked,
    /// The source is open. The stream applies its changes to the target's copy until that is removed.
    SecondHold,
    Withdrawn,
    Completed,
    /// Both streams have ended. Old rows are removed in batches.
    Dropping,
    Dropped,
    /// An offline move returns the same keys.
    ReturnGuarded,
    ReturnReady,
    ReturnSealed,
    ReturnCopied,
    Returned,
}

impl ReversePhase {
    /// Returns true if the ownership row is in the state ROLLBACK_FENCING or ROLLED_BACK.
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
    /// The number of the next write, which equals the number of acknowledged writes.
    pub(super) written: u8,
    /// True while the operator's request to finish is not yet served.
    pub(super) finishing: bool,
    /// True if COMPLETED was recorded.
    pub(super) completed: bool,
    /// The number of rollbacks that were given up.
    pub(super) given_up: u8,
    /// A standby of the source, which lags from its copy on.
    pub(super) standby: Option<ReverseStandby>,
    /// The position up to which the reverse slot is confirmed: it does not send what is before.
    pub(super) confirmed: usize,
    /// True if the standby was promoted.
    pub(super) failed_over: bool,
    /// The source's epoch, which the move back increases.
    pub(super) epoch: u8,
    /// The epoch of a hanging batch of the removal; and whether there was one.
    pub(super) zombie: Option<u8>,
    pub(super) hung: bool,
    /// True if a change was applied a second time.
    pub(super) doubled: bool,
    /// True if rows were removed before COMPLETED, or while a stream existed.
    pub(super) dropped_early: bool,
}
