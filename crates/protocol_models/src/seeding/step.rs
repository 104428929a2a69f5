//! The effects of the actions.

use super::Seeding;
use super::actions::{ClonePosition, SeedAction};
use super::mutants::SeedRule;
use super::state::{
    Promoter, Promotion, PromotionCommand, SeedClone, SeedPhase, SeedRecord, SeedRegister,
    SeedState, SeedTransaction,
};

impl Seeding {
    pub(super) fn perform(&self, state: &mut SeedState, action: SeedAction) {
        match action {
            SeedAction::Write(transaction)
            | SeedAction::WriteAndCommit(transaction)
            | SeedAction::Prepare(transaction)
            | SeedAction::Commit(transaction)
            | SeedAction::RollBack(transaction) => advance(state, transaction, action),
            SeedAction::Go => self.go(state),
            SeedAction::Apply => self.apply(state),
            SeedAction::Abort => self.abort(state),
            SeedAction::BindAgain => {
                let bound = SeedRegister::Bound(state.source.timeline);
                state.source.log.push(SeedRecord::Set(bound));
            }
            SeedAction::WriteClone => state.clone.written = true,
            SeedAction::ServeHungCleanUp => {
                state.hung = false;
                self.clean_up(state);
            }
            SeedAction::TakeEffect(position) => {
                promote(state, Promoter::Agent, position);
                state.exposed |= state.clone.accepts_any();
            }
            SeedAction::TimeOut => {
                state.faults += 1;
                state.command = Some(PromotionCommand { timed_out: true });
                state.phase = SeedPhase::Intended;
            }
            SeedAction::LoseCommand => {
                state.faults += 1;
                state.command = None;
                if state.phase == SeedPhase::Commanded {
                    state.phase = SeedPhase::Intended;
                }
            }
            SeedAction::PromoteOther(position) => {
                state.faults += 1;
                promote(state, Promoter::Other, position);
            }
            SeedAction::HangCleanUp => {
                state.faults += 1;
                state.hung = true;
            }
            SeedAction::CommitCopy(transaction) => {
                state.faults += 1;
                state.clone.database.replay(SeedRecord::Commit(transaction));
                state.clone.meddled = true;
            }
            SeedAction::FailOver { records, clone } => fail_over(state, records, clone),
        }
    }

    fn go(&self, state: &mut SeedState) {
        if self.touches_source(state.phase) && self.has_lost_source(state) {
            state.phase = SeedPhase::Failed;
            return;
        }
        state.phase = match state.phase {
            SeedPhase::Planned | SeedPhase::Guarded | SeedPhase::SlotWaits(_) => {
                self.capture(state)
            }
            SeedPhase::Captured | SeedPhase::Bound | SeedPhase::Covered => self.bind(state),
            SeedPhase::Intended | SeedPhase::Commanded | SeedPhase::Recognized => {
                self.promote_clone(state)
            }
            SeedPhase::Cleaned | SeedPhase::Unbound => self.unbind(state),
            SeedPhase::Streaming | SeedPhase::Verified | SeedPhase::Sealed | SeedPhase::Flipped => {
                self.cut_over(state)
            }
            SeedPhase::Opened | SeedPhase::Failed | SeedPhase::Aborted => state.phase,
        };
    }

    /// Creates the guards with open registers, then the publication and the slot (E11).
    fn capture(&self, state: &mut SeedState) -> SeedPhase {
        if state.phase == SeedPhase::Planned {
            state.source.log.push(SeedRecord::Guard);
            return SeedPhase::Guarded;
        }
        if state.phase == SeedPhase::Guarded {
            return if self.is(SeedRule::SlotBehindPromotion) {
                SeedPhase::Captured
            } else {
                SeedPhase::SlotWaits(state.source.in_progress())
            };
        }
        open_slot(state);
        SeedPhase::Captured
    }

    /// Everything that closes the clone is in the log before the intent.
    fn bind(&self, state: &mut SeedState) -> SeedPhase {
        let late_guard = self.is(SeedRule::CloneGuardBehindIntent);
        let log = &mut state.source.log;
        if state.phase == SeedPhase::Captured {
            if !self.is(SeedRule::NotBound) && !self.is(SeedRule::BoundBehindIntent) {
                log.push(SeedRecord::Set(SeedRegister::Bound(1)));
            }
            return SeedPhase::Bound;
        }
        let guard = !self.is(SeedRule::NoCloneGuard);
        if state.phase == SeedPhase::Bound {
            if late_guard {
                log.push(SeedRecord::Intent);
            } else if guard {
                log.push(SeedRecord::CloneGuard);
            }
            return SeedPhase::Covered;
        }
        log.push(if late_guard {
            SeedRecord::CloneGuard
        } else {
            SeedRecord::Intent
        });
        SeedPhase::Intended
    }

