//! The possible actions and their effects.

use super::state::{FailoverState, SourceServer};
use super::{Failover, FailoverRule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailoverAction {
    /// The application commits a transaction on this server.
    Write(SourceServer),
    /// The standby receives the next transaction.
    Replicate,
    /// The agent creates the slot.
    OpenCapture,
    /// The agent copies all rows with a snapshot of this time.
    Copy,
    /// The agent spools the next change.
    Spool,
    /// The agent applies the next change, from the spool or from the slot.
    Apply,
    /// The agent confirms what is applied or in the spool.
    Confirm,
    /// The standby copies the slot.
    Synchronize,
    Promote,
    StopOldPrimary,
    /// The agent finds the promoted server, and continues there or compares the rows.
    Decide,
    /// The agent reads the old primary again.
    ReturnToOldPrimary,
    Flip,
}

impl Failover {
    pub(super) fn possible(&self, state: &FailoverState, actions: &mut Vec<FailoverAction>) {
        if state.flipped {
            return;
        }
        if state.writes < self.writes {
            if !state.old_is_down {
                actions.push(FailoverAction::Write(SourceServer::Old));
            }
            if state.promoted.is_some() {
                actions.push(FailoverAction::Write(SourceServer::New));
            }
        }
        match state.promoted {
            None => {
                if state.new_log.len() < state.old_log.len() {
                    actions.push(FailoverAction::Replicate);
                }
                if state.synchronizes && self.can_synchronize(state) {
                    actions.push(FailoverAction::Synchronize);
                }
                actions.push(FailoverAction::Promote);
            }
            Some(_) => {
                if !state.old_is_down {
                    actions.push(FailoverAction::StopOldPrimary);
                }
                if !state.decided {
                    actions.push(FailoverAction::Decide);
                    return;
                }
                if self.is(FailoverRule::UsesOldPrimary)
                    && !state.old_is_down
                    && state.reads == SourceServer::New
                {
                    actions.push(FailoverAction::ReturnToOldPrimary);
                }
            }
        }
        self.possible_for_agent(state, actions);
    }

    fn can_synchronize(&self, state: &FailoverState) -> bool {
        state
            .confirmed
            .is_some_and(|at| state.synced < Some(at) && usize::from(at) <= state.new_log.len())
    }

    fn possible_for_agent(&self, state: &FailoverState, actions: &mut Vec<FailoverAction>) {
        let Some(confirmed) = state.confirmed else {
            actions.push(FailoverAction::OpenCapture);
            return;
        };
        let sent = self.sent(state);
        let received = state.progress + number(state.spool.len());
        if received < sent {
            actions.push(FailoverAction::Spool);
        }
        if state.snapshot.is_none() {
            actions.push(FailoverAction::Copy);
        } else if !state.spool.is_empty() || state.progress < sent {
            actions.push(FailoverAction::Apply);
        } else if state.progress == number(state.log(state.reads).len())
            && (state.promoted.is_some() || state.new_log.len() == state.old_log.len())
        {
            actions.push(FailoverAction::Flip);
        }
        if confirmed < received {
            actions.push(FailoverAction::Confirm);
        }
    }

    /// Returns the number of transactions that the server sends to the stream.
    fn sent(&self, state: &FailoverState) -> u8 {
        let all = number(state.log(state.reads).len());
        if state.holds_back && state.promoted.is_none() {
            all.min(number(state.new_log.len()))
        } else {
            all
        }
    }

    pub(super) fn perform(&self, state: &mut FailoverState, action: FailoverAction) {
        match action {
            FailoverAction::Write(server) => {
                let write = state.writes;
                state.writes += 1;
                match server {
                    SourceServer::Old => state.old_log.push(write),
                    SourceServer::New => state.new_log.push(write),
                }
            }
            FailoverAction::Replicate => {
                let next = state.old_log[state.new_log.len()];
                state.new_log.push(next);
            }
            FailoverAction::OpenCapture => {
                let end = number(state.log(state.reads).len());
                state.confirmed = Some(end);
                state.progress = end;
            }
            FailoverAction::Copy => {
                let log = state.log(state.reads).to_vec();
                state.snapshot = Some(number(log.len()));
                state.target.extend(log);
            }
            FailoverAction::Spool => {
                let at = usize::from(state.progress) + state.spool.len();
                let next = state.log(state.reads)[at];
                state.spool.push(next);
            }
            FailoverAction::Apply => {
                let next = if state.spool.is_empty() {
                    state.log(state.reads)[usize::from(state.progress)]
                } else {
                    state.spool.remove(0)
                };
                // The copy contains what its snapshot saw.
                if Some(state.progress) >= state.snapshot {
                    state.target.insert(next);
                }
                state.progress += 1;
            }
            FailoverAction::Confirm => {
                state.confirmed = Some(state.progress + number(state.spool.len()));
            }
            FailoverAction::Synchronize => state.synced = state.confirmed,
            FailoverAction::Promote => state.promoted = Some(number(state.new_log.len())),
            FailoverAction::StopOldPrimary => state.old_is_down = true,
            FailoverAction::Decide => self.decide(state),
            FailoverAction::ReturnToOldPrimary => state.reads = SourceServer::Old,
            FailoverAction::Flip => state.flipped = true,
        }
    }

    fn decide(&self, state: &mut FailoverState) {
        state.decided = true;
        state.reads = SourceServer::New;
        if !self.is(FailoverRule::KeepsSpool) {
            state.spool.clear();
        }
        if state.confirmed.is_none() {
            return;
        }
        if self.may_continue(state) {
            state.confirmed = state.synced;
            state.continued = true;
            return;
        }
        let end = number(state.new_log.len());
        state.confirmed = Some(end);
        state.progress = if self.is(FailoverRule::KeepsPositions) {
            state.progress.max(end)
        } else {
            end
        };
        if state.snapshot.is_some() {
            state.snapshot = Some(end);
            let rows = state.rows_of_primary();
            if !self.is(FailoverRule::CountsWithoutComparing) {
                state.removed = !state.target.is_subset(&rows);
                state.target = rows;
            }
        }
    }

    /// Returns whether the stream may continue on the promoted server.
    fn may_continue(&self, state: &FailoverState) -> bool {
        let switch_point = state.promoted.unwrap_or_default();
        let (Some(synced), Some(_)) = (state.synced, state.snapshot) else {
            return false;
        };
        let applied_before = state.progress <= switch_point;
        let copied_before = state.snapshot <= Some(switch_point);
        (applied_before || self.is(FailoverRule::ContinuesPastSwitchPoint))
            && (copied_before || self.is(FailoverRule::IgnoresSnapshot))
            && (synced <= state.progress || self.is(FailoverRule::IgnoresSlotPosition))
    }
}

fn number(length: usize) -> u8 {
    u8::try_from(length).unwrap_or(u8::MAX)
}
