//! The possible actions.

use super::state::{
    CutoverClient, CutoverOwnership, CutoverRecord, CutoverRegister, CutoverSource, CutoverState,
    CutoverStep, WaitOutRound, position,
};
use super::{Cutover, CutoverRule};

/// The client that uses REPEATABLE READ, with a snapshot that is older than its write, and possibly two-phase commit.
/// Other clients execute their statement in one step.
const REPEATABLE_READ: usize = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutoverAction {
    /// A client's transaction begins on the source and takes its snapshot.
    Begin(usize),
    /// Its statement calls the guard. If the register is open, the statement passes.
    Write(usize),
    /// The guard has read that the fence has ended, and writes the note.
    Note(usize),
    /// The guard reads the register again, and accepts or refuses the statement.
    LookAgain(usize),
    Prepare(usize),
    /// Its commit record is written to the log.
    Log(usize),
    /// It is acknowledged and releases its lock. With an asynchronous commit there is no flush before.
    End(usize),
    /// A client writes on the target, in one transaction.
    WriteTarget(usize),
    Flush,
    /// The agent commits the changes that it received.
    Apply,
    /// The fence expires.
    Expire,
    /// The controller's next step succeeds.
    Proceed,
    /// The write-blocked window exceeded its budget, or a step failed: the attempt is given up.
    GiveUp,
    /// An agent's timer opens the source.
    Timeout,
    /// Another agent, or one that lies about the target, requests the flip before the target has applied the markers.
    Lie,
    /// From now on the target's connection string leads to another database.
    Misdirect,
    /// The connection string is corrected.
    Redirect,
    CrashSource,
    /// A standby with this many records is promoted in place of the source.
    Promote(u8),
    /// After the flip, a standby that has no more than it must is promoted in place of the target.
    PromoteTarget,
    CrashController,
    RestartController,
}

impl Cutover {
    pub(super) fn possible(&self, state: &CutoverState, actions: &mut Vec<CutoverAction>) {
        for client in 0..state.clients.len() {
            self.possible_client(state, client, actions);
        }
        let source = &state.source;
        let end = position(source.log.len());
        let applied = state.target.applied;
        let fenced = match source.register() {
            CutoverRegister::Open => false,
            CutoverRegister::Fenced => !self.is(CutoverRule::FenceForEver),
            CutoverRegister::Closed => self.is(CutoverRule::SealExpires),
        };
        let may_fault = state.faults < self.faults;
        let before_flip = matches!(
            state.step,
            CutoverStep::List(_)
                | CutoverStep::Wait(..)
                | CutoverStep::Mark(_)
                | CutoverStep::Drain(..)
                | CutoverStep::Check
                | CutoverStep::Flip
        );
        let may_give_up = matches!(
            state.step,
            CutoverStep::Wait(..) | CutoverStep::Drain(..) | CutoverStep::Flip
        );
        let alive = state.step != CutoverStep::Dead;
        let elsewhere = state.target.elsewhere;
        let may_act = !elsewhere || self.is(CutoverRule::NoIdentity);
        let may_lie =
            state.ownership == CutoverOwnership::Fencing && self.is(CutoverRule::NoMarkers);
        let candidates = [
            (source.flushed < end, CutoverAction::Flush),
            (
                may_act && applied < source.flushed && !source.promoted,
                CutoverAction::Apply,
            ),
            (may_lie, CutoverAction::Lie),
            (
                may_fault && !elsewhere && state.step != CutoverStep::Done,
                CutoverAction::Misdirect,
            ),
            (elsewhere, CutoverAction::Redirect),
            (fenced && !source.expired, CutoverAction::Expire),
            (self.may_proceed(state), CutoverAction::Proceed),
            (may_fault && may_give_up, CutoverAction::GiveUp),
            (
                before_flip && !source.is_open() && self.is(CutoverRule::OpenOnTimeout),
                CutoverAction::Timeout,
            ),
            (may_fault && !source.promoted, CutoverAction::CrashSource),
            (
                may_fault && state.can_lose_target_writes(),
                CutoverAction::PromoteTarget,
            ),
            (
                may_fault && alive && state.step != CutoverStep::Done,
                CutoverAction::CrashController,
            ),
            (
                state.step == CutoverStep::Dead,
                CutoverAction::RestartController,
            ),
        ];
        actions.extend(candidates.iter().filter(|c| c.0).map(|c| c.1));
        if may_fault && !source.promoted {
            self.possible_promotions(source, actions);
        }
    }

