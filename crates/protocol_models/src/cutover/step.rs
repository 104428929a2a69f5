//! What an action does.

use super::actions::Action;
use super::state::{Client, Ownership, Record, Register, Round, State, Step, position};
use super::{Cutover, Rule};

impl Cutover {
    pub(super) fn perform(&self, state: &mut State, action: Action) {
        match action {
            Action::Begin(client) => {
                state.clients[client] = Client::Begun {
                    open: self.is(Rule::FenceTable) && state.source.is_open(),
                };
            }
            Action::Write(client) => {
                let fence = state.source.register() == Register::Fenced;
                state.clients[client] = if fence && !self.is(Rule::FenceTable) {
                    Client::Looked
                } else {
                    Client::Holding { noted: false }
                };
            }
            Action::Note(client) => state.clients[client] = Client::Noted,
            Action::LookAgain(client) => self.look_again(state, client),
            Action::Prepare(client) => {
                let noted = state.clients[client].holds_note();
                state.clients[client] = Client::Prepared { noted };
            }
            Action::Log(client) => {
                let noted = state.clients[client].holds_note();
                state.clients[client] = Client::Logged { noted };
                state.source.log.push(Record::Write(client));
            }
            Action::End(client) => state.clients[client] = Client::OnSource,
            Action::WriteTarget(client) => {
                state.clients[client] = Client::OnTarget;
                state.target.writes.push(client);
            }
            Action::Flush => state.source.flushed = position(state.source.log.len()),
            Action::Apply => apply(state),
            Action::Expire => state.source.expired = true,
            Action::Proceed => self.proceed(state),
            Action::GiveUp => {
                state.faults += 1;
                state.step = Step::Abort;
            }
            Action::Timeout => state.source.commit(Record::Set(Register::Open)),
            Action::Lie => {
                state.ownership = Ownership::Flipped;
                state.step = Step::Open;
            }
            Action::Misdirect => {
                state.faults += 1;
                state.target.elsewhere = true;
            }
            Action::Redirect => state.target.elsewhere = false,
            Action::CrashSource => self.fail_source(state, state.source.flushed),
            Action::Promote(records) => {
                state.source.promoted = true;
                self.fail_source(state, records);
            }
            Action::CrashController => {
                state.faults += 1;
                state.step = Step::Dead;
            }
            Action::RestartController => {
                state.step = match state.ownership {
                    Ownership::Ready if state.source.register() == Register::Open => Step::Idle,
                    // Read values prove nothing: it is written again (R9).
                    Ownership::Ready => Step::Release,
                    // Attempt n + 1, never the middle of attempt n.
                    Ownership::Fencing => Step::Idle,
                    Ownership::Flipped => Step::Open,
                };
            }
        }
    }

    /// Who is refused gives its locks back, and is waited for no more.
    fn look_again(&self, state: &mut State, client: usize) {
        if state.source.is_open() || self.is(Rule::NoSecondLook) {
            let noted = !self.is(Rule::NoNote);
            state.clients[client] = Client::Holding { noted };
            return;
        }
        state.clients[client] = Client::Idle;
        if let Step::Wait(_, holders) = &mut state.step {
            *holders &= !(1 << client);
        }
    }

    /// Whom a wait-out waits for, as bits: behind the fence everybody who writes, behind the seal who has noted that
    /// they passed because the fence had ended.
    fn holders(state: &State, round: Round) -> u8 {
        let is_one = |client: &Client| match round {
            Round::Fence => client.holds_lock(),
            Round::Seal => client.holds_note(),
        };
        let clients = state.clients.iter().enumerate();
        let holders = clients.filter(|(_, client)| is_one(client));
        holders.fold(0, |bits, (index, _)| bits | 1 << index)
    }

