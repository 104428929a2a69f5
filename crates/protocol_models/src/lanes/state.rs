//! The log, what each lane has made durable on the target, and the state of the agent.

/// One of the two apply sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    First,
    Second,
}

/// The changes of a source transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SourceWrite {
    /// It changes a row of this lane.
    Row(Lane),
    /// It changes one row of each lane.
    Both,
    /// It changes a row that the agent reads again before it applies the change. The lane depends on the time of this
    /// read.
    ReadAgain,
}

/// The transactions that a lane commits together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LaneBatch {
    /// The first transaction; `from` and `to` form a half-open range.
    pub(super) from: u8,
    pub(super) to: u8,
    /// True if the second lane has committed its part.
    pub(super) shared: bool,
}

/// An agent that applies changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ApplyRun {
    /// Transactions with a smaller number are applied.
    pub(super) at: u8,
    /// When the run began, the second lane had already applied its rows of transactions before this one.
    pub(super) ahead: u8,
    pub(super) batch: Option<LaneBatch>,
}

/// A commit from an agent that has died. It may still arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct HungCommit {
    pub(super) lane: Lane,
    pub(super) run: ApplyRun,
    pub(super) batch: LaneBatch,
}

/// The state of the target that a lagging standby has: every commit up to some point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StandbyCopy {
    /// As `LaneState::applied`.
    pub(super) applied: Vec<[bool; 2]>,
    pub(super) progress: u8,
    pub(super) second: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LaneState {
    pub(super) log: Vec<SourceWrite>,
    /// For each transaction, whether its rows of the first and of the second lane are on the target.
    pub(super) applied: Vec<[bool; 2]>,
    /// Durable on the target: transactions with a smaller number are applied.
    pub(super) progress: u8,
    /// Durable on the target: the progress of the second lane.
    pub(super) second: u8,
    /// Transactions with a smaller number are not sent again.
    pub(super) confirmed: u8,
    /// What the standby has, from the point on after which it receives nothing more; `None` if it lacks nothing.
    pub(super) standby: Option<StandbyCopy>,
    pub(super) run: Option<ApplyRun>,
    pub(super) hung: Option<HungCommit>,
    pub(super) crashes: u8,
    /// True if a change was applied twice.
    pub(super) doubled: bool,
}

impl LaneState {
    /// Returns the progress of the first and of the second lane that the standby has flushed.
    pub(super) fn flushed_by_standby(&self) -> (u8, u8) {
        match &self.standby {
            Some(standby) => (standby.progress, standby.second),
            None => (self.progress, self.second),
        }
    }

    /// Returns whether all transactions before `end` are on the target.
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
