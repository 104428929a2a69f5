//! What can happen, and what it does.

use super::state::{Batch, Hung, Lane, Run, State, Write};
use super::{Lanes, Rule};

/// Transactions of a batch.
const BATCH: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Write(Write),
    /// An agent reads where both lanes are, and goes on.
    Begin,
    /// The next transaction comes into the batch.
    Take,
    /// The second lane commits its rows of the batch.
    CommitSecond,
    /// The first lane commits the rest, and the progress.
    CommitFirst,
    Confirm,
    Crash,
    /// The agent dies with a commit under way.
    Hang(Lane),
    Arrive,
    Lose,
}

impl Lanes {
    pub(super) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        let length = number(state.log.len());
        if length < self.writes {
            let writes = [
                Write::Row(Lane::First),
                Write::Row(Lane::Second),
                Write::Both,
                Write::ReadAgain,
            ];
            actions.extend(writes.map(Action::Write));
        }
        if state.hung.is_some() {
            actions.extend([Action::Arrive, Action::Lose]);
        }
        let Some(run) = &state.run else {
            if state.hung.is_none() || self.is(Rule::NotSettled) {
                actions.push(Action::Begin);
            }
            return;
        };
        let reached = run.batch.map_or(run.at, |batch| batch.to);
        let may_grow = run
            .batch
            .is_none_or(|batch| !batch.shared && batch.to - batch.from < BATCH);
        if reached < length && may_grow {
            actions.push(Action::Take);
        }
        if let Some(batch) = run.batch {
            if self.may_share(state, run, batch) {
                actions.push(Action::CommitSecond);
            }
            actions.push(Action::CommitFirst);
        }
        if state.confirmed < self.told(state) {
            actions.push(Action::Confirm);
        }
        if state.crashes < self.crashes {
            actions.push(Action::Crash);
            if let (Some(batch), None) = (run.batch, state.hung) {
                actions.push(Action::Hang(Lane::First));
                if self.may_share(state, run, batch) {
                    actions.push(Action::Hang(Lane::Second));
                }
            }
        }
    }

    /// Whether the second lane may commit its part now.
    fn may_share(&self, state: &State, run: &Run, batch: Batch) -> bool {
        let writes = &state.log[usize::from(batch.from)..usize::from(batch.to)];
        let whole = !writes.contains(&Write::ReadAgain) || self.is(Rule::SharesWhatIsReadAgain);
        let level = batch.from >= run.ahead || self.is(Rule::SharesWhileAhead);
        !batch.shared && whole && level
    }

    /// What the slot is told.
    fn told(&self, state: &State) -> u8 {
        if self.is(Rule::ConfirmsTheSecond) {
            state.progress.max(state.second)
        } else {
            state.progress
        }
    }

    pub(super) fn perform(&self, state: &mut State, action: Action) {
        match action {
            Action::Write(write) => {
                state.log.push(write);
                state.applied.push([false; 2]);
            }
            Action::Begin => {
                let at = state.progress;
                let ahead = if self.is(Rule::NothingIsLeftOut) {
                    at
                } else {
                    state.second.max(at)
                };
                state.run = Some(Run {
                    at,
                    ahead,
                    batch: None,
                });
            }
            Action::Take => {
                if let Some(run) = &mut state.run {
                    let new = Batch {
                        from: run.at,
                        to: run.at,
                        shared: false,
                    };
                    run.batch.get_or_insert(new).to += 1;
                }
            }
            Action::CommitSecond => self.commit_of_run(state, Lane::Second),
            Action::CommitFirst => self.commit_of_run(state, Lane::First),
            Action::Confirm => state.confirmed = self.told(state),
            Action::Crash => {
                state.run = None;
                state.crashes += 1;
            }
            Action::Hang(lane) => {
                state.crashes += 1;
                let run = state.run.take();
                state.hung = run.and_then(|run| {
                    let batch = run.batch?;
                    Some(Hung { lane, run, batch })
                });
            }
            Action::Arrive => {
                if let Some(Hung { lane, run, batch }) = state.hung.take() {
                    self.commit(state, lane, run, batch);
                }
            }
            Action::Lose => state.hung = None,
        }
    }

    fn commit_of_run(&self, state: &mut State, lane: Lane) {
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

    /// What a lane's transaction leaves: its rows, and where it is.
    fn commit(&self, state: &mut State, lane: Lane, run: Run, batch: Batch) {
        // Of a batch that is not shared the first lane does all.
        let half =
            batch.shared || (self.is(Rule::FirstGoesFirst) && self.may_share(state, &run, batch));
        for at in batch.from..batch.to {
            for row in rows(state, at) {
                let second = row == Lane::Second;
                let own = match lane {
                    Lane::Second => second,
                    Lane::First => !second || !half,
                };
                // The second lane had it before this run.
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
            Lane::Second if self.is(Rule::SecondTellsNothing) => {}
            Lane::Second => state.second = batch.to,
        }
    }
}

/// The lanes of the rows of a transaction, now.
fn rows(state: &State, at: u8) -> Vec<Lane> {
    match state.log[usize::from(at)] {
        Write::Row(lane) => vec![lane],
        Write::Both => vec![Lane::First, Lane::Second],
        Write::ReadAgain if state.log.len().is_multiple_of(2) => vec![Lane::First],
        Write::ReadAgain => vec![Lane::Second],
    }
}

/// Where it is written down that the row is applied.
fn place(write: Write, row: Lane) -> usize {
    match (write, row) {
        (Write::ReadAgain, _) | (_, Lane::Second) => 1,
        (_, Lane::First) => 0,
    }
}

fn number(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}