    fn proceed(&self, state: &mut State) {
        state.step = match state.step {
            Step::Idle if !self.may_begin(state) => Step::Abort,
            Step::Idle => {
                state.ownership = Ownership::Fencing;
                state.attempt += 1;
                Step::Fence
            }
            Step::Fence => {
                state.source.commit(Record::Set(Register::Fenced));
                self.begin(Round::Fence)
            }
            Step::List(round) if self.is(Rule::NoWaitOut) => Step::Wait(round, 0),
            Step::List(round) => Step::Wait(round, Self::holders(state, round)),
            Step::Wait(round, _) if self.is(Rule::DrainBeforeWaitOut) => self.end(round),
            Step::Wait(round, _) => Step::Mark(round),
            Step::Mark(round) => self.mark(state, round),
            Step::Drain(round, _) if self.is(Rule::DrainBeforeWaitOut) => Step::List(round),
            Step::Drain(round, _) => self.end(round),
            Step::Seal => {
                state.source.commit(Record::Set(Register::Closed));
                self.begin(Round::Seal)
            }
            Step::Check => self.check(state),
            Step::Flip if self.is(Rule::OpenBeforeFlip) && !state.target.open => {
                state.target.open = true;
                Step::Flip
            }
            Step::Flip => {
                state.ownership = Ownership::Flipped;
                Step::Open
            }
            Step::Open => {
                state.target.open = !state.target.elsewhere;
                Step::Done
            }
            Step::Abort => {
                state.ownership = Ownership::Ready;
                Step::Release
            }
            Step::Release => {
                state.source.commit(Record::Set(Register::Open));
                Step::Idle
            }
            Step::Dead | Step::Done => state.step,
        };
    }

    fn begin(&self, round: Round) -> Step {
        if self.is(Rule::DrainBeforeWaitOut) {
            Step::Mark(round)
        } else {
            Step::List(round)
        }
    }

    fn mark(&self, state: &mut State, round: Round) -> Step {
        if self.is(Rule::DrainToPosition) {
            return Step::Drain(round, state.source.flushed);
        }
        state.source.commit(Record::Marker {
            attempt: state.attempt,
            round,
        });
        Step::Drain(round, 0)
    }

    fn end(&self, round: Round) -> Step {
        match round {
            Round::Fence if self.is(Rule::NoSeal) => Step::Flip,
            Round::Fence => Step::Seal,
            Round::Seal => Step::Check,
        }
    }

    /// Standbys have flushed the second marker; then, as the last act on the source, the rest.
    fn check(&self, state: &mut State) -> Step {
        let slipped = state.shows_slipped() && !self.is(Rule::SlippedWrites);
        if slipped || state.source.promoted {
            return Step::Abort;
        }
        if !self.is(Rule::StandbyBehind) {
            state.source.replicated = state.source.flushed;
        }
        Step::Flip
    }

    /// A restart or a promotion ends the attempt, unless all that is left of it is the flip.
    fn fail_source(&self, state: &mut State, records: u8) {
        state.faults += 1;
        let source = &mut state.source;
        source.truncate(records);
        for (index, client) in state.clients.iter_mut().enumerate() {
            let is_kept = source.log.contains(&Record::Write(index));
            match client {
                Client::Begun { .. } | Client::Looked | Client::Noted => *client = Client::Idle,
                Client::Logged { .. } if is_kept => *client = Client::OnSource,
                Client::Holding { .. } | Client::Logged { .. } => *client = Client::Unknown,
                Client::Prepared { .. } if source.promoted => *client = Client::Unknown,
                Client::Prepared { .. } | Client::Idle => {}
                Client::OnSource | Client::OnTarget | Client::Unknown => {}
            }
        }
        // The reconciler writes the register again: a standby may lack the release (R6).
        if state.step == Step::Idle
            && state.ownership == Ownership::Ready
            && !self.is(Rule::NoReconciler)
        {
            state.step = Step::Release;
        }
        if matches!(
            state.step,
            Step::Fence
                | Step::List(_)
                | Step::Wait(..)
                | Step::Mark(_)
                | Step::Drain(..)
                | Step::Seal
                | Step::Check
        ) {
            state.step = Step::Abort;
        }
    }
}

fn apply(state: &mut State) {
    let (from, to) = (
        usize::from(state.target.applied),
        usize::from(state.source.flushed),
    );
    for record in &state.source.log[from..to] {
        if let Record::Write(client) = record
            && !state.target.elsewhere
        {
            state.target.writes.push(*client);
        }
    }
    state.target.applied = state.source.flushed;
}
