//! The possible actions and their effects.

use super::state::{
    ControlShard, ControlState, Controller, OwnershipRow, PendingRequest, ShardRegister, Store,
};
use super::{Control, ControlRule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlAction {
    /// The controller's request is served, and the controller receives the response.
    Serve(usize),
    /// The same. If the response shows an interrupted attempt, the controller gives it up.
    ServeAndUnwind(usize),
    /// The controller stops waiting for the request or its response, and begins again with a take-over.
    Hang(usize),
    /// A request that hung is served. No controller receives the response.
    ServeHung(usize),
    /// The control store is restored to a state before its flip.
    Restore,
    /// An agent without an assignment sends this request with the current epoch and attempt, which every agent can
    /// read.
    Lie(PendingRequest),
}

/// The requests to the store in a cutover.
const LIES: [PendingRequest; 3] = [
    PendingRequest::Begin,
    PendingRequest::Flip,
    PendingRequest::GiveUp,
];

/// The response that a controller receives.
enum RequestAnswer {
    /// The request was served. The value is the shard's counter or the new epoch, if the response contains one.
    Served(u8),
    Refused,
    FlipLost,
}

impl Control {
    pub(super) fn possible(&self, state: &ControlState, actions: &mut Vec<ControlAction>) {
        for (index, controller) in state.controllers.iter().enumerate() {
            if !self.is_waiting(state, controller) {
                continue;
            }
            actions.push(ControlAction::Serve(index));
            if controller.request == PendingRequest::Read
                && state.store.ownership == OwnershipRow::Fencing
            {
                actions.push(ControlAction::ServeAndUnwind(index));
            }
            let may_hang = !matches!(
                controller.request,
                PendingRequest::Lease | PendingRequest::Read | PendingRequest::Rest
            );
            if may_hang && state.hangs < self.hangs {
                actions.push(ControlAction::Hang(index));
            }
        }
        actions.extend((0..state.hung.len()).map(ControlAction::ServeHung));
        let believed = |lie: &PendingRequest| {
            let mut after = state.clone();
            self.lie(&mut after, *lie);
            after != *state
        };
        let lies = LIES.into_iter().filter(believed);
        actions.extend(lies.map(ControlAction::Lie));
        if self.restores && !state.restored && state.store.ownership == OwnershipRow::Flipped {
            actions.push(ControlAction::Restore);
        }
    }

    /// Returns whether the controller waits for a response. A lease can be lost at any time, and any controller may
    /// take it.
    fn is_waiting(&self, state: &ControlState, controller: &Controller) -> bool {
        match controller.request {
            PendingRequest::Lease => state.store.epoch < self.epochs,
            PendingRequest::Rest => {
                state.store.ownership != OwnershipRow::Ready || state.store.attempt < self.attempts
            }
            PendingRequest::Done | PendingRequest::Halt => false,
            PendingRequest::TakeSource
            | PendingRequest::TakeTarget
            | PendingRequest::Read
            | PendingRequest::Begin => true,
            PendingRequest::WitnessFence
            | PendingRequest::Fence
            | PendingRequest::Seal
            | PendingRequest::Flip => true,
            PendingRequest::Tell | PendingRequest::Open | PendingRequest::GiveUp => true,
            PendingRequest::WitnessRelease | PendingRequest::Release => true,
        }
    }

    pub(super) fn perform(&self, state: &mut ControlState, action: ControlAction) {
        match action {
            ControlAction::Serve(index) | ControlAction::ServeAndUnwind(index) => {
                let controller = state.controllers[index];
                let answer = self.serve(state, controller);
                let unwind = matches!(action, ControlAction::ServeAndUnwind(_));
                state.controllers[index] = self.next(state, controller, &answer, unwind);
            }
            ControlAction::Hang(index) => {
                state.hangs += 1;
                let mut hung = state.controllers[index];
                let is_current = [state.source, state.target]
                    .iter()
                    .all(|s| s.epoch == hung.epoch);
                hung.proven = is_current && self.is(ControlRule::ProofApart);
                state.hung.push(hung);
                state.hung.sort_unstable();
                state.controllers[index] = at(PendingRequest::TakeSource, hung.epoch, 0);
            }
            ControlAction::ServeHung(index) => {
                let hung = state.hung.remove(index);
                let _ = self.serve(state, hung);
            }
            ControlAction::Lie(request) => self.lie(state, request),
            ControlAction::Restore => {
                state.restored = true;
                state.store.ownership = OwnershipRow::Fencing;
            }
        }
    }

    /// Sends a request without the secret of the owner's dispatch. The store accepts only requests with this secret.
    fn lie(&self, state: &mut ControlState, request: PendingRequest) {
        if self.is(ControlRule::NoSecret) {
            let request = at(request, state.store.epoch, state.store.attempt);
            let _ = self.serve(state, request);
        }
    }

    fn serve(&self, state: &mut ControlState, controller: Controller) -> RequestAnswer {
        let ControlState {
            store,
            source,
            target,
            stale_write,
            ..
        } = state;
        match controller.request {
            PendingRequest::Lease => {
                store.epoch += 1;
                RequestAnswer::Served(store.epoch)
            }
            PendingRequest::Read
            | PendingRequest::Rest
            | PendingRequest::Done
            | PendingRequest::Halt => RequestAnswer::Served(0),
            PendingRequest::Begin => begin(store, controller),
            PendingRequest::Flip => self.flip(state, controller),
            PendingRequest::GiveUp => give_up(state, controller),
            PendingRequest::TakeSource => take(source, controller.epoch),
            PendingRequest::TakeTarget => take(target, controller.epoch),
            PendingRequest::Fence => self.write(source, controller, stale_write, |source| {
                source.register = ShardRegister::Fenced
            }),
            PendingRequest::Seal => self.write(source, controller, stale_write, |source| {
                source.register = ShardRegister::Closed
            }),
            PendingRequest::Release => self.write(source, controller, stale_write, |source| {
                source.register = ShardRegister::Open
            }),
            PendingRequest::Tell => self.write(target, controller, stale_write, |target| {
                target.flipped = true
            }),
            PendingRequest::Open => self.write(target, controller, stale_write, |target| {
                target.register = ShardRegister::Open
            }),
            PendingRequest::WitnessFence => {
                self.witness(state, controller, ControlRule::NoWitnessBeforeFence)
            }
            PendingRequest::WitnessRelease => {
                self.witness(state, controller, ControlRule::NoWitness)
            }
        }
    }

    /// The flip, which is the point of no return: a compare-and-set on state, attempt and epoch.
    fn flip(&self, state: &mut ControlState, controller: Controller) -> RequestAnswer {
        let any_attempt = Controller {
            attempt: state.store.attempt,
            ..controller
        };
        let wins = is_fencing(&state.store, controller)
            || self.is(ControlRule::FlipOfAnyAttempt) && is_fencing(&state.store, any_attempt)
            || self.is(ControlRule::FlipWithoutCas);
        if !wins {
            return RequestAnswer::Refused;
        }
        state.store.ownership = OwnershipRow::Flipped;
        state.flipped_by = Some(controller.attempt);
        RequestAnswer::Served(0)
    }

    /// Checks the witness: whether the new owner has recorded a flip that the store does not have.
    fn witness(
        &self,
        state: &mut ControlState,
        controller: Controller,
        blind: ControlRule,
    ) -> RequestAnswer {
        let target = &mut state.target;
        let answer = self.write(target, controller, &mut state.stale_write, |_| {});
        let knows_flip = target.is_open() || target.flipped;
        match answer {
            RequestAnswer::Served(_) if knows_flip && !self.is(blind) => RequestAnswer::FlipLost,
            RequestAnswer::Served(_) | RequestAnswer::Refused | RequestAnswer::FlipLost => answer,
        }
    }

    /// A transaction under the exclusive lock that proves the epoch and then writes.
    fn write(
        &self,
        shard: &mut ControlShard,
        controller: Controller,
        stale: &mut bool,
        write: impl FnOnce(&mut ControlShard),
    ) -> RequestAnswer {
        let continues = matches!(
            controller.request,
            PendingRequest::Seal | PendingRequest::Open
        );
        let count = if self.is(ControlRule::EpochOnly) {
            Some(shard.count)
        } else if continues {
            (shard.count == controller.count).then_some(controller.count)
        } else {
            shard.next_count(controller.attempt)
        };
        let proven = controller.proven || shard.epoch == controller.epoch;
        let (Some(count), true) = (count, proven) else {
            return RequestAnswer::Refused;
        };
        *stale |= shard.epoch > controller.epoch;
        shard.count = count;
        write(shard);
        RequestAnswer::Served(count)
    }

    /// Returns the controller's next request.
    fn next(
        &self,
        state: &ControlState,
        controller: Controller,
        answer: &RequestAnswer,
        unwind: bool,
    ) -> Controller {
        let Controller { epoch, attempt, .. } = controller;
        let go = |request| at(request, epoch, attempt);
        let count = match answer {
            RequestAnswer::Served(count) => *count,
            RequestAnswer::Refused if state.store.epoch == epoch => {
                return at(PendingRequest::TakeSource, epoch, 0);
            }
            RequestAnswer::Refused => return at(PendingRequest::Lease, 0, 0),
            RequestAnswer::FlipLost => return at(PendingRequest::Halt, epoch, 0),
        };
        match controller.request {
            PendingRequest::Lease => at(PendingRequest::TakeSource, count, 0),
            PendingRequest::TakeSource => go(PendingRequest::TakeTarget),
            PendingRequest::TakeTarget | PendingRequest::Rest => at(PendingRequest::Read, epoch, 0),
            PendingRequest::Read => self.after_read(state, epoch, unwind),
            PendingRequest::Begin => at(PendingRequest::WitnessFence, epoch, attempt + 1),
            PendingRequest::WitnessFence => go(PendingRequest::Fence),
            PendingRequest::Fence => Controller {
                count,
                ..go(PendingRequest::Seal)
            },
            PendingRequest::Seal => go(PendingRequest::Flip),
            PendingRequest::Flip => go(PendingRequest::Tell),
            PendingRequest::Tell => Controller {
                count,
                ..go(PendingRequest::Open)
            },
            PendingRequest::Open => at(PendingRequest::Done, epoch, 0),
            PendingRequest::GiveUp => go(PendingRequest::WitnessRelease),
            PendingRequest::WitnessRelease => go(PendingRequest::Release),
            PendingRequest::Release => at(PendingRequest::Rest, epoch, 0),
            PendingRequest::Done | PendingRequest::Halt => controller,
        }
    }

    /// Returns the next request after a take-over. An interrupted attempt is never continued in the middle.
    fn after_read(&self, state: &ControlState, epoch: u8, unwind: bool) -> Controller {
        let attempt = state.store.attempt;
        let may_begin = attempt < self.attempts;
        let request = match state.store.ownership {
            OwnershipRow::Flipped => PendingRequest::Tell,
            OwnershipRow::Fencing if unwind => PendingRequest::GiveUp,
            OwnershipRow::Fencing if self.is(ControlRule::ContinueInTheMiddle) => {
                PendingRequest::Flip
            }
            OwnershipRow::Fencing if may_begin => PendingRequest::Begin,
            OwnershipRow::Fencing => PendingRequest::GiveUp,
            OwnershipRow::Ready if may_begin => PendingRequest::Begin,
            // It is unknown whether the last release was executed, so it is repeated.
            OwnershipRow::Ready => PendingRequest::WitnessRelease,
        };
        at(request, epoch, attempt)
    }
}

fn at(request: PendingRequest, epoch: u8, attempt: u8) -> Controller {
    Controller {
        request,
        epoch,
        attempt,
        count: 0,
        proven: false,
    }
}

/// A newer owner increases the epoch, after the sessions of older owners have ended.
fn take(shard: &mut ControlShard, epoch: u8) -> RequestAnswer {
    if shard.epoch > epoch {
        return RequestAnswer::Refused;
    }
    shard.epoch = epoch;
    RequestAnswer::Served(0)
}

fn is_fencing(store: &Store, controller: Controller) -> bool {
    store.ownership == OwnershipRow::Fencing
        && store.epoch == controller.epoch
        && store.attempt == controller.attempt
}

fn begin(store: &mut Store, controller: Controller) -> RequestAnswer {
    let current = store.epoch == controller.epoch && store.attempt == controller.attempt;
    if store.ownership == OwnershipRow::Flipped || !current {
        return RequestAnswer::Refused;
    }
    store.ownership = OwnershipRow::Fencing;
    store.attempt += 1;
    RequestAnswer::Served(0)
}

fn give_up(state: &mut ControlState, controller: Controller) -> RequestAnswer {
    if !is_fencing(&state.store, controller) {
        return RequestAnswer::Refused;
    }
    state.store.ownership = OwnershipRow::Ready;
    state.given_up |= 1 << controller.attempt;
    RequestAnswer::Served(0)
}