    fn promote_clone(&self, state: &mut SeedState) -> SeedPhase {
        let late_bound = self.is(SeedRule::BoundBehindIntent)
            && state.source.database().register == SeedRegister::Open;
        if state.phase == SeedPhase::Intended && late_bound {
            let bound = SeedRecord::Set(SeedRegister::Bound(1));
            state.source.log.push(bound);
            return SeedPhase::Intended;
        }
        if state.phase == SeedPhase::Intended {
            self.command(state);
            return SeedPhase::Commanded;
        }
        if state.phase == SeedPhase::Commanded && self.may_unbind_early(state) {
            state.source.log.push(SeedRecord::Set(SeedRegister::Open));
            return SeedPhase::Commanded;
        }
        if state.phase == SeedPhase::Commanded {
            let has_intent = state.clone.database.intent;
            return if has_intent || self.is(SeedRule::AnyPromotion) {
                SeedPhase::Recognized
            } else {
                SeedPhase::Failed
            };
        }
        if state.clone.database.prepared != 0 && !self.is(SeedRule::PreparedStay) {
            state.clone.database.prepared = 0;
            return SeedPhase::Recognized;
        }
        self.clean_up(state);
        SeedPhase::Cleaned
    }

    /// Sends the command to promote, unless the standby is promoted or the command is under way.
    fn command(&self, state: &mut SeedState) {
        if state.clone.promotion.is_some() || state.command.is_some() {
            return;
        }
        state.command = Some(PromotionCommand { timed_out: false });
        if !self.is(SeedRule::NoWait) && state.clone.follows {
            state.clone.replayed = state.source.intent_position();
        }
    }

    /// One transaction makes the clone the target, if its row does not say so already.
    fn clean_up(&self, state: &mut SeedState) {
        let clone = &mut state.clone;
        let Some(promotion) = clone.promotion else {
            return;
        };
        let has_row = clone.database.intent || self.is(SeedRule::AnyPromotion);
        if !has_row || clone.target && !self.is(SeedRule::CleansTwice) {
            return;
        }
        clone.target = true;
        clone.database.register = SeedRegister::Closed;
        clone.database.clone_guard = false;
        clone.database.released = !self.is(SeedRule::NoReleasedGuard);
        clone.progress = match self.bent {
            Some(SeedRule::SkipsToMarker) => state.source.intent_position(),
            Some(SeedRule::AppliesLastOfClone) => promotion.at - 1,
            Some(SeedRule::SkipsFirstOfStream) => promotion.at + 1,
            Some(SeedRule::PositionOfSource) => state.source.end(),
            Some(_) | None => promotion.at,
        };
        if self.is(SeedRule::ConfirmsEnd) {
            state.confirmed = state.source.end();
        }
    }

    fn unbind(&self, state: &mut SeedState) -> SeedPhase {
        if state.phase == SeedPhase::Cleaned {
            if self.is(SeedRule::SlotBehindPromotion) {
                open_slot(state);
            }
            if !self.is(SeedRule::StaysBound) {
                state.source.log.push(SeedRecord::Set(SeedRegister::Open));
            }
            return SeedPhase::Unbound;
        }
        if !self.is(SeedRule::CloneGuardStays) {
            state.source.log.push(SeedRecord::DropCloneGuard);
        }
        // The agent waits until the source's other standbys have flushed both records.
        if !self.is(SeedRule::UnboundNotReplicated) {
            state.source.replicated = state.source.end();
        }
        SeedPhase::Streaming
    }

    fn apply(&self, state: &mut SeedState) {
        let Some((transaction, end)) = self.next_change(state) else {
            return;
        };
        let clone = &mut state.clone;
        if clone.database.rows >> transaction & 1 == 1 {
            // The change does not affect exactly one row, so the step fails.
            state.doubled |= !clone.meddled;
            state.phase = SeedPhase::Failed;
            return;
        }
        clone.database.rows |= 1 << transaction;
        clone.progress = end;
        state.confirmed = end;
    }

    fn cut_over(&self, state: &mut SeedState) -> SeedPhase {
        if state.phase == SeedPhase::Streaming {
            return if state.is_equal() || self.is(SeedRule::NotVerified) {
                SeedPhase::Verified
            } else {
                SeedPhase::Failed
            };
        }
        if state.phase == SeedPhase::Verified {
            let closed = SeedRecord::Set(SeedRegister::Closed);
            state.source.log.push(closed);
            return SeedPhase::Sealed;
        }
        if state.phase == SeedPhase::Sealed {
            return SeedPhase::Flipped;
        }
        state.clone.database.register = if self.is(SeedRule::OpenedBound) {
            SeedRegister::Bound(1)
        } else {
            SeedRegister::Open
        };
        SeedPhase::Opened
    }

