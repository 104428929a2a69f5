//! The possible actions.

use super::Seeding;
use super::mutants::SeedRule;
use super::state::{SeedKeys, SeedPhase, SeedRecord, SeedRegister, SeedState, SeedTransaction};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeedAction {
    /// A transaction on the source passes the guard and writes a row of a moving key.
    Write(usize),
    /// A transaction does the same and commits in one step.
    WriteAndCommit(usize),
    Prepare(usize),
    Commit(usize),
    /// A prepared transaction is rolled back.
    RollBack(usize),
    /// The agent executes its next step.
    Go,
    /// The agent's command promotes the standby, which has replayed this many records.
    TakeEffect(u8),
    /// The agent stops waiting for its command, which may still take effect.
    TimeOut,
    /// The agent's command never takes effect.
    LoseCommand,
    /// Another person, or a cluster manager, promotes the standby, which has replayed this many records.
    PromoteOther(u8),
    /// The agent stops waiting for its clean-up of the clone, which may still take effect.
    HangCleanUp,
    ServeHungCleanUp,
    /// A client writes on the clone before the flip.
    WriteClone,
    /// A client executes COMMIT PREPARED on the clone.
    CommitCopy(usize),
    /// The stream applies the next transaction. The progress commits with it.
    Apply,
    /// Another standby, which has replayed this many records, takes the source's place.
    FailOver {
        records: u8,
        clone: ClonePosition,
    },
    /// After a failover the agent binds the register to the source's new timeline.
    BindAgain,
    /// The operator aborts the migration.
    Abort,
}

/// Where the standby is when the source fails over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClonePosition {
    /// It has no record that the new source lacks, and replays the new source's log.
    Follows,
    /// It has replayed this many records of the old source's log, or was promoted.
    Apart(u8),
    /// It takes the source's place itself.
    Succeeds,
}

impl Seeding {
    pub(super) fn possible(&self, state: &SeedState, actions: &mut Vec<SeedAction>) {
        // Once the migration can only be aborted, its rows do not matter.
        let continues = !matches!(state.phase, SeedPhase::Failed | SeedPhase::Aborted);
        if continues && state.source.timeline == 1 {
            for transaction in 0..state.source.transactions.len() {
                self.possible_transaction(state, transaction, actions);
            }
        }
        self.possible_steps(state, actions);
        if state.command.is_some() {
            actions.extend(state.positions().map(SeedAction::TakeEffect));
        }
        if state.faults < self.faults {
            self.possible_faults(state, actions);
            self.possible_failovers(state, actions);
        }
    }

    fn possible_steps(&self, state: &SeedState, actions: &mut Vec<SeedAction>) {
        let (clone, phase) = (&state.clone, state.phase);
        let change = self.next_change(state).filter(|(transaction, _)| {
            phase.applies() && clone.database.prepared >> transaction & 1 == 0
        });
        let unflipped = phase.is_unflipped();
        let aborts = state.command.is_none() || self.is(SeedRule::AbortRacesPromotion);
        let candidates = [
            (self.may_go(state), SeedAction::Go),
            (change.is_some(), SeedAction::Apply),
            (state.hung, SeedAction::ServeHungCleanUp),
            (unflipped && aborts, SeedAction::Abort),
            (
                unflipped
                    && state.command.is_some()
                    && state.is_bound_elsewhere()
                    && !self.is(SeedRule::NotBoundAgain),
                SeedAction::BindAgain,
            ),
            (
                unflipped && clone.accepts_any() && !clone.written && !clone.succeeds,
                SeedAction::WriteClone,
            ),
        ];
        actions.extend(candidates.iter().filter(|c| c.0).map(|c| c.1));
    }

    fn possible_faults(&self, state: &SeedState, actions: &mut Vec<SeedAction>) {
        let (clone, phase) = (&state.clone, state.phase);
        let prepared = clone.database.prepared;
        let waits = state.command.is_some_and(|command| !command.timed_out);
        let candidates = [
            (phase == SeedPhase::Commanded && waits, SeedAction::TimeOut),
            (state.command.is_some(), SeedAction::LoseCommand),
            (
                phase == SeedPhase::Recognized && prepared == 0 && !state.hung,
                SeedAction::HangCleanUp,
            ),
        ];
        actions.extend(candidates.iter().filter(|c| c.0).map(|c| c.1));
        if !phase.is_unflipped() {
            return;
        }
        if clone.promotion.is_some() {
            let copies = 0..state.source.transactions.len();
            let copies = copies.filter(|transaction| prepared >> transaction & 1 == 1);
            actions.extend(copies.map(SeedAction::CommitCopy));
        } else {
            actions.extend(state.positions().map(SeedAction::PromoteOther));
        }
    }

