//! What an action does.

use super::actions::Action;
use super::state::{Record, Slot, State, Txn, Unit, changes, position, replay, write};
use super::{Copying, Rule};

impl Copying {
    pub(super) fn perform(&self, state: &mut State, action: Action) {
        match action {
            Action::Start(txn) => {
                state.source.txns[txn] = Txn::Running {
                    xid: state.source.next_xid,
                };
                state.source.next_xid += 1;
            }
            Action::Log(txn) => log_commit(state, txn),
            Action::End(txn) => {
                state.source.txns[txn] = Txn::Ended;
                write(&mut state.source.rows, Some(position(txn)));
            }
            Action::Flush => state.source.flushed = position(state.source.log.len()),
            Action::CreateSlot => create_slot(state),
            Action::Import(unit) => import(state, unit),
            Action::Take(unit) => {
                let image = state.source.rows[unit];
                let lsn = if self.is(Rule::LsnFilter) {
                    position(state.source.log.len())
                } else {
                    0
                };
                state.units[unit] = Unit::Copying {
                    snapshot: self.snapshot(state),
                    lsn,
                    image,
                };
            }
            Action::Load(unit) => self.load(state, unit),
            Action::Spool => state.spooled = state.source.flushed,
            Action::Apply => self.apply(state),
            Action::RecordProgress => state.target.progress = state.applier,
            Action::FlushTarget => state.durable = state.target,
            Action::CrashSource => crash_source(state),
            Action::CrashAgent => end_copies(state),
            Action::CrashTarget => state.target = state.durable,
        }
        if matches!(
            action,
            Action::CrashSource | Action::CrashAgent | Action::CrashTarget
        ) {
            reconnect(state);
        }
        self.confirm(state);
    }

    /// The slot is told at once what it may forget: nothing else could lose more.
    fn confirm(&self, state: &mut State) {
        let confirmable = self.confirmable(state);
        if let Some(slot) = &mut state.slot {
            slot.confirmed = slot.confirmed.max(confirmable);
        }
    }

    fn load(&self, state: &mut State, unit: usize) {
        if let Unit::Copying {
            snapshot,
            lsn,
            image,
        } = state.units[unit]
        {
            if !self.is(Rule::NoBarrier) {
                let xid = state.source.next_xid;
                state.source.next_xid += 1;
                state.source.log.push(Record { xid, program: None });
                state.source.flushed = position(state.source.log.len());
            }
            let barrier = position(state.source.log.len());
            done(
                state,
                unit,
                Unit::Done {
                    snapshot,
                    lsn,
                    barrier,
                },
                image,
            );
        }
    }

    /// One transaction of the log: each change that the copy does not hold already touches one row.
    fn apply(&self, state: &mut State) {
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
        if !self.is(Rule::ProgressApart) {
            state.target.progress = at + 1;
        }
    }

    /// The visibility filter, for each row image by the snapshot of its own unit.
    fn is_in_copy(&self, state: &State, record: Record, at: u8, key: usize) -> bool {
        let by = if self.is(Rule::TransactionFilter) {
            changes(record.program)[0].0
        } else {
            key
        };
        match state.units[by] {
            Unit::Done { lsn, .. } if self.is(Rule::LsnFilter) => at < lsn,
            Unit::Done { snapshot, .. } => snapshot.sees(record.xid),
            Unit::Pending | Unit::Copying { .. } => false,
        }
    }
}

fn import(state: &mut State, unit: usize) {
    if let Some(Slot {
        snapshot, start, ..
    }) = state.slot
    {
        let image = replay(&state.source.log, start)[unit];
        done(
            state,
            unit,
            Unit::Done {
                snapshot,
                lsn: start,
                barrier: start,
            },
            image,
        );
    }
}

fn done(state: &mut State, unit: usize, mark: Unit, image: Option<u8>) {
    state.units[unit] = mark;
    state.target.rows[unit] = image;
    state.durable.rows[unit] = image;
}

fn log_commit(state: &mut State, txn: usize) {
    if let Txn::Running { xid } = state.source.txns[txn] {
        state.source.txns[txn] = Txn::Logged { xid };
        state.source.log.push(Record {
            xid,
            program: Some(position(txn)),
        });
    }
}

fn create_slot(state: &mut State) {
    let start = position(state.source.log.len());
    state.source.flushed = start;
    let snapshot = state.source.slot_snapshot();
    state.slot = Some(Slot {
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

/// What is not flushed is lost, and with it the slot's exported snapshot.
fn crash_source(state: &mut State) {
    let floor = state.slot.map_or(1, |slot| slot.snapshot.xmax);
    state.source.crash(floor);
    if let Some(slot) = &mut state.slot {
        slot.held = false;
    }
    end_copies(state);
}

/// Snapshots end with the sessions that took them.
fn end_copies(state: &mut State) {
    for unit in &mut state.units {
        if matches!(unit, Unit::Copying { .. }) {
            *unit = Unit::Pending;
        }
    }
}

/// A slot sends nothing from before its confirmed position, and does not say so.
fn reconnect(state: &mut State) {
    state.crashes += 1;
    state.applier = state.target.progress;
    state.halted |= state.slot.is_some_and(|slot| slot.confirmed > state.kept());
}
