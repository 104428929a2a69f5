//! What can happen next, and what it does.

use super::state::{Phase, Record, SOURCE, Shard, State, Stream, TARGET};
use super::{Reverse, Rule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A client writes on a shard whose guards let it.
    Write(usize),
    /// The stream that reads this shard takes one record.
    Stream(usize),
    /// The controller's next step.
    Proceed,
    /// The reverse slot is made only now (one mutant).
    OpenReverse,
    /// The operator asks to finish; the request is served later.
    AskToFinish,
    Finish,
    RollBack,
    GiveUpRollBack,
    /// One batch of the drop.
    Drop,
    /// A batch hangs; the drop goes on with another session.
    HangDrop,
    ServeHungDrop,
}

impl Reverse {
    pub(super) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        let [source, target] = &state.shards;
        let waits = |shard: usize| {
            let stream = state.streams[shard];
            stream.is_some_and(|stream| stream.at < state.shards[shard].log.len())
        };
        let phase = state.phase;
        let is_rival = |allowed: bool| allowed || self.is(Rule::FinishWithoutCas);
        let may_drop =
            phase == Phase::Dropping || phase == Phase::Hold && self.is(Rule::DropInHold);
        let has_rows = !source.rows.is_empty();
        let reverse_is_late = phase == Phase::Hold && state.streams[TARGET].is_none();
        let candidates = [
            (
                source.is_open() && state.written < self.writes,
                Action::Write(SOURCE),
            ),
            (
                target.is_open() && state.written < self.writes,
                Action::Write(TARGET),
            ),
            (waits(SOURCE), Action::Stream(SOURCE)),
            (waits(TARGET), Action::Stream(TARGET)),
            (self.may_proceed(state), Action::Proceed),
            (
                reverse_is_late && self.is(Rule::ReverseAfterOpen),
                Action::OpenReverse,
            ),
            (
                phase == Phase::Hold && !state.finishing,
                Action::AskToFinish,
            ),
            (
                state.finishing && is_rival(phase == Phase::Hold) && !state.completed,
                Action::Finish,
            ),
            (phase == Phase::Hold && !reverse_is_late, Action::RollBack),
            (
                phase == Phase::RollbackSealed && state.given_up == 0,
                Action::GiveUpRollBack,
            ),
            (may_drop && has_rows, Action::Drop),
            (may_drop && has_rows && !state.hung, Action::HangDrop),
            (state.zombie.is_some(), Action::ServeHungDrop),
        ];
        actions.extend(candidates.iter().filter(|c| c.0).map(|c| c.1));
    }

    fn may_proceed(&self, state: &State) -> bool {
        let drained = |shard: usize| {
            state.streams[shard].is_some_and(|stream| stream.at == state.shards[shard].log.len())
        };
        match state.phase {
            Phase::Sealed => drained(SOURCE),
            Phase::RollbackSealed => drained(TARGET),
            Phase::Hold | Phase::Withdrawn | Phase::Returned => false,
            Phase::Dropping => state.shards[SOURCE].rows.is_empty() || self.is(Rule::NoAdmission),
            Phase::DualWrite | Phase::ReverseReady | Phase::Drained | Phase::Flipped => true,
            Phase::Marked | Phase::ForwardReady | Phase::RollbackDrained => true,
            Phase::RolledBack | Phase::RollbackMarked | Phase::SecondHold => true,
            Phase::Completed | Phase::Dropped | Phase::ReturnGuarded => true,
            Phase::ReturnReady | Phase::ReturnSealed | Phase::ReturnCopied => true,
        }
    }

    pub(super) fn perform(&self, state: &mut State, action: Action) {
        match action {
            Action::Write(shard) => {
                let shard = &mut state.shards[shard];
                shard.log.push(Record::Write(state.written));
                shard.rows.push(state.written);
                state.written += 1;
            }
            Action::Stream(shard) => self.stream(state, shard),
            Action::Proceed => self.proceed(state),
            Action::OpenReverse => open_stream(state, TARGET),
            Action::AskToFinish => state.finishing = true,
            Action::Finish => {
                state.completed = true;
                if state.phase == Phase::Hold {
                    state.phase = Phase::Completed;
                }
            }
            Action::RollBack => {
                // The way forward is made again before the fence (I6).
                if !self.is(Rule::NoForwardAgain) {
                    open_stream(state, SOURCE);
                }
                state.phase = Phase::ForwardReady;
            }
            Action::GiveUpRollBack => {
                state.given_up += 1;
                state.streams[SOURCE] = None;
                state.shards[TARGET].guards[0] = Some(true);
                state.phase = Phase::Hold;
            }
            Action::Drop => drop_batch(state),
            Action::HangDrop => {
                state.hung = true;
                state.zombie = Some(state.epoch);
            }
            Action::ServeHungDrop => {
                // Each batch proves the shard's epoch and reads the register as closed (I8).
                let proven = state.zombie == Some(state.epoch) || self.is(Rule::DropOfOwnEpoch);
                state.zombie = None;
                if proven && !state.shards[SOURCE].is_open() {
                    drop_batch(state);
                }
            }
        }
    }

    /// Everything before the open marker was ours.
    fn stream(&self, state: &mut State, from: usize) {
        let Some(mut stream) = state.streams[from] else {
            return;
        };
        let record = state.shards[from].log[stream.at];
        stream.at += 1;
        stream.applies |= record == Record::OpenMarker;
        state.streams[from] = Some(stream);
        let (Record::Write(write) | Record::Applied(write)) = record else {
            return;
        };
        if stream.applies || self.is(Rule::NoOpenMarker) {
            let to = &mut state.shards[1 - from];
            state.doubled |= to.rows.contains(&write);
            to.rows.push(write);
            to.log.push(Record::Applied(write));
        }
    }

    fn proceed(&self, state: &mut State) {
        let [source, target] = &mut state.shards;
        state.phase = match state.phase {
            Phase::DualWrite => self.open_reverse(state),
            Phase::ReverseReady => {
                source.guards[0] = Some(false);
                Phase::Sealed
            }
            Phase::Sealed => {
                if !self.is(Rule::ForwardLivesOn) {
                    state.streams[SOURCE] = None;
                }
                Phase::Drained
            }
            Phase::Drained => Phase::Flipped,
            Phase::Flipped => {
                target.log.push(Record::OpenMarker);
                Phase::Marked
            }
            Phase::Marked => {
                target.guards[0] = Some(true);
                Phase::Hold
            }
            Phase::ForwardReady => {
                target.guards[0] = Some(false);
                Phase::RollbackSealed
            }
            Phase::RollbackSealed => {
                state.streams[TARGET] = None;
                Phase::RollbackDrained
            }
            Phase::RollbackDrained => Phase::RolledBack,
            Phase::RolledBack => {
                source.log.push(Record::OpenMarker);
                Phase::RollbackMarked
            }
            Phase::RollbackMarked => {
                source.guards[0] = Some(true);
                Phase::SecondHold
            }
            Phase::SecondHold => {
                state.streams[SOURCE] = None;
                target.rows.clear();
                Phase::Withdrawn
            }
            Phase::Completed => {
                if !self.is(Rule::DropBesideStream) {
                    state.streams[TARGET] = None;
                }
                Phase::Dropping
            }
            Phase::Dropping => Phase::Dropped,
            Phase::Dropped => {
                state.epoch += 1;
                self.put_guard(source)
            }
            Phase::ReturnGuarded => self.replace_guard(source),
            Phase::ReturnReady => {
                target.guards[0] = Some(false);
                Phase::ReturnSealed
            }
            Phase::ReturnSealed => copy_back(state),
            Phase::ReturnCopied => {
                source.guards[1] = Some(true);
                Phase::Returned
            }
            Phase::Hold | Phase::Withdrawn | Phase::Returned => state.phase,
        };
    }

    /// The reverse slot is made before the fence (I6).
    fn open_reverse(&self, state: &mut State) -> Phase {
        if !self.is(Rule::ReverseAfterOpen) {
            open_stream(state, TARGET);
        }
        Phase::ReverseReady
    }

    /// The move back meets the guard of keys that were given away: the new one stands first (R12).
    fn put_guard(&self, source: &mut Shard) -> Phase {
        if self.is(Rule::OldGuardFirst) {
            source.guards[0] = None;
        } else {
            source.guards[1] = Some(false);
        }
        Phase::ReturnGuarded
    }

    fn replace_guard(&self, source: &mut Shard) -> Phase {
        source.guards[1] = Some(false);
        if !self.is(Rule::OldGuardStays) {
            source.guards[0] = None;
        }
        Phase::ReturnReady
    }
}

fn copy_back(state: &mut State) -> Phase {
    let [source, target] = &mut state.shards;
    state.doubled |= !source.rows.is_empty();
    source.rows.extend(&target.rows);
    Phase::ReturnCopied
}

fn open_stream(state: &mut State, from: usize) {
    let at = state.shards[from].log.len();
    state.streams[from] = Some(Stream { at, applies: false });
}

fn drop_batch(state: &mut State) {
    state.dropped_early |= !state.completed || state.streams.iter().any(Option::is_some);
    let rows = &mut state.shards[SOURCE].rows;
    if !rows.is_empty() {
        rows.remove(0);
    }
}