    fn possible_failovers(&self, state: &SeedState, actions: &mut Vec<SeedAction>) {
        let (source, clone) = (&state.source, &state.clone);
        let phase = state.phase;
        if source.timeline != 1 || !phase.is_unflipped() && phase != SeedPhase::Aborted {
            return;
        }
        let end = source.end();
        let least = source.replicated.max(end.saturating_sub(self.lag));
        let mut fail_over = |records, clone| actions.push(SeedAction::FailOver { records, clone });
        for records in least..=end {
            if clone.promotion.is_some() || phase == SeedPhase::Aborted {
                fail_over(records, ClonePosition::Apart(clone.replayed));
                continue;
            }
            if clone.replayed <= records {
                fail_over(records, ClonePosition::Follows);
            }
            for position in clone.replayed.max(records + 1)..=end {
                fail_over(records, ClonePosition::Apart(position));
            }
            if clone.replayed <= records {
                fail_over(records, ClonePosition::Succeeds);
            }
        }
    }

    /// Returns whether the agent's next step need not wait.
    fn may_go(&self, state: &SeedState) -> bool {
        let (source, clone) = (&state.source, &state.clone);
        // The creation of a trigger waits for every transaction that has written to the table.
        let idle = source.in_progress() == 0;
        match state.phase {
            SeedPhase::Planned => idle,
            SeedPhase::Bound => idle || self.is(SeedRule::NoCloneGuard),
            SeedPhase::SlotWaits(transactions) => source.in_progress() & transactions == 0,
            SeedPhase::Intended => {
                clone.promotion.is_some() || state.may_have_intent() || self.is(SeedRule::NoWait)
            }
            SeedPhase::Commanded => clone.promotion.is_some() || self.may_unbind_early(state),
            SeedPhase::Sealed => {
                self.has_lost_source(state) || idle && self.next_change(state).is_none()
            }
            SeedPhase::Guarded | SeedPhase::Captured | SeedPhase::Covered => true,
            SeedPhase::Recognized | SeedPhase::Cleaned | SeedPhase::Unbound => true,
            SeedPhase::Streaming | SeedPhase::Verified | SeedPhase::Flipped => true,
            SeedPhase::Opened | SeedPhase::Failed | SeedPhase::Aborted => false,
        }
    }

    pub(super) fn may_unbind_early(&self, state: &SeedState) -> bool {
        self.is(SeedRule::UnboundBeforePromotion)
            && state.clone.promotion.is_none()
            && state.source.database().register == SeedRegister::Bound(1)
    }

    /// Returns whether the agent finds that the source has failed over (I10).
    pub(super) fn has_lost_source(&self, state: &SeedState) -> bool {
        state.source.timeline != 1 && !self.is(SeedRule::SourceNotIdentified)
    }

    /// Returns the next transaction that the slot delivers and the stream does not skip, and the end of its commit
    /// record.
    pub(super) fn next_change(&self, state: &SeedState) -> Option<(usize, u8)> {
        if self.has_lost_source(state) {
            return None;
        }
        let slot = state.slot?;
        let switch = state.clone.promotion.map_or(0, |promotion| promotion.at);
        let skips = |transaction| {
            self.is(SeedRule::SkipsByBegin) && state.source.begin_of(transaction) <= switch
        };
        (1..).zip(&state.source.log).find_map(|(end, record)| {
            let SeedRecord::Commit(transaction) = *record else {
                return None;
            };
            let delivered = end > slot && end > state.confirmed;
            let applies = delivered && end > state.clone.progress && !skips(transaction);
            applies.then_some((transaction, end))
        })
    }

    fn possible_transaction(
        &self,
        state: &SeedState,
        transaction: usize,
        actions: &mut Vec<SeedAction>,
    ) {
        match state.source.transactions[transaction] {
            SeedTransaction::Idle if !state.source.accepts(SeedKeys::Moving) => {}
            SeedTransaction::Idle if transaction < self.long => {
                actions.push(SeedAction::Write(transaction));
            }
            SeedTransaction::Idle => actions.push(SeedAction::WriteAndCommit(transaction)),
            SeedTransaction::Written => {
                let (prepare, commit) = (SeedAction::Prepare, SeedAction::Commit);
                actions.extend([prepare(transaction), commit(transaction)]);
            }
            SeedTransaction::Prepared => {
                let (commit, roll_back) = (SeedAction::Commit, SeedAction::RollBack);
                actions.extend([commit(transaction), roll_back(transaction)]);
            }
            SeedTransaction::Ended => {}
        }
    }
}
