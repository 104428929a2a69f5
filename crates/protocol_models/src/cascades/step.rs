//! What can happen, and what it does.

use super::state::{Hung, Side, Stage, State, Writer};
use super::{Cascades, Rule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// The application begins, by a snapshot.
    Begin(Side),
    /// It deletes the row of the reference table, and the trigger takes the lock.
    Lock(Side),
    /// The foreign key cascades into the moving row.
    Cascade(Side),
    Commit(Side),
    RollBack(Side),
    /// The owner's change arrives.
    Stream,
    /// The attempt goes on.
    Go,
    Release,
    /// The same, and the answer of its last statement is lost.
    ReleaseHangs,
    Arrive,
    Lose,
    Die,
}

impl Cascades {
    pub(super) fn possible(&self, state: &State, actions: &mut Vec<Action>) {
        for side in [Side::Source, Side::Target] {
            actions.extend(match state.shard(side).writer {
                Writer::Idle => vec![Action::Begin(side)],
                Writer::Begun { .. } => vec![Action::Lock(side)],
                Writer::Locked { .. } => vec![Action::Cascade(side)],
                Writer::Cascaded | Writer::LeftOut => {
                    vec![Action::Commit(side), Action::RollBack(side)]
                }
                Writer::Done => Vec::new(),
            });
        }
        if state.sent {
            actions.push(Action::Stream);
        }
        if self.may_go(state) {
            actions.push(Action::Go);
        }
        let releases = matches!(
            state.stage,
            Stage::Begun | Stage::Cleared | Stage::Waited | Stage::Settled | Stage::Sealed
        );
        if releases {
            actions.push(Action::Release);
            if state.hung.is_none() {
                actions.push(Action::ReleaseHangs);
            }
        }
        if state.hung.is_some() {
            actions.extend([Action::Arrive, Action::Lose]);
        }
        if state.stage != Stage::Idle && state.deaths < self.deaths {
            actions.push(Action::Die);
        }
    }

    /// Whether the attempt's next statement does not have to wait.
    fn may_go(&self, state: &State) -> bool {
        let (losing, gaining) = state.parties();
        let (losing, gaining) = (state.shard(losing), state.shard(gaining));
        match state.stage {
            Stage::Idle => state.attempt < self.attempts,
            Stage::Begun | Stage::Flipped | Stage::Opened => true,
            Stage::Cleared => {
                self.is(Rule::NobodyIsWaitedFor)
                    || self.is(Rule::AskedBeforeTheWait)
                    || !self.has_the_lock(gaining.writer)
            }
            Stage::Waited => {
                self.is(Rule::NothingIsAsked) || !gaining.skipped || gaining.is_whole()
            }
            Stage::Settled => {
                losing.writer != Writer::Cascaded
                    && !(self.is(Rule::AskedBeforeTheWait) && self.has_the_lock(gaining.writer))
            }
            Stage::Sealed => !state.sent,
        }
    }

    /// Whether it has the lock that an attempt takes alone once.
    fn has_the_lock(&self, writer: Writer) -> bool {
        match writer {
            Writer::Idle | Writer::Begun { .. } | Writer::Done => false,
            Writer::Locked { .. } => !self.is(Rule::LockBehindTheLook),
            Writer::Cascaded | Writer::LeftOut => true,
        }
    }

    pub(super) fn perform(&self, state: &mut State, action: Action) {
        match action {
            Action::Begin(side) => {
                let saw = state.shard(side).skips;
                state.shard_mut(side).writer = Writer::Begun { saw };
            }
            Action::Lock(side) => {
                let shard = state.shard_mut(side);
                let read = if self.is(Rule::ReadBySnapshot) {
                    shard.writer == Writer::Begun { saw: true }
                } else {
                    self.is(Rule::LockBehindTheLook) && shard.skips
                };
                shard.writer = Writer::Locked { read };
            }
            Action::Cascade(side) => self.cascade(state, side),
            Action::Commit(side) => commit(state, side),
            Action::RollBack(side) => state.shard_mut(side).writer = Writer::Done,
            Action::Stream => {
                state.sent = false;
                let copy = state.owner.other();
                state.shard_mut(copy).row = false;
            }
            Action::Go => self.go(state),
            Action::Release => {
                let hung = reopen(state);
                self.allow(state, hung);
            }
            Action::ReleaseHangs => state.hung = Some(reopen(state)),
            Action::Arrive => {
                if let Some(hung) = state.hung.take() {
                    self.allow(state, hung);
                }
            }
            Action::Lose => state.hung = None,
            Action::Die => self.die(state),
        }
    }

    fn cascade(&self, state: &mut State, side: Side) {
        let has_read = self.is(Rule::ReadBySnapshot) || self.is(Rule::LockBehindTheLook);
        let shard = state.shard_mut(side);
        let skips = if has_read {
            shard.writer == Writer::Locked { read: true }
        } else {
            shard.skips
        };
        shard.writer = if shard.open || !shard.row {
            Writer::Cascaded
        } else if skips {
            shard.skipped = true;
            Writer::LeftOut
        } else {
            Writer::Done
        };
    }

    fn go(&self, state: &mut State) {
        let (losing, gaining) = state.parties();
        let attempt = state.attempt;
        state.stage = match state.stage {
            Stage::Idle => {
                state.attempt += 1;
                state.shard_mut(gaining).count = state.attempt;
                Stage::Begun
            }
            Stage::Begun => {
                if !self.is(Rule::NotCleared) {
                    state.shard_mut(gaining).skips = false;
                }
                Stage::Cleared
            }
            Stage::Cleared => Stage::Waited,
            Stage::Waited => Stage::Settled,
            Stage::Settled => {
                state.shard_mut(losing).open = false;
                Stage::Sealed
            }
            Stage::Sealed => {
                state.owner = gaining;
                Stage::Flipped
            }
            Stage::Flipped => {
                let gained = state.shard_mut(gaining);
                gained.open = true;
                gained.owns = true;
                Stage::Opened
            }
            Stage::Opened => {
                let former = state.shard_mut(losing);
                former.count = attempt;
                former.owns = false;
                former.skips = true;
                Stage::Idle
            }
        };
    }

    /// Cascades skip rows again where an attempt was released, unless it is not the newest there.
    fn allow(&self, state: &mut State, Hung { side, attempt }: Hung) {
        let late = self.is(Rule::LateRelease);
        let shard = state.shard_mut(side);
        if !shard.open && !shard.owns && (late || shard.count == attempt) {
            shard.skips = true;
        }
    }

    fn die(&self, state: &mut State) {
        state.deaths += 1;
        let (_, gaining) = state.parties();
        if self.is(Rule::HeldByTheProcess) {
            state.shard_mut(gaining).skips = true;
        }
        if !matches!(state.stage, Stage::Flipped | Stage::Opened) {
            reopen(state);
        }
    }
}

/// The attempt is given up: it never flips, and its losing shard is open. What is left to do.
fn reopen(state: &mut State) -> Hung {
    let (losing, gaining) = state.parties();
    state.shard_mut(losing).open = true;
    state.stage = Stage::Idle;
    Hung {
        side: gaining,
        attempt: state.attempt,
    }
}

fn commit(state: &mut State, side: Side) {
    let owner = state.owner == side;
    let shard = state.shard_mut(side);
    if shard.writer == Writer::Cascaded {
        // What the owner deletes goes to the other shard.
        let sent = owner && shard.row;
        shard.row = false;
        state.sent |= sent;
    }
    let shard = state.shard_mut(side);
    shard.parent = false;
    shard.writer = Writer::Done;
}
