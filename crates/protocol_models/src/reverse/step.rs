//! The possible actions and their effects.

use super::state::{
    ReversePhase, ReverseRecord, ReverseShard, ReverseStandby, ReverseState, ReverseStream, SOURCE,
    TARGET,
};
use super::{Reverse, ReverseRule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReverseAction {
    /// A client writes on a shard whose guards accept the write.
    Write(usize),
    /// The stream that reads this shard processes one record.
    Stream(usize),
    /// The controller executes its next step.
    Proceed,
    /// The reverse slot is created only now (one mutant).
    OpenReverse,
    /// The operator requests to finish. The request is served later.
    AskToFinish,
    Finish,
    RollBack,
    GiveUpRollBack,
    /// A standby gets the source's present state. It receives nothing more.
    CopyStandby,
    /// The agent confirms the reverse slot.
    Confirm,
    /// The standby takes the place of the source in the hold.
    FailOver,
    /// One batch of the removal.
    Drop,
    /// A batch hangs. The removal continues in another session.
    HangDrop,
    ServeHungDrop,
}

impl Reverse {
    pub(super) fn possible(&self, state: &ReverseState, actions: &mut Vec<ReverseAction>) {
        let [source, target] = &state.shards;
        let waits = |shard: usize| {
            let stream = state.streams[shard];
            stream.is_some_and(|stream| stream.at < state.shards[shard].log.len())
        };
        let phase = state.phase;
        let is_rival = |allowed: bool| allowed || self.is(ReverseRule::FinishWithoutCas);
        let may_drop = phase == ReversePhase::Dropping
            || phase == ReversePhase::Hold && self.is(ReverseRule::DropInHold);
        let has_rows = !source.rows.is_empty();
        let reverse_is_late = phase == ReversePhase::Hold && state.streams[TARGET].is_none();
        let in_hold = phase == ReversePhase::Hold && state.streams[TARGET].is_some();
        let candidates = [
            (
                source.is_open() && state.written < self.writes,
                ReverseAction::Write(SOURCE),
            ),
            (
                target.is_open() && state.written < self.writes,
                ReverseAction::Write(TARGET),
            ),
            (waits(SOURCE), ReverseAction::Stream(SOURCE)),
            (waits(TARGET), ReverseAction::Stream(TARGET)),
            (self.may_proceed(state), ReverseAction::Proceed),
            (
                reverse_is_late && self.is(ReverseRule::ReverseAfterOpen),
                ReverseAction::OpenReverse,
            ),
            (
                phase == ReversePhase::Hold && !state.finishing,
                ReverseAction::AskToFinish,
            ),
            (
                state.finishing && is_rival(phase == ReversePhase::Hold) && !state.completed,
                ReverseAction::Finish,
            ),
            (
                phase == ReversePhase::Hold && !reverse_is_late,
                ReverseAction::RollBack,
            ),
            (
                phase == ReversePhase::RollbackSealed && state.given_up == 0,
                ReverseAction::GiveUpRollBack,
            ),
            (
                in_hold && !state.failed_over && state.standby.is_none(),
                ReverseAction::CopyStandby,
            ),
            (
                in_hold && self.confirmable(state) > state.confirmed,
                ReverseAction::Confirm,
            ),
            (in_hold && state.standby.is_some(), ReverseAction::FailOver),
            (may_drop && has_rows, ReverseAction::Drop),
            (may_drop && has_rows && !state.hung, ReverseAction::HangDrop),
            (state.zombie.is_some(), ReverseAction::ServeHungDrop),
        ];
        actions.extend(candidates.iter().filter(|c| c.0).map(|c| c.1));
    }

    fn may_proceed(&self, state: &ReverseState) -> bool {
        let drained = |shard: usize| {
            state.streams[shard].is_some_and(|stream| stream.at == state.shards[shard].log.len())
        };
        match state.phase {
            ReversePhase::Sealed => drained(SOURCE),
            ReversePhase::RollbackSealed => drained(TARGET),
            ReversePhase::Hold | ReversePhase::Withdrawn | ReversePhase::Returned => false,
            ReversePhase::Dropping => {
                state.shards[SOURCE].rows.is_empty() || self.is(ReverseRule::NoAdmission)
            }
            ReversePhase::DualWrite
            | ReversePhase::ReverseReady
            | ReversePhase::Drained
            | ReversePhase::Flipped => true,
            ReversePhase::Marked | ReversePhase::ForwardReady | ReversePhase::RollbackDrained => {
                true
            }
            ReversePhase::RolledBack | ReversePhase::RollbackMarked | ReversePhase::SecondHold => {
                true
            }
            ReversePhase::Completed | ReversePhase::Dropped | ReversePhase::ReturnGuarded => true,
            ReversePhase::ReturnReady | ReversePhase::ReturnSealed | ReversePhase::ReturnCopied => {
                true
            }
        }
    }

    pub(super) fn perform(&self, state: &mut ReverseState, action: ReverseAction) {
        match action {
            ReverseAction::Write(shard) => {
                let shard = &mut state.shards[shard];
                shard.log.push(ReverseRecord::Write(state.written));
                shard.rows.push(state.written);
                state.written += 1;
            }
            ReverseAction::Stream(shard) => self.stream(state, shard),
            ReverseAction::Proceed => self.proceed(state),
            ReverseAction::OpenReverse => open_stream(state, TARGET),
            ReverseAction::AskToFinish => state.finishing = true,
            ReverseAction::Finish => {
                state.completed = true;
                if state.phase == ReversePhase::Hold {
                    state.phase = ReversePhase::Completed;
                }
            }
            ReverseAction::RollBack => {
                // The forward stream is created again before the fence (I6).
                if !self.is(ReverseRule::NoForwardAgain) {
                    open_stream(state, SOURCE);
                }
                state.phase = ReversePhase::ForwardReady;
            }
            ReverseAction::GiveUpRollBack => {
                state.given_up += 1;
                state.streams[SOURCE] = None;
                state.shards[TARGET].guards[0] = Some(true);
                state.phase = ReversePhase::Hold;
            }
            ReverseAction::CopyStandby => {
                state.standby = state.streams[TARGET].map(|stream| ReverseStandby {
                    source: state.shards[SOURCE].clone(),
                    stream,
                });
            }
            ReverseAction::Confirm => state.confirmed = self.confirmable(state),
            ReverseAction::FailOver => self.fail_over(state),
            ReverseAction::Drop => drop_batch(state),
            ReverseAction::HangDrop => {
                state.hung = true;
                state.zombie = Some(state.epoch);
            }
            ReverseAction::ServeHungDrop => {
                // Each batch proves the shard's epoch, and checks that the register is closed (I8).
                let proven =
                    state.zombie == Some(state.epoch) || self.is(ReverseRule::DropOfOwnEpoch);
                state.zombie = None;
                if proven && !state.shards[SOURCE].is_open() {
                    drop_batch(state);
                }
            }
        }
    }

    /// The reverse slot may be confirmed up to the progress that the standby has flushed.
    fn confirmable(&self, state: &ReverseState) -> usize {
        let standby = state.standby.as_ref().map(|standby| standby.stream.at);
        let standby = standby.filter(|_| !self.is(ReverseRule::ConfirmPastStandby));
        let applied = state.streams[TARGET].map_or(0, |stream| stream.at);
        standby.unwrap_or(applied)
    }

    /// The stream continues at the progress that the promoted server has. The slot sends nothing that was confirmed.
    fn fail_over(&self, state: &mut ReverseState) {
        let Some(standby) = state.standby.take() else {
            return;
        };
        state.failed_over = true;
        state.shards[SOURCE] = standby.source;
        if !self.is(ReverseRule::KeepProgress) {
            state.streams[TARGET] = Some(ReverseStream {
                at: standby.stream.at.max(state.confirmed),
                ..standby.stream
            });
        }
    }

    /// The stream ignores records before the open marker, because Shardwright has written them.
    fn stream(&self, state: &mut ReverseState, from: usize) {
        let Some(mut stream) = state.streams[from] else {
            return;
        };
        let record = state.shards[from].log[stream.at];
        stream.at += 1;
        stream.applies |= record == ReverseRecord::OpenMarker;
        state.streams[from] = Some(stream);
        let (ReverseRecord::Write(write) | ReverseRecord::Applied(write)) = record else {
            return;
        };
        if stream.applies || self.is(ReverseRule::NoOpenMarker) {
            let to = &mut state.shards[1 - from];
            state.doubled |= to.rows.contains(&write);
            to.rows.push(write);
            to.log.push(ReverseRecord::Applied(write));
        }
    }

    fn proceed(&self, state: &mut ReverseState) {
        let [source, target] = &mut state.shards;
        state.phase = match state.phase {
            ReversePhase::DualWrite => self.open_reverse(state),
            ReversePhase::ReverseReady => {
                source.guards[0] = Some(false);
                ReversePhase::Sealed
            }
            ReversePhase::Sealed => {
                if !self.is(ReverseRule::ForwardLivesOn) {
                    state.streams[SOURCE] = None;
                }
                ReversePhase::Drained
            }
            ReversePhase::Drained => ReversePhase::Flipped,
            ReversePhase::Flipped => {
                target.log.push(ReverseRecord::OpenMarker);
                ReversePhase::Marked
            }
            ReversePhase::Marked => {
                target.guards[0] = Some(true);
                ReversePhase::Hold
            }
            ReversePhase::ForwardReady => {
                target.guards[0] = Some(false);
                ReversePhase::RollbackSealed
            }
            ReversePhase::RollbackSealed => {
                state.streams[TARGET] = None;
                ReversePhase::RollbackDrained
            }
            ReversePhase::RollbackDrained => ReversePhase::RolledBack,
            ReversePhase::RolledBack => {
                source.log.push(ReverseRecord::OpenMarker);
                ReversePhase::RollbackMarked
            }
            ReversePhase::RollbackMarked => {
                source.guards[0] = Some(true);
                ReversePhase::SecondHold
            }
            ReversePhase::SecondHold => {
                state.streams[SOURCE] = None;
                target.rows.clear();
                ReversePhase::Withdrawn
            }
            ReversePhase::Completed => {
                if !self.is(ReverseRule::DropBesideStream) {
                    state.streams[TARGET] = None;
                }
                ReversePhase::Dropping
            }
            ReversePhase::Dropping => ReversePhase::Dropped,
            ReversePhase::Dropped => {
                state.epoch += 1;
                self.put_guard(source)
            }
            ReversePhase::ReturnGuarded => self.replace_guard(source),
            ReversePhase::ReturnReady => {
                target.guards[0] = Some(false);
                ReversePhase::ReturnSealed
            }
            ReversePhase::ReturnSealed => copy_back(state),
            ReversePhase::ReturnCopied => {
                source.guards[1] = Some(true);
                ReversePhase::Returned
            }
            ReversePhase::Hold | ReversePhase::Withdrawn | ReversePhase::Returned => state.phase,
        };
    }

    /// Creates the reverse slot before the fence (I6).
    fn open_reverse(&self, state: &mut ReverseState) -> ReversePhase {
        if !self.is(ReverseRule::ReverseAfterOpen) {
            open_stream(state, TARGET);
        }
        ReversePhase::ReverseReady
    }

    /// The move back finds the guard of the released keys. It first creates the new guard (R12).
    fn put_guard(&self, source: &mut ReverseShard) -> ReversePhase {
        if self.is(ReverseRule::OldGuardFirst) {
            source.guards[0] = None;
        } else {
            source.guards[1] = Some(false);
        }
        ReversePhase::ReturnGuarded
    }

    fn replace_guard(&self, source: &mut ReverseShard) -> ReversePhase {
        source.guards[1] = Some(false);
        if !self.is(ReverseRule::OldGuardStays) {
            source.guards[0] = None;
        }
        ReversePhase::ReturnReady
    }
}

fn copy_back(state: &mut ReverseState) -> ReversePhase {
    let [source, target] = &mut state.shards;
    state.doubled |= !source.rows.is_empty();
    source.rows.extend(&target.rows);
    ReversePhase::ReturnCopied
}

fn open_stream(state: &mut ReverseState, from: usize) {
    let at = state.shards[from].log.len();
    state.streams[from] = Some(ReverseStream { at, applies: false });
}

fn drop_batch(state: &mut ReverseState) {
    state.dropped_early |= !state.completed || state.streams.iter().any(Option::is_some);
    let rows = &mut state.shards[SOURCE].rows;
    if !rows.is_empty() {
        rows.remove(0);
    }
}
