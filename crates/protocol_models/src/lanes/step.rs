//! The possible actions and their effects.

use super::state::{ApplyRun, HungCommit, Lane, LaneBatch, LaneState, SourceWrite, StandbyCopy};
use super::{LaneRule, Lanes};

/// The number of transactions in a batch.
const BATCH: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneAction {
    Write(SourceWrite),
    /// An agent reads the progress of both lanes, and begins.
    Begin,
    /// The next transaction is added to the batch.
    Take,
    /// The second lane commits its rows of the batch.
    CommitSecond,
    /// The first lane commits the rest, and the progress.
    CommitFirst,
    Confirm,
    /// The lane commits; the standby receives neither this nor any later commit.
    StandbyMisses(Lane),
    /// The target is lost, and the lagging standby takes its place. No crash follows.
    FailOver,
    Crash,
    /// The agent dies while a commit is on its way.
    Hang(Lane),
    Arrive,
    Lose,
}

impl Lanes {
    pub(super) fn possible(&self, state: &LaneState, actions: &mut Vec<LaneAction>) {
        let length = number(state.log.len());
        if length < self.writes {
            let writes = [
                SourceWrite::Row(Lane::First),
                SourceWrite::Row(Lane::Second),
                SourceWrite::Both,
                SourceWrite::ReadAgain,
            ];
            actions.extend(writes.map(LaneAction::Write));
        }
        if state.standby.is_some() {
            actions.push(LaneAction::FailOver);
        }
        if state.hung.is_some() {
            actions.extend([LaneAction::Arrive, LaneAction::Lose]);
        }
        let Some(run) = &state.run else {
            if state.hung.is_none() || self.is(LaneRule::NotSettled) {
                actions.push(LaneAction::Begin);
            }
            return;
        };
        let reached = run.batch.map_or(run.at, |batch| batch.to);
        let may_grow = run
            .batch
            .is_none_or(|batch| !batch.shared && batch.to - batch.from < BATCH);
        if reached < length && may_grow {
            actions.push(LaneAction::Take);
        }
        if let Some(batch) = run.batch {
            // The failover is the last crash. A run with fewer crashes has the same states after one that lost nothing.
            let may_lag = state.crashes + 1 == self.crashes && state.standby.is_none();
            if self.may_commit_part(state, run, batch) {
                actions.push(LaneAction::CommitSecond);
                actions.extend(may_lag.then_some(LaneAction::StandbyMisses(Lane::Second)));
            }
            actions.push(LaneAction::CommitFirst);
            actions.extend(may_lag.then_some(LaneAction::StandbyMisses(Lane::First)));
        }
        if state.confirmed < self.reported_to_slot(state) {
            actions.push(LaneAction::Confirm);
        }
        if state.crashes < self.crashes {
            actions.push(LaneAction::Crash);
            if let (Some(batch), None) = (run.batch, state.hung) {
                actions.push(LaneAction::Hang(Lane::First));
                if self.may_commit_part(state, run, batch) {
                    actions.push(LaneAction::Hang(Lane::Second));
                }
            }
        }
    }

    /// Returns whether the second lane may commit its part now.
    fn may_commit_part(&self, state: &LaneState, run: &ApplyRun, batch: LaneBatch) -> bool {
        let writes = &state.log[usize::from(batch.from)..usize::from(batch.to)];
        let whole =
            !writes.contains(&SourceWrite::ReadAgain) || self.is(LaneRule::SharesWhatIsReadAgain);
        let level = batch.from >= run.ahead || self.is(LaneRule::SharesWhileAhead);
        !batch.shared && whole && level
    }

    /// Returns the position that the agent confirms to the slot: what the standby has of the progress (I3).
    fn reported_to_slot(&self, state: &LaneState) -> u8 {
        let (first, second) = state.flushed_by_standby();
        if self.is(LaneRule::ConfirmsTheSecond) {
            first.max(second)
        } else if self.is(LaneRule::ConfirmsBeforeStandby) {
            state.progress
        } else {
            first
        }
    }

