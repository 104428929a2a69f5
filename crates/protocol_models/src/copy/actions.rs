//! What can happen next.

use super::state::{Slot, Snapshot, State, Txn, Unit};
use super::{Copying, Rule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A client's transaction takes an xid and its row locks.
    Start(usize),
    /// Its commit record enters the log.
    Log(usize),
    /// It leaves the proc array and is acknowledged: with or without a flush before (asynchronous).
    End(usize),
    Flush,
    CreateSlot,
    /// The unit reads under the slot's own snapshot, while that is held.
    Import(usize),
    /// The unit takes an ordinary snapshot.
    Take(usize),
    /// The barrier (G2), then rows and DONE mark in one transaction on the target.
    Load(usize),
    /// What the slot has sent so far is written to the agent's disk.
    Spool,
    /// One source transaction is applied; then its commit is durable.
    Apply,
    RecordProgress,
    FlushTarget,
    CrashSource,
    CrashAgent,
    CrashTarget,
}

impl Copying {
    pub(super) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        if state.halted {
            return;
        }
        let source = &state.source;
        for (index, txn) in source.txns.iter().enumerate() {
            match txn {
                Txn::Idle if source.may_start(index) => actions.push(Action::Start(index)),
                Txn::Running { .. } => actions.push(Action::Log(index)),
                Txn::Logged { .. } => actions.push(Action::End(index)),
                Txn::Idle | Txn::Ended => {}
            }
        }
        if usize::from(source.flushed) < source.log.len() {
            actions.push(Action::Flush);
        }
        match state.slot {
            None => actions.push(Action::CreateSlot),
            Some(slot) => self.possible_with(state, slot, actions),
        }
    }

    fn possible_with(&self, state: &State, slot: Slot, actions: &mut Vec<Action>) {
        for (index, unit) in state.units.iter().enumerate() {
            match unit {
                Unit::Pending => {
                    if slot.held {
                        actions.push(Action::Import(index));
                    }
                    if self.is(Rule::NoGate) || self.snapshot(state).dominates(slot.snapshot) {
                        actions.push(Action::Take(index));
                    }
                }
                Unit::Copying { .. } => actions.push(Action::Load(index)),
                Unit::Done { .. } => {}
            }
        }
        if !state.copied() && state.spooled < state.source.flushed {
            actions.push(Action::Spool);
        }
        self.possible_apply(state, actions);
        if state.crashes < self.crashes {
            actions.extend([Action::CrashSource, Action::CrashAgent, Action::CrashTarget]);
        }
    }

    /// Replay begins when every unit is DONE; each commit is synchronous.
    fn possible_apply(&self, state: &State, actions: &mut Vec<Action>) {
        if state.target != state.durable {
            actions.push(Action::FlushTarget);
        } else if state.applier > state.target.progress {
            actions.push(Action::RecordProgress);
        } else if state.copied() && state.applier < state.source.flushed {
            actions.push(Action::Apply);
        }
    }

    /// The spool keeps what was not applied, so its disk or the target's progress may be confirmed (I3).
    pub(super) fn confirmable(&self, state: &State) -> u8 {
        if self.is(Rule::ConfirmBeforeSpool) {
            state.source.flushed
        } else if self.is(Rule::FeedbackBeforeDurable) {
            state.spooled.max(state.target.progress)
        } else {
            state.kept()
        }
    }

    /// A standby lists no transactions in progress, although it does not see them either.
    pub(super) fn snapshot(&self, state: &State) -> Snapshot {
        let snapshot = state.source.snapshot();
        if self.is(Rule::StandbySnapshot) {
            Snapshot {
                in_progress: 0,
                ..snapshot
            }
        } else {
            snapshot
        }
    }
}
