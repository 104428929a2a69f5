//! What the store, the shards and the controllers hold.

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
    /// The newest cutover attempt.
    pub(super) attempt: u8,
    /// The newest lease.
    pub(super) epoch: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ShardRegister {
    Open,
    /// May expire at any time, so it counts as open.
    Fenced,
    Closed,
}

/// The migration's row on a shard, and its register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ControlShard {
    pub(super) epoch: u8,
    /// Counts what was begun: attempt n has the counts from `COUNTS` n on (ADR 1).
    pub(super) count: u8,
    pub(super) register: ShardRegister,
    /// The target was told of the flip.
    pub(super) flipped: bool,
}

/// Beginnings that one attempt has room for on a shard.
pub(super) const COUNTS: u8 = 16;

impl ControlShard {
    pub(super) fn is_open(&self) -> bool {
        self.register != ShardRegister::Closed
    }

    /// The count for something new in `attempt`, unless a later attempt has been here.
    pub(super) fn next_count(&self, attempt: u8) -> Option<u8> {
        let first = attempt * COUNTS;
        (self.count + 1 < first + COUNTS).then(|| first.max(self.count + 1))
    }
}

/// The request that a controller, with its agent, waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum PendingRequest {
    Lease,
    TakeSource,
    TakeTarget,
    Read,
    Begin,
    /// On the target, before a fence.
    WitnessFence,
    Fence,
    Seal,
    Flip,
    /// Writes `flipped` on the target.
    Tell,
    Open,
    GiveUp,
    /// On the target, before the source is set back to 0.
    WitnessRelease,
    Release,
    /// Nothing to do, for now.
    Rest,
    /// The keys are on the target.
    Done,
    /// The store has lost a flip: only people may go on.
    Halt,
}

/// A controller; also a request of it that hangs somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Controller {
    pub(super) request: PendingRequest,
    pub(super) epoch: u8,
    pub(super) attempt: u8,
    /// What the shard gave to the beginning that this belongs to.
    pub(super) count: u8,
    /// The epoch was proved in an earlier transaction (one mutant).
    pub(super) proven: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ControlState {
    pub(super) store: Store,
    pub(super) source: ControlShard,
    pub(super) target: ControlShard,
    pub(super) controllers: [Controller; 2],
    /// Requests that nobody waits for any more; each may still be served, in any order.
    pub(super) hung: Vec<Controller>,
    pub(super) hangs: u8,
    /// The store was set back to before its flip.
    pub(super) restored: bool,
    /// Attempts that were given up, as bits; the attempt that flipped.
    pub(super) given_up: u8,
    pub(super) flipped_by: Option<u8>,
    /// A shard was written under an epoch older than its own.
    pub(super) stale_write: bool,
}
