//! The possible actions and their effects.

use super::state::{AttemptStage, CascadeSide, CascadeState, CascadeWriter, HungRelease};
use super::{CascadeRule, Cascades};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CascadeAction {
    /// The application's transaction begins and takes its snapshot.
    Begin(CascadeSide),
    /// The transaction deletes the row of the reference table, and the trigger takes the lock.
    Lock(CascadeSide),
    /// The foreign key cascades to the moving row.
    Cascade(CascadeSide),
    Commit(CascadeSide),
    RollBack(CascadeSide),
    /// The stream applies the owner's change.
    Stream,
    /// The attempt executes its next statement.
    Go,
    Release,
    /// The attempt is given up. Its last statement gets no response, and may arrive later or be lost.
    ReleaseHangs,
    Arrive,
    Lose,
    Die,
}

impl Cascades {
    pub(super) fn possible(&self, state: &CascadeState, actions: &mut Vec<CascadeAction>) {
        for side in [CascadeSide::Source, CascadeSide::Target] {
            actions.extend(match state.shard(side).writer {
                CascadeWriter::Idle => vec![CascadeAction::Begin(side)],
                CascadeWriter::Begun { .. } => vec![CascadeAction::Lock(side)],
                CascadeWriter::Locked { .. } => vec![CascadeAction::Cascade(side)],
                CascadeWriter::Cascaded | CascadeWriter::LeftOut => {
                    vec![CascadeAction::Commit(side), CascadeAction::RollBack(side)]
                }
                CascadeWriter::Done => Vec::new(),
            });
        }
        if state.sent {
            actions.push(CascadeAction::Stream);
        }
        if self.may_go(state) {
            actions.push(CascadeAction::Go);
        }
        let releases = matches!(
            state.stage,
            AttemptStage::Begun
                | AttemptStage::Cleared
                | AttemptStage::Waited
                | AttemptStage::Settled
                | AttemptStage::Sealed
        );
        if releases {
            actions.push(CascadeAction::Release);
            if state.hung.is_none() {
                actions.push(CascadeAction::ReleaseHangs);
            }
        }
        if state.hung.is_some() {
            actions.extend([CascadeAction::Arrive, CascadeAction::Lose]);
        }
        if state.stage != AttemptStage::Idle && state.deaths < self.deaths {
            actions.push(CascadeAction::Die);
        }
    }

    /// Returns whether the attempt's next statement need not wait.
    fn may_go(&self, state: &CascadeState) -> bool {
        let (old_owner, new_owner) = state.parties();
        let (old_owner, new_owner) = (state.shard(old_owner), state.shard(new_owner));
        match state.stage {
            AttemptStage::Idle => state.attempt < self.attempts,
            AttemptStage::Begun | AttemptStage::Flipped | AttemptStage::Opened => true,
            AttemptStage::Cleared => {
                self.is(CascadeRule::NobodyIsWaitedFor)
                    || self.is(CascadeRule::AskedBeforeTheWait)
                    || !self.has_the_lock(new_owner.writer)
            }
            AttemptStage::Waited => {
                self.is(CascadeRule::NothingIsAsked) || !new_owner.skipped || new_owner.is_whole()
            }
            AttemptStage::Settled => {
                old_owner.writer != CascadeWriter::Cascaded
                    && !(self.is(CascadeRule::AskedBeforeTheWait)
                        && self.has_the_lock(new_owner.writer))
            }
            AttemptStage::Sealed => !state.sent,
        }
    }

    /// Returns whether the transaction holds the lock in shared mode. The attempt takes this lock once in exclusive
    /// mode.
    fn has_the_lock(&self, writer: CascadeWriter) -> bool {
        match writer {
            CascadeWriter::Idle | CascadeWriter::Begun { .. } | CascadeWriter::Done => false,
            CascadeWriter::Locked { .. } => !self.is(CascadeRule::LockBehindTheLook),
            CascadeWriter::Cascaded | CascadeWriter::LeftOut => true,
        }
    }

