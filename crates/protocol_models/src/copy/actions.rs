//! What can happen next.

use super::state::{CopySlot, CopyState, CopyTxn, CopyUnit, Snapshot};
use super::{CopyRule, Copying};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyAction {
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
    pub(super) fn possible(&self, state: &CopyState, actions: &mut Vec<CopyAction>) {
        if state.halted {
            return;
        }
        let source = &state.source;
        for (index, txn) in source.txns.iter().enumerate() {
            match txn {
                CopyTxn::Idle if source.may_start(index) => actions.push(CopyAction::Start(index)),
                CopyTxn::Running { .. } => actions.push(CopyAction::Log(index)),
                CopyTxn::Logged { .. } => actions.push(CopyAction::End(index)),
                CopyTxn::Idle | CopyTxn::Ended => {}
            }
        }
        if usize::from(source.flushed) < source.log.len() {
            actions.push(CopyAction::Flush);
        }
        match state.slot {
            None => actions.push(CopyAction::CreateSlot),
            Some(slot) => self.possible_with(state, slot, actions),
        }
    }

    fn possible_with(&self, state: &CopyState, slot: CopySlot, actions: &mut Vec<CopyAction>) {
        for (index, unit) in state.units.iter().enumerate() {
            match unit {
                CopyUnit::Pending => {
                    if slot.held {
                        actions.push(CopyAction::Import(index));
                    }
                    if self.is(CopyRule::NoGate) || self.snapshot(state).dominates(slot.snapshot) {
                        actions.push(CopyAction::Take(index));
                    }
                }
                CopyUnit::Copying { .. } => actions.push(CopyAction::Load(index)),
                CopyUnit::Done { .. } => {}
            }
        }
        if !state.copied() && state.spooled < state.source.flushed {
            actions.push(CopyAction::Spool);
        }
        self.possible_apply(state, actions);
        if state.crashes < self.crashes {
            actions.extend([
                CopyAction::CrashSource,
                CopyAction::CrashAgent,
                CopyAction::CrashTarget,
            ]);
        }
    }

    /// Replay begins when every unit is DONE; each commit is synchronous.
    fn possible_apply(&self, state: &CopyState, actions: &mut Vec<CopyAction>) {
        if state.target != state.durable {
            actions.push(CopyAction::FlushTarget);
        } else if state.applier > state.target.progress {
            actions.push(CopyAction::RecordProgress);
        } else if state.copied() && state.applier < state.source.flushed {
            actions.push(CopyAction::Apply);
        }
    }

    /// The spool keeps what was not applied, so its disk or the target's progress may be confirmed (I3).
    pub(super) fn confirmable(&self, state: &CopyState) -> u8 {
        if self.is(CopyRule::ConfirmBeforeSpool) {
            state.source.flushed
        } else if self.is(CopyRule::FeedbackBeforeDurable) {
            state.spooled.max(state.target.progress)
        } else {
            state.kept()
        }
    }

    /// A standby lists no transactions in progress, although it does not see them either.
    pub(super) fn snapshot(&self, state: &CopyState) -> Snapshot {
        let snapshot = state.source.snapshot();
        if self.is(CopyRule::StandbySnapshot) {
            Snapshot {
                in_progress: 0,
                ..snapshot
            }
        } else {
            snapshot
        }
    }
}
