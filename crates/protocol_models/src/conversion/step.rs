//! The actions of M11.

use super::state::{ConversionStage, ConversionState, SHARDS};
use super::{Conversion, ConversionRule};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConversionAction {
    /// A client writes a key on a shard, and its transaction ends.
    Write {
        key: usize,
        shard: usize,
    },
    Commit(usize),
    RollBack(usize),
    /// The agent enrols the conversion on a shard and reads the keys.
    Read(usize),
    /// The agent creates or replaces the guard on a shard.
    Guard(usize),
    /// The agent reads the keys of a shard again.
    ReadAgain(usize),
    WriteVersion,
    /// The agent replaces the guard of released keys on a shard.
    ReplaceReleased(usize),
    /// The agent removes the guard of the conversion on a shard.
    RemoveGuard(usize),
    End,
    /// The controller ends. An agent may still have the task to create a guard on a shard.
    Crash(Option<usize>),
    TakeOver,
    /// The agent of the earlier controller creates its guard.
    LateGuard,
}

impl Conversion {
    pub(super) fn possible(&self, state: &ConversionState, actions: &mut Vec<ConversionAction>) {
        use ConversionAction as Act;
        self.writes(state, actions);
        if state.late.is_some() {
            actions.push(Act::LateGuard);
        }
        let shards = || 0..SHARDS;
        match state.stage {
            ConversionStage::Reading => {
                let unread = shards().filter(|shard| state.shards[*shard].enrolled.is_none());
                actions.extend(unread.map(Act::Read));
            }
            ConversionStage::Closing => self.close(state, actions),
            ConversionStage::Finishing | ConversionStage::Withdrawing => {
                let left = shards().filter(|shard| state.shards[*shard].enrolled.is_some());
                for shard in left {
                    let replaced = state.shards[shard].released == self.released(state, shard);
                    let finishes = state.stage == ConversionStage::Finishing;
                    let removes_first = self.is(ConversionRule::RemovesGuardFirst);
                    if finishes && !replaced {
                        actions.push(Act::ReplaceReleased(shard));
                    }
                    if !finishes || replaced || removes_first {
                        actions.push(Act::RemoveGuard(shard));
                    }
                }
                if shards().all(|shard| state.shards[shard].enrolled.is_none()) {
                    actions.push(Act::End);
                }
            }
            ConversionStage::Orphaned => actions.push(Act::TakeOver),
            ConversionStage::Ended => {}
        }
        let runs = !matches!(
            state.stage,
            ConversionStage::Orphaned | ConversionStage::Ended
        );
        if runs && state.crashes < self.crashes {
            actions.push(Act::Crash(None));
            if state.stage == ConversionStage::Closing {
                actions.extend(shards().map(|shard| Act::Crash(Some(shard))));
            }
        }
    }

    /// The writes of clients: with the map before the conversion at any time, with the converted map once it is written.
    fn writes(&self, state: &ConversionState, actions: &mut Vec<ConversionAction>) {
        use ConversionAction as Act;
        for (index, key) in state.keys.iter().enumerate() {
            if key.open.is_some() {
                actions.extend([Act::Commit(index), Act::RollBack(index)]);
                continue;
            }
            let mut shards = vec![key.before];
            if state.is_written && key.converted != key.before {
                shards.push(key.converted);
            }
            for shard in shards {
                if state.accepts(shard, index) && !key.rows[shard] {
                    actions.push(Act::Write { key: index, shard });
                }
            }
        }
    }

    fn close(&self, state: &ConversionState, actions: &mut Vec<ConversionAction>) {
        use ConversionAction as Act;
        let waits = !self.is(ConversionRule::WaitsForNoWriter);
        let early = self.is(ConversionRule::ReadsBeforeGuard);
        for (shard, guards) in state.shards.iter().enumerate() {
            let is_current = guards.guard == Some(state.of_others(shard));
            let blocked = waits && state.has_open_transaction(shard);
            if !is_current && !blocked {
                actions.push(Act::Guard(shard));
            }
            if !guards.is_read_again && (is_current || early) {
                actions.push(Act::ReadAgain(shard));
            }
        }
        let is_closed = |shard: usize| {
            let guards = &state.shards[shard];
            let read = guards.is_read_again || self.is(ConversionRule::ReadsOnce);
            read && guards.guard == Some(state.of_others(shard))
        };
        let ready = match self.is(ConversionRule::WritesWithOneGuard) {
            true => (0..SHARDS).any(is_closed),
            false => (0..SHARDS).all(is_closed),
        };
        if ready {
            actions.push(Act::WriteVersion);
        }
    }