    /// Opens the source and removes what the migration created. No command to promote is under way: the standby could
    /// replay this first.
    fn abort(&self, state: &mut SeedState) {
        state.phase = SeedPhase::Aborted;
        // A target has an identity of its own, so the agent does not take it for the source.
        let is_lost = state.clone.succeeds && state.clone.target;
        if is_lost || state.source.timeline != 1 && self.is(SeedRule::FailoverIsLeft) {
            return;
        }
        let records = [SeedRecord::Set(SeedRegister::Open), SeedRecord::Remove];
        state.source.log.extend(records);
        if state.command.is_none() {
            state.forget();
        }
        // The agent waits until the source's other standbys have flushed this.
        if !self.is(SeedRule::AbortNotReplicated) {
            state.source.replicated = state.source.end();
        }
    }

    /// Returns whether the agent's next step after this phase reads or writes on the source, and so checks its timeline.
    /// When it sees a promoted standby, it checks that the standby has not taken the source's place.
    fn touches_source(&self, phase: SeedPhase) -> bool {
        match phase {
            SeedPhase::Planned | SeedPhase::Guarded | SeedPhase::SlotWaits(_) => true,
            SeedPhase::Captured | SeedPhase::Bound | SeedPhase::Covered => true,
            SeedPhase::Commanded => !self.is(SeedRule::SuccessorIsAccepted),
            SeedPhase::Cleaned | SeedPhase::Unbound => true,
            SeedPhase::Streaming | SeedPhase::Verified | SeedPhase::Sealed => true,
            SeedPhase::Intended | SeedPhase::Recognized => false,
            SeedPhase::Flipped | SeedPhase::Opened => false,
            SeedPhase::Failed | SeedPhase::Aborted => false,
        }
    }
}

/// A transaction of the application takes its next step on the source.
fn advance(state: &mut SeedState, transaction: usize, action: SeedAction) {
    let source = &mut state.source;
    if matches!(action, SeedAction::WriteAndCommit(_)) {
        source.log.push(SeedRecord::Write(transaction));
    }
    let (record, next) = if matches!(action, SeedAction::Write(_)) {
        (SeedRecord::Write(transaction), SeedTransaction::Written)
    } else if matches!(action, SeedAction::Prepare(_)) {
        (SeedRecord::Prepare(transaction), SeedTransaction::Prepared)
    } else if matches!(action, SeedAction::RollBack(_)) {
        (SeedRecord::RollBack(transaction), SeedTransaction::Ended)
    } else {
        (SeedRecord::Commit(transaction), SeedTransaction::Ended)
    };
    source.log.push(record);
    source.transactions[transaction] = next;
}

fn open_slot(state: &mut SeedState) {
    state.slot = Some(state.source.end());
    state.confirmed = state.source.end();
}

/// The standby leaves recovery. X is the end of what it has replayed.
fn promote(state: &mut SeedState, by: Promoter, position: u8) {
    let late = state.command.is_some_and(|command| command.timed_out);
    leave_log(state, position);
    state.clone.promotion = Some(Promotion {
        by,
        at: position,
        late: late && by == Promoter::Agent,
    });
    state.command = None;
}

/// From now on the standby has the source's database as it was at the position.
fn leave_log(state: &mut SeedState, position: u8) {
    if state.clone.follows {
        state.clone.database = state.source.database_at(position);
        state.clone.replayed = position;
        state.clone.follows = false;
    }
}

/// Another standby takes the source's place. It lacks the end of the log, and the transactions that were in progress.
fn fail_over(state: &mut SeedState, records: u8, clone: ClonePosition) {
    state.faults += 1;
    match clone {
        ClonePosition::Follows => {}
        ClonePosition::Apart(position) => leave_log(state, position),
        ClonePosition::Succeeds => {
            promote(state, Promoter::Other, records);
            state.clone.succeeds = true;
        }
    }
    let source = &mut state.source;
    source.log.truncate(usize::from(records));
    source.timeline = if state.clone.succeeds {
        SeedClone::TIMELINE
    } else {
        2
    };
    let prepared = source.database().prepared;
    for (index, transaction) in source.transactions.iter_mut().enumerate() {
        if prepared >> index & 1 == 1 {
            *transaction = SeedTransaction::Prepared;
        } else if *transaction != SeedTransaction::Idle {
            *transaction = SeedTransaction::Ended;
        }
    }
    let bound = matches!(source.database().register, SeedRegister::Bound(_));
    let may_be_bound = state.phase.is_unflipped() && !state.phase.applies();
    state.blocked = bound && may_be_bound;
}