    pub(super) fn perform(&self, state: &mut CascadeState, action: CascadeAction) {
        match action {
            CascadeAction::Begin(side) => {
                let saw = state.shard(side).skips;
                state.shard_mut(side).writer = CascadeWriter::Begun { saw };
            }
            CascadeAction::Lock(side) => {
                let shard = state.shard_mut(side);
                let read = if self.is(CascadeRule::ReadBySnapshot) {
                    shard.writer == CascadeWriter::Begun { saw: true }
                } else {
                    self.is(CascadeRule::LockBehindTheLook) && shard.skips
                };
                shard.writer = CascadeWriter::Locked { read };
            }
            CascadeAction::Cascade(side) => self.cascade(state, side),
            CascadeAction::Commit(side) => commit(state, side),
            CascadeAction::RollBack(side) => state.shard_mut(side).writer = CascadeWriter::Done,
            CascadeAction::Stream => {
                state.sent = false;
                let copy = state.owner.other();
                state.shard_mut(copy).row = false;
            }
            CascadeAction::Go => self.go(state),
            CascadeAction::Release => {
                let hung = reopen(state);
                self.allow(state, hung);
            }
            CascadeAction::ReleaseHangs => state.hung = Some(reopen(state)),
            CascadeAction::Arrive => {
                if let Some(hung) = state.hung.take() {
                    self.allow(state, hung);
                }
            }
            CascadeAction::Lose => state.hung = None,
            CascadeAction::Die => self.die(state),
        }
    }

    fn cascade(&self, state: &mut CascadeState, side: CascadeSide) {
        let has_read =
            self.is(CascadeRule::ReadBySnapshot) || self.is(CascadeRule::LockBehindTheLook);
        let shard = state.shard_mut(side);
        let skips = if has_read {
            shard.writer == CascadeWriter::Locked { read: true }
        } else {
            shard.skips
        };
        shard.writer = if shard.open || !shard.row {
            CascadeWriter::Cascaded
        } else if skips {
            shard.skipped = true;
            CascadeWriter::LeftOut
        } else {
            CascadeWriter::Done
        };
    }

    fn go(&self, state: &mut CascadeState) {
        let (old_owner, new_owner) = state.parties();
        let attempt = state.attempt;
        state.stage = match state.stage {
            AttemptStage::Idle => {
                state.attempt += 1;
                state.shard_mut(new_owner).count = state.attempt;
                AttemptStage::Begun
            }
            AttemptStage::Begun => {
                if !self.is(CascadeRule::NotCleared) {
                    state.shard_mut(new_owner).skips = false;
                }
                AttemptStage::Cleared
            }
            AttemptStage::Cleared => AttemptStage::Waited,
            AttemptStage::Waited => AttemptStage::Settled,
            AttemptStage::Settled => {
                state.shard_mut(old_owner).open = false;
                AttemptStage::Sealed
            }
            AttemptStage::Sealed => {
                state.owner = new_owner;
                AttemptStage::Flipped
            }
            AttemptStage::Flipped => {
                let gained = state.shard_mut(new_owner);
                gained.open = true;
                gained.owns = true;
                AttemptStage::Opened
            }
            AttemptStage::Opened => {
                let old_shard = state.shard_mut(old_owner);
                old_shard.count = attempt;
                old_shard.owns = false;
                old_shard.skips = true;
                AttemptStage::Idle
            }
        };
    }

    /// Lets cascades skip rows again on the shard where an attempt was given up, unless a newer attempt has begun
    /// there.
    fn allow(&self, state: &mut CascadeState, HungRelease { side, attempt }: HungRelease) {
        let late = self.is(CascadeRule::LateRelease);
        let shard = state.shard_mut(side);
        if !shard.open && !shard.owns && (late || shard.count == attempt) {
            shard.skips = true;
        }
    }

    fn die(&self, state: &mut CascadeState) {
        state.deaths += 1;
        let (_, new_owner) = state.parties();
        if self.is(CascadeRule::HeldByTheProcess) {
            state.shard_mut(new_owner).skips = true;
        }
        if !matches!(state.stage, AttemptStage::Flipped | AttemptStage::Opened) {
            reopen(state);
        }
    }
}

/// Gives the attempt up: it never flips, and its old owner is open. Returns the remaining work.
fn reopen(state: &mut CascadeState) -> HungRelease {
    let (old_owner, new_owner) = state.parties();
    state.shard_mut(old_owner).open = true;
    state.stage = AttemptStage::Idle;
    HungRelease {
        side: new_owner,
        attempt: state.attempt,
    }
}

fn commit(state: &mut CascadeState, side: CascadeSide) {
    let owner = state.owner == side;
    let shard = state.shard_mut(side);
    if shard.writer == CascadeWriter::Cascaded {
        // The stream carries the owner's deletion to the other shard.
        let sent = owner && shard.row;
        shard.row = false;
        state.sent |= sent;
    }
    let shard = state.shard_mut(side);
    shard.parent = false;
    shard.writer = CascadeWriter::Done;
}
