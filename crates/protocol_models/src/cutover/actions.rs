//! What can happen next.

use super::state::{Client, Ownership, Record, Register, Round, State, Step, position};
use super::{Cutover, Rule};

/// This client's snapshot is older than its write, and it may use two-phase commit; others do
/// their statement in one go.
const REPEATABLE_READ: usize = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// A client's transaction begins on the source: its snapshot is taken.
    Begin(usize),
    /// Its statement comes to the guard, which lets it pass at once where the register is open.
    Write(usize),
    /// The guard, which has read that the fence has ended, notes it.
    Note(usize),
    /// The guard reads the register again, and lets the statement pass or refuses it.
    LookAgain(usize),
    Prepare(usize),
    /// Its commit record enters the log.
    Log(usize),
    /// It is acknowledged and gives up its lock: with or without a flush before.
    End(usize),
    /// A client writes on the target, in one transaction.
    WriteTarget(usize),
    Flush,
    /// The applier commits what it was sent.
    Apply,
    /// The fence's end has come.
    Expire,
    /// The controller's next step succeeds.
    Proceed,
    /// The write stop is over budget, or something failed: the attempt is given up.
    GiveUp,
    /// An agent's timer opens the source.
    Timeout,
    /// Another agent, or one that lies about the target, asks for the flip before the target has applied the markers.
    Lie,
    /// The target's connection string leads to another database from now on.
    Misdirect,
    /// It is mended.
    Redirect,
    CrashSource,
    /// A standby that has so many records takes the source's place.
    Promote(u8),
    CrashController,
    RestartController,
}

impl Cutover {
    pub(super) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        for client in 0..state.clients.len() {
            self.possible_client(state, client, actions);
        }
        let source = &state.source;
        let end = position(source.log.len());
        let applied = state.target.applied;
        let fenced = match source.register() {
            Register::Open => false,
            Register::Fenced => !self.is(Rule::FenceForEver),
            Register::Closed => self.is(Rule::SealExpires),
        };
        let may_fault = state.faults < self.faults;
        let before_flip = matches!(
            state.step,
            Step::List(_)
                | Step::Wait(..)
                | Step::Mark(_)
                | Step::Drain(..)
                | Step::Check
                | Step::Flip
        );
        let may_give_up = matches!(state.step, Step::Wait(..) | Step::Drain(..) | Step::Flip);
        let alive = state.step != Step::Dead;
        let elsewhere = state.target.elsewhere;
        let may_act = !elsewhere || self.is(Rule::NoIdentity);
        let may_lie = state.ownership == Ownership::Fencing && self.is(Rule::NoMarkers);
        let candidates = [
            (source.flushed < end, Action::Flush),
            (
                may_act && applied < source.flushed && !source.promoted,
                Action::Apply,
            ),
            (may_lie, Action::Lie),
            (
                may_fault && !elsewhere && state.step != Step::Done,
                Action::Misdirect,
            ),
            (elsewhere, Action::Redirect),
            (fenced && !source.expired, Action::Expire),
            (self.may_proceed(state), Action::Proceed),
            (may_fault && may_give_up, Action::GiveUp),
            (
                before_flip && !source.is_open() && self.is(Rule::OpenOnTimeout),
                Action::Timeout,
            ),
            (may_fault && !source.promoted, Action::CrashSource),
            (
                may_fault && alive && state.step != Step::Done,
                Action::CrashController,
            ),
            (state.step == Step::Dead, Action::RestartController),
        ];
        actions.extend(candidates.iter().filter(|c| c.0).map(|c| c.1));
        if may_fault && !source.promoted {
            let least = source
                .replicated
                .max(source.flushed.saturating_sub(self.lag));
            actions.extend((least..=source.flushed).map(Action::Promote));
        }
    }

    fn possible_client(&self, state: &State, client: usize, actions: &mut Vec<Action>) {
        let phase = state.clients[client];
        if state.target.open && matches!(phase, Client::Idle | Client::Begun { .. }) {
            actions.push(Action::WriteTarget(client));
        }
        match phase {
            Client::Idle if client == REPEATABLE_READ => actions.push(Action::Begin(client)),
            Client::Idle if state.source.is_open() => actions.push(Action::Write(client)),
            Client::Idle => {}
            Client::Begun { open } => {
                // A guard that reads a table reads it as the transaction's snapshot shows it.
                let passes = if self.is(Rule::FenceTable) {
                    open
                } else {
                    state.source.is_open()
                };
                if passes {
                    actions.push(Action::Write(client));
                }
            }
            Client::Looked => actions.push(Action::Note(client)),
            Client::Noted => actions.push(Action::LookAgain(client)),
            Client::Holding { .. } if client == REPEATABLE_READ => {
                actions.extend([Action::Prepare(client), Action::Log(client)]);
            }
            Client::Holding { .. } | Client::Prepared { .. } => actions.push(Action::Log(client)),
            Client::Logged { .. } => actions.push(Action::End(client)),
            Client::OnSource | Client::OnTarget | Client::Unknown => {}
        }
    }

    fn may_proceed(&self, state: &State) -> bool {
        match state.step {
            Step::Dead | Step::Done => false,
            Step::Idle => self.may_begin(state) || state.ownership == Ownership::Fencing,
            Step::Wait(_, holders) => !state.clients.iter().enumerate().any(|(index, client)| {
                let by_pid =
                    self.is(Rule::WaitOutByPid) && matches!(client, Client::Prepared { .. });
                holders >> index & 1 == 1 && client.holds_lock() && !by_pid
            }),
            Step::Drain(round, until) => self.has_drained(state, round, until),
            Step::Fence | Step::List(_) | Step::Mark(_) | Step::Seal | Step::Check => true,
            Step::Open => !state.target.elsewhere || self.is(Rule::NoIdentity),
            Step::Flip | Step::Abort | Step::Release => true,
        }
    }

    /// After a promotion the move halts: what was interrupted is unwound, nothing new begins (I10).
    pub(super) fn may_begin(&self, state: &State) -> bool {
        state.attempt < self.attempts && !state.source.promoted
    }

    /// Drained means: this attempt's marker has been applied.
    fn has_drained(&self, state: &State, awaited: Round, until: u8) -> bool {
        if self.is(Rule::DrainToPosition) {
            return state.target.applied >= until;
        }
        let is_marker = |record: &Record| match record {
            Record::Marker { attempt, round } => {
                *round == awaited && (*attempt == state.attempt || self.is(Rule::AnyMarker))
            }
            Record::Write(_) | Record::Set(_) => false,
        };
        let applied = usize::from(state.target.applied);
        state.source.log.iter().take(applied).any(is_marker)
    }
}