    fn possible_promotions(&self, source: &CutoverSource, actions: &mut Vec<CutoverAction>) {
        let least = source
            .replicated
            .max(source.flushed.saturating_sub(self.lag));
        actions.extend((least..=source.flushed).map(CutoverAction::Promote));
    }

    fn possible_client(
        &self,
        state: &CutoverState,
        client: usize,
        actions: &mut Vec<CutoverAction>,
    ) {
        let phase = state.clients[client];
        if state.target.open && matches!(phase, CutoverClient::Idle | CutoverClient::Begun { .. }) {
            actions.push(CutoverAction::WriteTarget(client));
        }
        match phase {
            CutoverClient::Idle if client == REPEATABLE_READ => {
                actions.push(CutoverAction::Begin(client))
            }
            CutoverClient::Idle if state.source.is_open() => {
                actions.push(CutoverAction::Write(client))
            }
            CutoverClient::Idle => {}
            CutoverClient::Begun { open } => {
                // A guard that reads a table sees the value in the transaction's snapshot.
                let passed = if self.is(CutoverRule::FenceTable) {
                    open
                } else {
                    state.source.is_open()
                };
                if passed {
                    actions.push(CutoverAction::Write(client));
                }
            }
            CutoverClient::Looked => actions.push(CutoverAction::Note(client)),
            CutoverClient::Noted => actions.push(CutoverAction::LookAgain(client)),
            CutoverClient::Holding { .. } if client == REPEATABLE_READ => {
                actions.extend([CutoverAction::Prepare(client), CutoverAction::Log(client)]);
            }
            CutoverClient::Holding { .. } | CutoverClient::Prepared { .. } => {
                actions.push(CutoverAction::Log(client))
            }
            CutoverClient::Logged { .. } => actions.push(CutoverAction::End(client)),
            CutoverClient::OnSource | CutoverClient::OnTarget | CutoverClient::Unknown => {}
        }
    }

    fn may_proceed(&self, state: &CutoverState) -> bool {
        match state.step {
            CutoverStep::Dead | CutoverStep::Done => false,
            CutoverStep::Idle => {
                self.may_begin(state) || state.ownership == CutoverOwnership::Fencing
            }
            CutoverStep::Wait(_, holders) => {
                !state.clients.iter().enumerate().any(|(index, client)| {
                    let by_pid = self.is(CutoverRule::WaitOutByPid)
                        && matches!(client, CutoverClient::Prepared { .. });
                    holders >> index & 1 == 1 && client.holds_lock() && !by_pid
                })
            }
            CutoverStep::Drain(round, until) => self.has_drained(state, round, until),
            CutoverStep::Fence
            | CutoverStep::List(_)
            | CutoverStep::Mark(_)
            | CutoverStep::Seal
            | CutoverStep::Check => true,
            CutoverStep::Open => !state.target.elsewhere || self.is(CutoverRule::NoIdentity),
            CutoverStep::Flip | CutoverStep::Abort | CutoverStep::Release => true,
        }
    }

    /// Returns whether an attempt may begin. After a promotion the migration fails, and an interrupted attempt is given
    /// up (I10).
    pub(super) fn may_begin(&self, state: &CutoverState) -> bool {
        state.attempt < self.attempts && !state.source.promoted
    }

    /// Returns whether the stream has applied this attempt's marker.
    fn has_drained(&self, state: &CutoverState, awaited: WaitOutRound, until: u8) -> bool {
        if self.is(CutoverRule::DrainToPosition) {
            return state.target.applied >= until;
        }
        let is_marker = |record: &CutoverRecord| match record {
            CutoverRecord::Marker { attempt, round } => {
                *round == awaited && (*attempt == state.attempt || self.is(CutoverRule::AnyMarker))
            }
            CutoverRecord::Write(_) | CutoverRecord::Set(_) => false,
        };
        let applied = usize::from(state.target.applied);
        state.source.log.iter().take(applied).any(is_marker)
    }
}
