//! The effects of the actions.

use super::actions::CopyAction;
use super::state::{
    CommitRecord, CopySlot, CopyState, CopyTxn, CopyUnit, changes, position, replay, write,
};
use super::{CopyRule, Copying};

impl Copying {
    pub(super) fn perform(&self, state: &mut CopyState, action: CopyAction) {
        match action {
            CopyAction::Start(txn) => {
                state.source.txns[txn] = CopyTxn::Running {
                    xid: state.source.next_xid,
                };
                state.source.next_xid += 1;
            }
            CopyAction::Log(txn) => log_commit(state, txn),
            CopyAction::End(txn) => {
                state.source.txns[txn] = CopyTxn::Ended;
                write(&mut state.source.rows, Some(position(txn)));
            }
            CopyAction::Flush => state.source.flushed = position(state.source.log.len()),
            CopyAction::CreateSlot => create_slot(state),
            CopyAction::Import(unit) => import(state, unit),
            CopyAction::Take(unit) => {
                let image = state.source.rows[unit];
                let lsn = if self.is(CopyRule::LsnFilter) {
                    position(state.source.log.len())
                } else {
                    0
                };
                state.units[unit] = CopyUnit::Copying {
                    snapshot: self.snapshot(state),
                    lsn,
                    image,
                };
            }
            CopyAction::Load(unit) => self.load(state, unit),
            CopyAction::Spool => state.spooled = state.source.flushed,
            CopyAction::Apply => self.apply(state),
            CopyAction::RecordProgress => state.target.progress = state.applier,
            CopyAction::FlushTarget => state.durable = state.target,
            CopyAction::CrashSource => crash_source(state),
            CopyAction::CrashAgent => end_copies(state),
            CopyAction::CrashTarget => state.target = state.durable,
        }
        if matches!(
            action,
            CopyAction::CrashSource | CopyAction::CrashAgent | CopyAction::CrashTarget
        ) {
            reconnect(state);
        }
        self.confirm(state);
    }

    /// Confirms a position to the slot as early as possible, which is the worst case.
    fn confirm(&self, state: &mut CopyState) {
        let confirmable = self.confirmable(state);
        if let Some(slot) = &mut state.slot {
            slot.confirmed = slot.confirmed.max(confirmable);
        }
    }

    fn load(&self, state: &mut CopyState, unit: usize) {
        if let CopyUnit::Copying {
            snapshot,
            lsn,
            image,
        } = state.units[unit]
        {
            if !self.is(CopyRule::NoBarrier) {
                let xid = state.source.next_xid;
                state.source.next_xid += 1;
                state.source.log.push(CommitRecord { xid, program: None });
                state.source.flushed = position(state.source.log.len());
            }
            let barrier = position(state.source.log.len());
            done(
                state,
                unit,
                CopyUnit::Done {
                    snapshot,
                    lsn,
                    barrier,
                },
                image,
            );
        }
    }

    /// Applies one transaction of the log. Each change that the copy does not contain must affect one row.
    fn apply(&self, state: &mut CopyState) {
        let at = state.applier;
        let record = state.source.log[usize::from(at)];
        let mut rows = state.target.rows;
        let before = replay(&state.source.log, at);
        for &(key, value) in changes(record.program) {
            if self.is_in_copy(state, record, at, key) {
                continue;
            }
            state.halted |= rows[key].is_some() != before[key].is_some();
            rows[key] = value;
        }
        state.target.rows = rows;
        state.applier = at + 1;
        if !self.is(CopyRule::ProgressApart) {
            state.target.progress = at + 1;
        }
    }

    /// The visibility filter: uses for each row image the snapshot of its own unit.
    fn is_in_copy(&self, state: &CopyState, record: CommitRecord, at: u8, key: usize) -> bool {
        let by = if self.is(CopyRule::TransactionFilter) {
            changes(record.program)[0].0
        } else {
            key
        };
        match state.units[by] {
            CopyUnit::Done { lsn, .. } if self.is(CopyRule::LsnFilter) => at < lsn,
            CopyUnit::Done { snapshot, .. } => snapshot.sees(record.xid),
            CopyUnit::Pending | CopyUnit::Copying { .. } => false,
        }
    }
}

fn import(state: &mut CopyState, unit: usize) {
    if let Some(CopySlot {
        snapshot, start, ..
    }) = state.slot
    {
        let image = replay(&state.source.log, start)[unit];
        done(
            state,
            unit,
            CopyUnit::Done {
                snapshot,
                lsn: start,
                barrier: start,
            },
            image,
        );
    }
}

fn done(state: &mut CopyState, unit: usize, mark: CopyUnit, image: Option<u8>) {
    state.units[unit] = mark;
    state.target.rows[unit] = image;
    state.durable.rows[unit] = image;
}

fn log_commit(state: &mut CopyState, txn: usize) {
    if let CopyTxn::Running { xid } = state.source.txns[txn] {
        state.source.txns[txn] = CopyTxn::Logged { xid };
        state.source.log.push(CommitRecord {
            xid,
            program: Some(position(txn)),
        });
    }
}

fn create_slot(state: &mut CopyState) {
    let start = position(state.source.log.len());
    state.source.flushed = start;
    let snapshot = state.source.slot_snapshot();
    state.slot = Some(CopySlot {
        start,
        snapshot,
        held: true,
        confirmed: start,
    });
    state.spooled = start;
    state.applier = start;
    state.target.progress = start;
    state.durable.progress = start;
}

/// Crashes the source. Unflushed records and the slot's exported snapshot are lost.
fn crash_source(state: &mut CopyState) {
    let floor = state.slot.map_or(1, |slot| slot.snapshot.xmax);
    state.source.crash(floor);
    if let Some(slot) = &mut state.slot {
        slot.held = false;
    }
    end_copies(state);
}

/// Ends the copies: a snapshot ends with its session.
fn end_copies(state: &mut CopyState) {
    for unit in &mut state.units {
        if matches!(unit, CopyUnit::Copying { .. }) {
            *unit = CopyUnit::Pending;
        }
    }
}

/// Reconnects to the slot. It sends nothing before its confirmed position, and does not report a gap.
fn reconnect(state: &mut CopyState) {
    state.crashes += 1;
    state.applier = state.target.progress;
    state.halted |= state.slot.is_some_and(|slot| slot.confirmed > state.kept());
}
