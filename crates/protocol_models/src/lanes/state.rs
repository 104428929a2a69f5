//! What the log holds, what each lane has made durable on the target, and what the agent has in hand.

/// One of two sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    First,
    Second,
}

/// What a transaction of the source does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SourceWrite {
    /// Changes a row of this lane.
    Row(Lane),
    /// Changes one of each.
    Both,
    /// Changes a row that is read again when it is applied: which lane it has then depends on when.
    ReadAgain,
}

/// What a lane commits together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LaneBatch {
    /// Transactions by their number, as in a range.
    pub(super) from: u8,
    pub(super) to: u8,
    /// The second lane has committed its part.
    pub(super) shared: bool,
}

/// An agent that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ApplyRun {
    /// Transactions before this one are applied.
    pub(super) at: u8,
    /// Of those before this one the second lane had applied its rows when the run began.
    pub(super) ahead: u8,
    pub(super) batch: Option<LaneBatch>,
}

/// A commit that was sent by an agent that is gone; it may arrive, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HungCommit {
    pub(super) lane: Lane,
    pub(super) run: ApplyRun,
    pub(super) batch: LaneBatch,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LaneState {
    pub(super) log: Vec<SourceWrite>,
    /// Of each transaction, whether its row of the first lane and that of the second one are on the target.
    pub(super) applied: Vec<[bool; 2]>,
    /// Durable on the target: transactions before it are applied.
    pub(super) progress: u8,
    /// Durable on the target: what the second lane has reached.
    pub(super) second: u8,
    /// Transactions before it are not sent again.
    pub(super) confirmed: u8,
    pub(super) run: Option<ApplyRun>,
    pub(super) hung: Option<HungCommit>,
    pub(super) crashes: u8,
    /// Something was applied to a row a second time.
    pub(super) doubled: bool,
}

impl LaneState {
    /// Whether all of the transactions before this one is on the target.
    pub(super) fn has_all_before(&self, end: u8) -> bool {
        let wanted = |write: SourceWrite| match write {
            SourceWrite::Row(Lane::First) => [true, false],
            SourceWrite::Row(Lane::Second) | SourceWrite::ReadAgain => [false, true],
            SourceWrite::Both => [true, true],
        };
        let rows = self.log.iter().zip(&self.applied);
        let done = |(write, applied): (&SourceWrite, &[bool; 2])| wanted(*write) == *applied;
        rows.take(usize::from(end)).all(done)
    }
}