    pub(super) fn perform(&self, state: &mut LaneState, action: LaneAction) {
        match action {
            LaneAction::Write(write) => {
                state.log.push(write);
                state.applied.push([false; 2]);
                if let Some(standby) = &mut state.standby {
                    standby.applied.push([false; 2]);
                }
            }
            LaneAction::Begin => {
                let at = state.progress;
                let ahead = if self.is(LaneRule::NothingIsLeftOut) {
                    at
                } else {
                    state.second.max(at)
                };
                state.run = Some(ApplyRun {
                    at,
                    ahead,
                    batch: None,
                });
            }
            LaneAction::Take => {
                if let Some(run) = &mut state.run {
                    let new = LaneBatch {
                        from: run.at,
                        to: run.at,
                        shared: false,
                    };
                    run.batch.get_or_insert(new).to += 1;
                }
            }
            LaneAction::CommitSecond => self.commit_of_run(state, Lane::Second),
            LaneAction::CommitFirst => self.commit_of_run(state, Lane::First),
            LaneAction::Confirm => state.confirmed = self.reported_to_slot(state),
            LaneAction::StandbyMisses(lane) => {
                state.standby = Some(StandbyCopy {
                    applied: state.applied.clone(),
                    progress: state.progress,
                    second: state.second,
                });
                self.commit_of_run(state, lane);
            }
            LaneAction::FailOver => self.fail_over(state),
            LaneAction::Crash => {
                state.run = None;
                state.crashes += 1;
            }
            LaneAction::Hang(lane) => {
                state.crashes += 1;
                let run = state.run.take();
                state.hung = run.and_then(|run| {
                    let batch = run.batch?;
                    Some(HungCommit { lane, run, batch })
                });
            }
            LaneAction::Arrive => {
                if let Some(HungCommit { lane, run, batch }) = state.hung.take() {
                    self.commit(state, lane, run, batch);
                }
            }
            LaneAction::Lose => state.hung = None,
        }
        if state.crashes == self.crashes {
            // No failover follows, so it does not matter any more what the standby lacks.
            state.standby = None;
        }
    }

    /// The standby takes the target's place, with what it has.
    fn fail_over(&self, state: &mut LaneState) {
        if let Some(standby) = state.standby.take() {
            state.applied = standby.applied;
            state.progress = standby.progress;
            state.second = standby.second;
        }
        // Every session of the target ends, and a commit that is on its way is lost with the server.
        (state.run, state.hung) = (None, None);
        state.crashes = self.crashes;
    }

    fn commit_of_run(&self, state: &mut LaneState, lane: Lane) {
        let Some(mut run) = state.run else { return };
        let Some(mut batch) = run.batch else { return };
        self.commit(state, lane, run, batch);
        match lane {
            Lane::Second => {
                batch.shared = true;
                run.batch = Some(batch);
            }
            Lane::First => {
                run.at = batch.to;
                run.batch = None;
            }
        }
        state.run = Some(run);
    }

    /// Commits a lane's transaction: its rows and its progress.
    fn commit(&self, state: &mut LaneState, lane: Lane, run: ApplyRun, batch: LaneBatch) {
        // If a batch is not shared, the first lane applies all of it.
        let half = batch.shared
            || (self.is(LaneRule::FirstGoesFirst) && self.may_commit_part(state, &run, batch));
        for at in batch.from..batch.to {
            for row in rows(state, at) {
                let second = row == Lane::Second;
                let own = match lane {
                    Lane::Second => second,
                    Lane::First => !second || !half,
                };
                // The second lane applied this row before this run.
                if own && !(second && at < run.ahead) {
                    let place = place(state.log[usize::from(at)], row);
                    let applied = &mut state.applied[usize::from(at)][place];
                    state.doubled |= *applied;
                    *applied = true;
                }
            }
        }
        match lane {
            Lane::First => state.progress = batch.to,
            Lane::Second if self.is(LaneRule::SecondTellsNothing) => {}
            Lane::Second => state.second = batch.to,
        }
    }
}

/// Returns the lanes of a transaction's rows at this time.
fn rows(state: &LaneState, at: u8) -> Vec<Lane> {
    match state.log[usize::from(at)] {
        SourceWrite::Row(lane) => vec![lane],
        SourceWrite::Both => vec![Lane::First, Lane::Second],
        SourceWrite::ReadAgain if state.log.len().is_multiple_of(2) => vec![Lane::First],
        SourceWrite::ReadAgain => vec![Lane::Second],
    }
}

/// Returns the index of the entry that records that the row is applied.
fn place(write: SourceWrite, row: Lane) -> usize {
    match (write, row) {
        (SourceWrite::ReadAgain, _) | (_, Lane::Second) => 1,
        (_, Lane::First) => 0,
    }
}

fn number(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}
