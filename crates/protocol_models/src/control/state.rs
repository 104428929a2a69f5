//! The state of the store, the shards and the controllers.

/// The ownership row of the control store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum OwnershipRow {
    Ready,
    Fencing,
    Flipped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub(super) ownership: OwnershipRow,
    /// The number of the newest cutover attempt.
    pub(super) attempt: u8,
    /// The number of the newest lease.
    pub(super) epoch: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ShardRegister {
    Open,
    /// The fence may expire at any time, so it counts as open.
    Fenced,
    Closed,
}

/// The migration's row on a shard, and its register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ControlShard {
    pub(super) epoch: u8,
    /// The counter of register writes. Attempt n has the values from `COUNTS` × n on (ADR 1).
    pub(super) count: u8,
    pub(super) register: ShardRegister,
    /// True if the flip was recorded on the target.
    pub(super) flipped: bool,
}

/// The number of counter values that each attempt has on a shard.
pub(super) const COUNTS: u8 = 16;

impl ControlShard {
    pub(super) fn is_open(&self) -> bool {
        self.register != ShardRegister::Closed
    }

    /// Returns the next counter value in `attempt`, or `None` if a later attempt has written on this shard.
    pub(super) fn next_count(&self, attempt: u8) -> Option<u8> {
        let first = attempt * COUNTS;
        (self.count + 1 < first + COUNTS).then(|| first.max(self.count + 1))
    }
}

/// The request for whose response a controller and its agent wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum PendingRequest {
    Lease,
    TakeSource,
    TakeTarget,
    Read,
    Begin,
    /// Checks the witness on the target before a fence.
    WitnessFence,
    Fence,
    Seal,
    Flip,
    /// Writes `flipped` on the target.
    Tell,
    Open,
    GiveUp,
    /// Checks the witness on the target before the source is opened again.
    WitnessRelease,
    Release,
    /// Nothing to do at the moment.
    Rest,
    /// The target owns the keys.
    Done,
    /// The store has lost a flip. Only an operator may continue.
    Halt,
}

/// A controller, or a request of it that hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Controller {
    pub(super) request: PendingRequest,
    pub(super) epoch: u8,
    pub(super) attempt: u8,
    /// The counter value that the shard has assigned to this attempt's first write.
    pub(super) count: u8,
    /// True if the epoch was proved in an earlier transaction (one mutant).
    pub(super) proven: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ControlState {
    pub(super) store: Store,
    pub(super) source: ControlShard,
    pub(super) target: ControlShard,
    pub(super) controllers: [Controller; 2],
    /// Requests whose sender no longer waits. Each may still be served, in any order.
    pub(super) hung: Vec<Controller>,
    pub(super) hangs: u8,
    /// True if the store was restored to a state before its flip.
    pub(super) restored: bool,
    /// The attempts that were given up, as bits; and the attempt that flipped.
    pub(super) given_up: u8,
    pub(super) flipped_by: Option<u8>,
    /// True if a shard was written with an older epoch than its own.
    pub(super) stale_write: bool,
}
