//! The possible actions.

use super::state::{CopySlot, CopyState, CopyTxn, CopyUnit, Snapshot};
use super::{CopyRule, Copying};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyAction {
    /// A client's transaction gets an xid and locks its rows.
    Start(usize),
    /// Its commit record is written to the log.
    Log(usize),
    /// It leaves the proc array (it becomes visible) and is acknowledged. With an asynchronous commit there is no flush
    /// before.
    End(usize),
    Flush,
    CreateSlot,
    /// The unit begins to read with the slot's own snapshot, while this snapshot exists.
    Import(usize),
    /// The unit takes an ordinary snapshot.
    Take(usize),
    /// The agent commits the barrier (G2) on the source, then rows and DONE record in one transaction on the target.
    Load(usize),
    /// The agent writes the received changes to its disk.
    Spool,
    /// The agent applies one source transaction, and its commit becomes durable.
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

    /// Adds the actions of the replay, which begins when every unit is DONE. Each commit is synchronous.
    fn possible_apply(&self, state: &CopyState, actions: &mut Vec<CopyAction>) {
        if state.target != state.durable {
            actions.push(CopyAction::FlushTarget);
        } else if state.applier > state.target.progress {
            actions.push(CopyAction::RecordProgress);
        } else if state.copied() && state.applier < state.source.flushed {
            actions.push(CopyAction::Apply);
        }
    }

    /// Returns the position that may be confirmed to the slot: the spool on disk or the target's progress covers
    /// everything before it (I3).
    pub(super) fn confirmable(&self, state: &CopyState) -> u8 {
        if self.is(CopyRule::ConfirmBeforeSpool) {
            state.source.flushed
        } else if self.is(CopyRule::FeedbackBeforeDurable) {
            state.spooled.max(state.target.progress)
        } else {
            state.kept()
        }
    }

    /// Returns a new snapshot. On a standby it lists no transactions in progress, although it does not see their
    /// changes.
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
