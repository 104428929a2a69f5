//! The effects of the actions.

use super::actions::CutoverAction;
use super::state::{
    CutoverClient, CutoverOwnership, CutoverRecord, CutoverRegister, CutoverState, CutoverStep,
    WaitOutRound, position,
};
use super::{Cutover, CutoverRule};

impl Cutover {
    pub(super) fn perform(&self, state: &mut CutoverState, action: CutoverAction) {
        match action {
            CutoverAction::Begin(client) => {
                state.clients[client] = CutoverClient::Begun {
                    open: self.is(CutoverRule::FenceTable) && state.source.is_open(),
                };
            }
            CutoverAction::Write(client) => {
                let fence = state.source.register() == CutoverRegister::Fenced;
                state.clients[client] = if fence && !self.is(CutoverRule::FenceTable) {
                    CutoverClient::Looked
                } else {
                    CutoverClient::Holding { noted: false }
                };
            }
            CutoverAction::Note(client) => state.clients[client] = CutoverClient::Noted,
            CutoverAction::LookAgain(client) => self.retry_client(state, client),
            CutoverAction::Prepare(client) => {
                let noted = state.clients[client].holds_note();
                state.clients[client] = CutoverClient::Prepared { noted };
            }
            CutoverAction::Log(client) => {
                let noted = state.clients[client].holds_note();
                state.clients[client] = CutoverClient::Logged { noted };
                state.source.log.push(CutoverRecord::Write(client));
            }
            CutoverAction::End(client) => state.clients[client] = CutoverClient::OnSource,
            CutoverAction::WriteTarget(client) => {
                state.clients[client] = CutoverClient::OnTarget;
                state.target.writes.push(client);
            }
            CutoverAction::Flush => state.source.flushed = position(state.source.log.len()),
            CutoverAction::Apply => apply(state),
            CutoverAction::Expire => state.source.expired = true,
            CutoverAction::Proceed => self.proceed(state),
            CutoverAction::GiveUp => {
                state.faults += 1;
                state.step = CutoverStep::Abort;
            }
            CutoverAction::Timeout => commit_open(state),
            CutoverAction::Lie => {
                state.ownership = CutoverOwnership::Flipped;
                state.step = CutoverStep::Open;
            }
            CutoverAction::Misdirect => {
                state.faults += 1;
                state.target.elsewhere = true;
            }
            CutoverAction::Redirect => state.target.elsewhere = false,
            CutoverAction::CrashSource => self.fail_source(state, state.source.flushed),
            CutoverAction::Promote(records) => {
                state.source.promoted = true;
                self.fail_source(state, records);
            }
            CutoverAction::PromoteTarget => promote_target(state),
            CutoverAction::CrashController => {
                state.faults += 1;
                state.step = CutoverStep::Dead;
            }
            CutoverAction::RestartController => {
                state.step = match state.ownership {
                    CutoverOwnership::Ready if state.source.register() == CutoverRegister::Open => {
                        CutoverStep::Idle
                    }
                    // The value that was read proves nothing, so it is written again (R9).
                    CutoverOwnership::Ready => CutoverStep::Release,
                    // The next attempt begins; attempt n is never continued in the middle.
                    CutoverOwnership::Fencing => CutoverStep::Idle,
                    CutoverOwnership::Flipped => CutoverStep::Open,
                };
            }
        }
    }

    /// A refused client releases its locks, so the wait-out does not wait for it.
    fn retry_client(&self, state: &mut CutoverState, client: usize) {
        if state.source.is_open() || self.is(CutoverRule::NoSecondLook) {
            let noted = !self.is(CutoverRule::NoNote);
            state.clients[client] = CutoverClient::Holding { noted };
            return;
        }
        state.clients[client] = CutoverClient::Idle;
        if let CutoverStep::Wait(_, holders) = &mut state.step {
            *holders &= !(1 << client);
        }
    }

    /// Returns the clients for which a wait-out waits, as bits: after the fence every client that writes, after the
    /// seal every client with a note that it passed because the fence had ended.
    fn holders(state: &CutoverState, round: WaitOutRound) -> u8 {
        let is_one = |client: &CutoverClient| match round {
            WaitOutRound::Fence => client.holds_lock(),
            WaitOutRound::Seal => client.holds_note(),
        };
        let clients = state.clients.iter().enumerate();
        let holders = clients.filter(|(_, client)| is_one(client));
        holders.fold(0, |bits, (index, _)| bits | 1 << index)
    }

