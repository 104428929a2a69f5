//! What can happen next, and what it does.

use super::state::{Controller, Ownership, Register, Request, Shard, State, Store};
use super::{Control, Rule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The controller's request is served and answered.
    Serve(usize),
    /// The same; an interrupted attempt that the answer shows is given up.
    ServeAndUnwind(usize),
    /// The controller waits no longer, for the request or for its lost answer, and takes over anew.
    Hang(usize),
    /// A request that hung is served; nobody learns of it.
    ServeHung(usize),
    /// The control store comes back from before its flip.
    Restore,
    /// An agent that was given nothing sends this under the epoch and the attempt that everybody may read.
    Lie(Request),
}

/// What the store is asked for in a cutover.
const LIES: [Request; 3] = [Request::Begin, Request::Flip, Request::GiveUp];

/// What a controller is told.
enum Answer {
    /// With the shard's count, where there is one.
    Served(u8),
    Refused,
    FlipLost,
}

impl Control {
    pub(super) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        for (index, controller) in state.controllers.iter().enumerate() {
            if !self.is_waiting(state, controller) {
                continue;
            }
            actions.push(Action::Serve(index));
            if controller.request == Request::Read && state.store.ownership == Ownership::Fencing {
                actions.push(Action::ServeAndUnwind(index));
            }
            let may_hang = !matches!(
                controller.request,
                Request::Lease | Request::Read | Request::Rest
            );
            if may_hang && state.hangs < self.hangs {
                actions.push(Action::Hang(index));
            }
        }
        actions.extend((0..state.hung.len()).map(Action::ServeHung));
        let believed = |lie: &Request| {
            let mut after = state.clone();
            self.lie(&mut after, *lie);
            after != *state
        };
        let lies = LIES.into_iter().filter(believed);
        actions.extend(lies.map(Action::Lie));
        if self.restores && !state.restored && state.store.ownership == Ownership::Flipped {
            actions.push(Action::Restore);
        }
    }

    /// A lease can be lost at any moment: whoever stands by may take it.
    fn is_waiting(&self, state: &State, controller: &Controller) -> bool {
        match controller.request {
            Request::Lease => state.store.epoch < self.epochs,
            Request::Rest => {
                state.store.ownership != Ownership::Ready || state.store.attempt < self.attempts
            }
            Request::Done | Request::Halt => false,
            Request::TakeSource | Request::TakeTarget | Request::Read | Request::Begin => true,
            Request::WitnessFence | Request::Fence | Request::Seal | Request::Flip => true,
            Request::Tell | Request::Open | Request::GiveUp => true,
            Request::WitnessRelease | Request::Release => true,
        }
    }

    pub(super) fn perform(&self, state: &mut State, action: Action) {
        match action {
            Action::Serve(index) | Action::ServeAndUnwind(index) => {
                let asked = state.controllers[index];
                let answer = self.serve(state, asked);
                let unwind = matches!(action, Action::ServeAndUnwind(_));
                state.controllers[index] = self.next(state, asked, &answer, unwind);
            }
            Action::Hang(index) => {
                state.hangs += 1;
                let mut hung = state.controllers[index];
                let is_current = [state.source, state.target]
                    .iter()
                    .all(|s| s.epoch == hung.epoch);
                hung.proven = is_current && self.is(Rule::ProofApart);
                state.hung.push(hung);
                state.hung.sort_unstable();
                state.controllers[index] = at(Request::TakeSource, hung.epoch, 0);
            }
            Action::ServeHung(index) => {
                let hung = state.hung.remove(index);
                let _ = self.serve(state, hung);
            }
            Action::Lie(request) => self.lie(state, request),
            Action::Restore => {
                state.restored = true;
                state.store.ownership = Ownership::Fencing;
            }
        }
    }

    /// The store believes whoever shows the secret of the owner's dispatch, and nobody else.
    fn lie(&self, state: &mut State, request: Request) {
        if self.is(Rule::NoSecret) {
            let asked = at(request, state.store.epoch, state.store.attempt);
            let _ = self.serve(state, asked);
        }
    }

    fn serve(&self, state: &mut State, asked: Controller) -> Answer {
        let State {
            store,
            source,
            target,
            stale_write,
            ..
        } = state;
        match asked.request {
            Request::Lease => {
                store.epoch += 1;
                Answer::Served(store.epoch)
            }
            Request::Read | Request::Rest | Request::Done | Request::Halt => Answer::Served(0),
            Request::Begin => begin(store, asked),
            Request::Flip => self.flip(state, asked),
            Request::GiveUp => give_up(state, asked),
            Request::TakeSource => take(source, asked.epoch),
            Request::TakeTarget => take(target, asked.epoch),
            Request::Fence => self.write(source, asked, stale_write, |source| {
                source.register = Register::Fenced
            }),
            Request::Seal => self.write(source, asked, stale_write, |source| {
                source.register = Register::Closed
            }),
            Request::Release => self.write(source, asked, stale_write, |source| {
                source.register = Register::Open
            }),
            Request::Tell => self.write(target, asked, stale_write, |target| target.flipped = true),
            Request::Open => self.write(target, asked, stale_write, |target| {
                target.register = Register::Open
            }),
            Request::WitnessFence => self.witness(state, asked, Rule::NoWitnessBeforeFence),
            Request::WitnessRelease => self.witness(state, asked, Rule::NoWitness),
        }
    }

    /// The point of no return: state, attempt and epoch in one compare-and-set.
    fn flip(&self, state: &mut State, asked: Controller) -> Answer {
        let any_attempt = Controller {
            attempt: state.store.attempt,
            ..asked
        };
        let wins = is_fencing(&state.store, asked)
            || self.is(Rule::FlipOfAnyAttempt) && is_fencing(&state.store, any_attempt)
            || self.is(Rule::FlipWithoutCas);
        if !wins {
            return Answer::Refused;
        }
        state.store.ownership = Ownership::Flipped;
        state.flipped_by = Some(asked.attempt);
        Answer::Served(0)
    }

    /// Has the shard that would gain the keys heard of a flip that the store does not know?
    fn witness(&self, state: &mut State, asked: Controller, blind: Rule) -> Answer {
        let target = &mut state.target;
        let answer = self.write(target, asked, &mut state.stale_write, |_| {});
        let told = target.is_open() || target.flipped;
        match answer {
            Answer::Served(_) if told && !self.is(blind) => Answer::FlipLost,
            Answer::Served(_) | Answer::Refused | Answer::FlipLost => answer,
        }
    }

    /// One transaction under the exclusive lock: proof, then the write.
    fn write(
        &self,
        shard: &mut Shard,
        asked: Controller,
        stale: &mut bool,
        write: impl FnOnce(&mut Shard),
    ) -> Answer {
        let continues = matches!(asked.request, Request::Seal | Request::Open);
        let count = if self.is(Rule::EpochOnly) {
            Some(shard.count)
        } else if continues {
            (shard.count == asked.count).then_some(asked.count)
        } else {
            shard.next_count(asked.attempt)
        };
        let proven = asked.proven || shard.epoch == asked.epoch;
        let (Some(count), true) = (count, proven) else {
            return Answer::Refused;
        };
        *stale |= shard.epoch > asked.epoch;
        shard.count = count;
        write(shard);
        Answer::Served(count)
    }

    /// Where the controller goes on.
    fn next(&self, state: &State, asked: Controller, answer: &Answer, unwind: bool) -> Controller {
        let Controller { epoch, attempt, .. } = asked;
        let go = |request| at(request, epoch, attempt);
        let count = match answer {
            Answer::Served(count) => *count,
            Answer::Refused if state.store.epoch == epoch => {
                return at(Request::TakeSource, epoch, 0);
            }
            Answer::Refused => return at(Request::Lease, 0, 0),
            Answer::FlipLost => return at(Request::Halt, epoch, 0),
        };
        match asked.request {
            Request::Lease => at(Request::TakeSource, count, 0),
            Request::TakeSource => go(Request::TakeTarget),
            Request::TakeTarget | Request::Rest => at(Request::Read, epoch, 0),
            Request::Read => self.after_read(state, epoch, unwind),
            Request::Begin => at(Request::WitnessFence, epoch, attempt + 1),
            Request::WitnessFence => go(Request::Fence),
            Request::Fence => Controller {
                count,
                ..go(Request::Seal)
            },
            Request::Seal => go(Request::Flip),
            Request::Flip => go(Request::Tell),
            Request::Tell => Controller {
                count,
                ..go(Request::Open)
            },
            Request::Open => at(Request::Done, epoch, 0),
            Request::GiveUp => go(Request::WitnessRelease),
            Request::WitnessRelease => go(Request::Release),
            Request::Release => at(Request::Rest, epoch, 0),
            Request::Done | Request::Halt => asked,
        }
    }

    /// An interrupted attempt is never continued in the middle.
    fn after_read(&self, state: &State, epoch: u8, unwind: bool) -> Controller {
        let attempt = state.store.attempt;
        let may_begin = attempt < self.attempts;
        let request = match state.store.ownership {
            Ownership::Flipped => Request::Tell,
            Ownership::Fencing if unwind => Request::GiveUp,
            Ownership::Fencing if self.is(Rule::ContinueInTheMiddle) => Request::Flip,
            Ownership::Fencing if may_begin => Request::Begin,
            Ownership::Fencing => Request::GiveUp,
            Ownership::Ready if may_begin => Request::Begin,
            // Whatever became of the release, it is written again.
            Ownership::Ready => Request::WitnessRelease,
        };
        at(request, epoch, attempt)
    }
}

fn at(request: Request, epoch: u8, attempt: u8) -> Controller {
    Controller {
        request,
        epoch,
        attempt,
        count: 0,
        proven: false,
    }
}

/// A newer owner raises the epoch, once the sessions of older ones have ended.
fn take(shard: &mut Shard, epoch: u8) -> Answer {
    if shard.epoch > epoch {
        return Answer::Refused;
    }
    shard.epoch = epoch;
    Answer::Served(0)
}

fn is_fencing(store: &Store, asked: Controller) -> bool {
    store.ownership == Ownership::Fencing
        && store.epoch == asked.epoch
        && store.attempt == asked.attempt
}

fn begin(store: &mut Store, asked: Controller) -> Answer {
    let current = store.epoch == asked.epoch && store.attempt == asked.attempt;
    if store.ownership == Ownership::Flipped || !current {
        return Answer::Refused;
    }
    store.ownership = Ownership::Fencing;
    store.attempt += 1;
    Answer::Served(0)
}

fn give_up(state: &mut State, asked: Controller) -> Answer {
    if !is_fencing(&state.store, asked) {
        return Answer::Refused;
    }
    state.store.ownership = Ownership::Ready;
    state.given_up |= 1 << asked.attempt;
    Answer::Served(0)
}