    /// Returns the keys that the guard of released keys of a shard refuses after the conversion.
    fn released(&self, state: &ConversionState, shard: usize) -> super::state::Keys {
        match self.is(ConversionRule::ReleasesNothing) {
            true => state.shards[shard].released,
            false => state.of_others(shard),
        }
    }

    pub(super) fn perform(&self, state: &mut ConversionState, action: ConversionAction) {
        use ConversionAction as Act;
        match action {
            Act::Write { key, shard } => state.keys[key].open = Some(shard),
            Act::Commit(key) => {
                if let Some(shard) = state.keys[key].open.take() {
                    state.has_wrong_write |= state.owner(key) != shard;
                    state.keys[key].rows[shard] = true;
                }
            }
            Act::RollBack(key) => state.keys[key].open = None,
            Act::Read(shard) => {
                state.shards[shard].enrolled = Some(state.epoch);
                keep_keys(state, shard);
                if state.shards.iter().all(|shard| shard.enrolled.is_some()) {
                    state.stage = ConversionStage::Closing;
                }
            }
            Act::Guard(shard) => {
                state.shards[shard].guard = Some(state.of_others(shard));
                state.shards[shard].is_read_again &= self.is(ConversionRule::ReadsBeforeGuard);
            }
            Act::ReadAgain(shard) => {
                state.shards[shard].is_read_again = true;
                if !self.is(ConversionRule::IgnoresLateKeys) && keep_keys(state, shard) {
                    state.has_kept_late_key = true;
                }
            }
            Act::WriteVersion => {
                state.is_written = true;
                state.stage = ConversionStage::Finishing;
            }
            Act::ReplaceReleased(shard) => {
                state.shards[shard].released = self.released(state, shard);
            }
            Act::RemoveGuard(shard) => {
                state.shards[shard].guard = None;
                let leaves = state.stage == ConversionStage::Withdrawing
                    || state.shards[shard].released == self.released(state, shard);
                if leaves {
                    state.shards[shard].enrolled = None;
                }
            }
            Act::End => state.stage = ConversionStage::Ended,
            Act::Crash(late) => {
                state.crashes += 1;
                state.late = late.map(|shard| (shard, state.epoch));
                state.stage = ConversionStage::Orphaned;
            }
            Act::TakeOver => self.take_over(state),
            Act::LateGuard => self.create_late_guard(state),
        }
    }

    fn take_over(&self, state: &mut ConversionState) {
        state.epoch += 1;
        let finishes = state.is_written && !self.is(ConversionRule::WithdrawsAlways);
        state.stage = match finishes {
            true => ConversionStage::Finishing,
            false => ConversionStage::Withdrawing,
        };
        let epoch = state.epoch;
        for shard in &mut state.shards {
            shard.enrolled = shard.enrolled.map(|_| epoch);
        }
    }

    fn create_late_guard(&self, state: &mut ConversionState) {
        let Some((shard, epoch)) = state.late.take() else {
            return;
        };
        let proves = state.shards[shard].enrolled == Some(epoch);
        if proves || self.is(ConversionRule::ProvesNoEpoch) {
            state.shards[shard].guard = Some(state.of_others(shard));
        }
    }
}

/// Gives the keys with rows on a shard to this shard in the converted map. Returns whether that changed the map.
fn keep_keys(state: &mut ConversionState, shard: usize) -> bool {
    let mut changed = false;
    for key in &mut state.keys {
        if key.rows[shard] && key.converted != shard {
            key.converted = shard;
            changed = true;
        }
    }
    changed
}