    fn proceed(&self, state: &mut CutoverState) {
        state.step = match state.step {
            CutoverStep::Idle if !self.may_begin(state) => CutoverStep::Abort,
            CutoverStep::Idle => {
                state.ownership = CutoverOwnership::Fencing;
                state.attempt += 1;
                CutoverStep::Fence
            }
            CutoverStep::Fence => {
                state
                    .source
                    .commit(CutoverRecord::Set(CutoverRegister::Fenced));
                self.begin(WaitOutRound::Fence)
            }
            CutoverStep::List(round) if self.is(CutoverRule::NoWaitOut) => {
                CutoverStep::Wait(round, 0)
            }
            CutoverStep::List(round) => CutoverStep::Wait(round, Self::holders(state, round)),
            CutoverStep::Wait(round, _) if self.is(CutoverRule::DrainBeforeWaitOut) => {
                self.end(round)
            }
            CutoverStep::Wait(round, _) => CutoverStep::Mark(round),
            CutoverStep::Mark(round) => self.mark(state, round),
            CutoverStep::Drain(round, _) if self.is(CutoverRule::DrainBeforeWaitOut) => {
                CutoverStep::List(round)
            }
            CutoverStep::Drain(round, _) => self.end(round),
            CutoverStep::Seal => {
                state
                    .source
                    .commit(CutoverRecord::Set(CutoverRegister::Closed));
                self.begin(WaitOutRound::Seal)
            }
            CutoverStep::Check => self.check(state),
            CutoverStep::Flip if self.is(CutoverRule::OpenBeforeFlip) && !state.target.open => {
                state.target.open = true;
                CutoverStep::Flip
            }
            CutoverStep::Flip => {
                state.ownership = CutoverOwnership::Flipped;
                CutoverStep::Open
            }
            CutoverStep::Open => {
                state.target.open = !state.target.elsewhere;
                CutoverStep::Done
            }
            CutoverStep::Abort => {
                state.ownership = CutoverOwnership::Ready;
                CutoverStep::Release
            }
            CutoverStep::Release => {
                commit_open(state);
                CutoverStep::Idle
            }
            CutoverStep::Dead | CutoverStep::Done => state.step,
        };
    }

    fn begin(&self, round: WaitOutRound) -> CutoverStep {
        if self.is(CutoverRule::DrainBeforeWaitOut) {
            CutoverStep::Mark(round)
        } else {
            CutoverStep::List(round)
        }
    }

    fn mark(&self, state: &mut CutoverState, round: WaitOutRound) -> CutoverStep {
        if self.is(CutoverRule::DrainToPosition) {
            return CutoverStep::Drain(round, state.source.flushed);
        }
        state.source.commit(CutoverRecord::Marker {
            attempt: state.attempt,
            round,
        });
        CutoverStep::Drain(round, 0)
    }

    fn end(&self, round: WaitOutRound) -> CutoverStep {
        match round {
            WaitOutRound::Fence if self.is(CutoverRule::NoSeal) => CutoverStep::Flip,
            WaitOutRound::Fence => CutoverStep::Seal,
            WaitOutRound::Seal => CutoverStep::Check,
        }
    }

    /// Checks that the standbys of both shards have flushed the second marker; then, as the last action on the source, all other
    /// conditions.
    fn check(&self, state: &mut CutoverState) -> CutoverStep {
        let slipped = state.shows_slipped() && !self.is(CutoverRule::SlippedWrites);
        if slipped || state.source.promoted {
            return CutoverStep::Abort;
        }
        if !self.is(CutoverRule::StandbyBehind) {
            state.source.replicated = state.source.flushed;
        }
        if !self.is(CutoverRule::NewStandbyBehind) {
            state.target.replicated = position(state.target.writes.len());
        }
        CutoverStep::Flip
    }

    /// A restart or a promotion ends the attempt, unless only the flip remains.
    fn fail_source(&self, state: &mut CutoverState, records: u8) {
        state.faults += 1;
        let source = &mut state.source;
        source.truncate(records);
        for (index, client) in state.clients.iter_mut().enumerate() {
            let is_kept = source.log.contains(&CutoverRecord::Write(index));
            match client {
                CutoverClient::Begun { .. } | CutoverClient::Looked | CutoverClient::Noted => {
                    *client = CutoverClient::Idle
                }
                CutoverClient::Logged { .. } if is_kept => *client = CutoverClient::OnSource,
                CutoverClient::Holding { .. } | CutoverClient::Logged { .. } => {
                    *client = CutoverClient::Unknown
                }
                CutoverClient::Prepared { .. } if source.promoted => {
                    *client = CutoverClient::Unknown
                }
                CutoverClient::Prepared { .. } | CutoverClient::Idle => {}
                CutoverClient::OnSource | CutoverClient::OnTarget | CutoverClient::Unknown => {}
            }
        }
        // The reconciler writes the register again, because a standby may lack the release (R6).
        if state.step == CutoverStep::Idle
            && state.ownership == CutoverOwnership::Ready
            && !self.is(CutoverRule::NoReconciler)
        {
            state.step = CutoverStep::Release;
        }
        if matches!(
            state.step,
            CutoverStep::Fence
                | CutoverStep::List(_)
                | CutoverStep::Wait(..)
                | CutoverStep::Mark(_)
                | CutoverStep::Drain(..)
                | CutoverStep::Seal
                | CutoverStep::Check
        ) {
            state.step = CutoverStep::Abort;
        }
    }
}

fn apply(state: &mut CutoverState) {
    let (from, to) = (
        usize::from(state.target.applied),
        usize::from(state.source.flushed),
    );
    for record in &state.source.log[from..to] {
        if let CutoverRecord::Write(client) = record
            && !state.target.elsewhere
        {
            state.target.writes.push(*client);
        }
    }
    state.target.applied = state.source.flushed;
}

/// The clients of the lost writes do not know whether they were committed. With asynchronous standbys PostgreSQL loses them
/// without a move, too.
fn promote_target(state: &mut CutoverState) {
    state.faults += 1;
    let kept = usize::from(state.target.replicated);
    for client in state.target.writes.split_off(kept) {
        if state.clients[client] == CutoverClient::OnTarget {
            state.clients[client] = CutoverClient::Unknown;
        }
    }
}

fn commit_open(state: &mut CutoverState) {
    let open = CutoverRecord::Set(CutoverRegister::Open);
    state.source.commit(open);
}
