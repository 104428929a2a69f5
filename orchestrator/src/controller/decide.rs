//! Decides what to do next with a migration. The functions are pure: they compute decisions from a snapshot of the
//! migration, from the result of its start gate, and from the time.
//!
//! The decision `Offer` waits until an agent claims it. The controller carries out all other decisions immediately.

use super::queue::StartGate;
use crate::store::{HoldEnd, HookRequest, Snapshot, Step};
use chrono::{DateTime, TimeDelta, Utc};
use plans::id::StepId;
use plans::names::Direction;
use plans::request::{Cutover, Hold, Mode};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;

/// A decision about a migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Start the planned migration.
    Start,
    /// Record the reason why the migration has to wait.
    Wait(String),
    /// Let the migration fail, because it can never start, for this reason.
    Refuse(String),
    /// End the lease, because no heartbeat of the owner (the agent process) has arrived in time.
    ExpireLease,
    /// Wait for the operator's approval of the cutover.
    AwaitApproval,
    /// End the hold, because it has lasted as long as the plan specifies.
    EndHold,
    /// Set the ownership to COMPLETED. Afterwards a rollback is impossible and the old rows may be dropped (I8).
    Complete,
    /// Add the steps of the rollback.
    AddRollback,
    /// After a rollback: skip `hold_back`, so that the agent may remove the copied rows on the target. Afterwards
    /// another cutover is impossible.
    EndHoldBack,
    /// After a rollback: add the steps of another cutover.
    AddNextCutover,
    /// End the migration: no step is left.
    EndMigration,
    /// An agent may claim this step. `None`: no step is due, but an agent must take the migration over.
    Offer(Option<StepId>),
}

/// Returns what to do with `snapshot` at `now`. `gate` is the result of the start gate; without it, a planned migration
/// stays planned.
#[must_use]
pub fn decide(snapshot: &Snapshot, gate: Option<&StartGate>, now: DateTime<Utc>) -> Vec<Decision> {
    let m = &snapshot.migration;
    if m.finished_at.is_some() {
        return Vec::new();
    }
    if m.owner.is_some() && snapshot.live_owner(now).is_none() {
        return vec![Decision::ExpireLease];
    }
    let decision = match m.state {
        MigrationState::Planned => match gate {
            None => None,
            Some(StartGate::Open) => Some(Decision::Start),
            Some(StartGate::Held(what)) if m.waiting_for.as_ref() == Some(what) => None,
            Some(StartGate::Held(what)) => Some(Decision::Wait(what.clone())),
            Some(StartGate::Lost(why)) => Some(Decision::Refuse(why.clone())),
        },
        MigrationState::Paused | MigrationState::Failed => offer_to_open_keys(snapshot, now),
        MigrationState::Unwound | MigrationState::Completed => None,
        MigrationState::Unwinding => decide_unwinding(snapshot, now),
        MigrationState::Running
        | MigrationState::Waiting
        | MigrationState::Flipped
        | MigrationState::RolledBack => decide_active(snapshot, now),
    };
    decision.into_iter().collect()
}

/// Returns the next time at which [`decide`] may return something else without any change of the snapshot.
#[must_use]
pub fn due(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let m = &snapshot.migration;
    let lease = snapshot.lease_until.filter(|_| m.owner.is_some());
    let pauses = snapshot.steps.iter().filter_map(|step| step.next_at);
    lease
        .into_iter()
        .chain(pauses)
        .chain(hold_limit(snapshot))
        .chain(next_hours_start(snapshot, now))
        .filter(|at| *at > now)
        .min()
}

/// Returns the direction of the change stream that must run; `None` if none must run, as in an offline move.
#[must_use]
pub fn stream(snapshot: &Snapshot) -> Option<Direction> {
    if snapshot.migration.plan.mode == Mode::Offline {
        return None;
    }
    let captured = snapshot
        .step_of(StepKind::CatchUp)
        .is_some_and(|step| matches!(step.state, StepState::Running | StepState::Done));
    match snapshot.migration.ownership {
        Ownership::Ready | Ownership::Fencing => captured.then_some(Direction::Forward),
        Ownership::Flipped | Ownership::RollbackFencing => Some(Direction::Reverse),
        Ownership::RolledBack => is_in_hold_back(snapshot).then_some(Direction::Forward),
        Ownership::Aborted | Ownership::Completed => None,
    }
}

/// Returns whether the step `hold_back`, during which the forward stream runs after a rollback, has not ended.
fn is_in_hold_back(snapshot: &Snapshot) -> bool {
    snapshot.is_open(StepKind::HoldBack) && !snapshot.has_open_rollback()
}

/// Returns the first step that is neither done nor skipped.
#[must_use]
pub fn next_step(snapshot: &Snapshot) -> Option<&Step> {
    snapshot.steps.iter().find(|step| !step.has_ended())
}

/// Returns whether the cutover waits for the operator's approval.
#[must_use]
pub fn needs_approval(snapshot: &Snapshot) -> bool {
    let m = &snapshot.migration;
    !m.approved
        && m.plan.options.cutover == Cutover::Approve
        && next_step(snapshot).is_some_and(|step| step.kind == StepKind::Cutover)
}

/// Returns the next decision about a migration that is not paused, failed or being aborted.
fn decide_active(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<Decision> {
    let m = &snapshot.migration;
    if snapshot.running().is_some() {
        let expired = hold_limit(snapshot).is_some_and(|limit| limit <= now);
        return expired.then_some(Decision::EndHold);
    }
    let Some(step) = next_step(snapshot) else {
        return Some(Decision::EndMigration);
    };
    if m.ownership == Ownership::Flipped {
        // A hold that is not running can be finished without running again. A rollback needs its stream, so it must run
        // again.
        let past_cutover = matches!(step.kind, StepKind::Hold | StepKind::DropOld);
        let past_hold = step.kind == StepKind::DropOld;
        match m.hold_end {
            Some(HoldEnd::Finish) if past_cutover => return Some(Decision::Complete),
            Some(HoldEnd::Rollback) if past_hold => return Some(Decision::AddRollback),
            Some(HoldEnd::Finish | HoldEnd::Rollback | HoldEnd::Again) | None => {}
        }
    }
    if m.ownership == Ownership::RolledBack {
        let is_hold_back = step.kind == StepKind::HoldBack;
        match m.hold_end {
            Some(HoldEnd::Finish) if is_hold_back => return Some(Decision::EndHoldBack),
            Some(HoldEnd::Again) if is_hold_back || step.kind == StepKind::DropNew => {
                return Some(Decision::AddNextCutover);
            }
            Some(HoldEnd::Finish | HoldEnd::Rollback | HoldEnd::Again) | None => {}
        }
    }
    if needs_approval(snapshot) {
        if m.state == MigrationState::Running {
            return Some(Decision::AwaitApproval);
        }
        // A pause or a failure has stopped the stream. A new dispatch starts it again.
        let restart = m.needs_new_epoch.then_some(Decision::Offer(None));
        return restart.or_else(|| offer_if_unowned(snapshot, now));
    }
    if let Some(what) = hours_wait(snapshot, step, now) {
        if m.waiting_for.as_ref() != Some(&what) {
            return Some(Decision::Wait(what));
        }
        return offer_if_unowned(snapshot, now);
    }
    if m.hook.as_ref().is_some_and(HookRequest::is_blocking) {
        // An earlier attempt may have left keys closed. The agent opens them while the hooks hold the migration.
        let restart = m.needs_new_epoch.then_some(Decision::Offer(None));
        return restart.or_else(|| offer_if_unowned(snapshot, now));
    }
    offer_step(snapshot, step, now)
}

/// Returns what a cutover waits for that needs no approval, outside of the hours of the migration.
///
/// A cutover that has begun continues at any time, because it may have left keys closed.
pub(super) fn hours_wait(snapshot: &Snapshot, step: &Step, now: DateTime<Utc>) -> Option<String> {
    let m = &snapshot.migration;
    let begins = step.kind == StepKind::Cutover
        && step.state == StepState::Pending
        && m.ownership == Ownership::Ready
        && m.attempt.0 == 0
        && !m.approved;
    let hours = snapshot.limits().throttle.hours.filter(|_| begins)?;
    (!hours.contains(now.timestamp_millis())).then(|| format!("the cutover's hours, {hours}"))
}

/// Returns when the hours begin that the cutover waits for; `None` if it waits for no hours.
fn next_hours_start(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    hours_wait(snapshot, next_step(snapshot)?, now)?;
    let hours = snapshot.limits().throttle.hours?;
    DateTime::from_timestamp_millis(hours.next(now.timestamp_millis()))
}

/// Offers a paused or failed migration to an agent if an interrupted cutover attempt may have left its keys closed.
/// Otherwise they would stay closed until an operator resumes the migration. The agent gives up the attempt, or opens
/// the new owner.
fn offer_to_open_keys(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<Decision> {
    // If the migration needs a new epoch, its owner (the agent process) has not claimed it since the last failure.
    let is_claimed = snapshot.live_owner(now).is_some() && !snapshot.migration.needs_new_epoch;
    let needs_offer = !is_claimed && snapshot.running().is_none() && keys_may_be_closed(snapshot);
    needs_offer.then_some(Decision::Offer(None))
}

/// Returns whether the moving keys may be closed on both shards: a cutover attempt has begun, and its step has not
/// reported its end. The ownership in the store does not show this, because it changes before a shard opens.
fn keys_may_be_closed(snapshot: &Snapshot) -> bool {
    let m = &snapshot.migration;
    match m.ownership {
        Ownership::Fencing | Ownership::RollbackFencing => true,
        Ownership::Ready => m.attempt.0 > 0,
        Ownership::Flipped => snapshot.is_open(StepKind::Cutover) || snapshot.has_open_rollback(),
        Ownership::RolledBack => snapshot.has_open_rollback(),
        // A rollback may have sealed the target before it was withdrawn.
        Ownership::Completed => {
            snapshot.step_of(StepKind::Rollback).is_some() && snapshot.is_open(StepKind::DropOld)
        }
        Ownership::Aborted => false,
    }
}

/// Returns the next decision about a migration that is being aborted.
fn decide_unwinding(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<Decision> {
    let unwind = snapshot.step_of(StepKind::Unwind)?;
    if unwind.state == StepState::Done {
        return Some(Decision::EndMigration);
    }
    if snapshot.running().is_some() {
        return None;
    }
    offer_step(snapshot, unwind, now)
}

/// Offers the step if it is due; otherwise offers the migration without a step if no agent process has its lease.
fn offer_step(snapshot: &Snapshot, step: &Step, now: DateTime<Utc>) -> Option<Decision> {
    let is_open = matches!(step.state, StepState::Pending | StepState::Backoff);
    let pause_is_over = step.next_at.is_none_or(|at| at <= now);
    if is_open && pause_is_over && dependencies_are_done(snapshot, step) {
        return Some(Decision::Offer(Some(step.id.clone())));
    }
    offer_if_unowned(snapshot, now)
}

/// Offers the migration without a step if no agent process has its lease.
fn offer_if_unowned(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<Decision> {
    let is_unowned = snapshot.live_owner(now).is_none();
    is_unowned.then_some(Decision::Offer(None))
}

/// Returns whether the steps that must come first in the graph of the plan have ended.
fn dependencies_are_done(snapshot: &Snapshot, step: &Step) -> bool {
    let Some(node) = snapshot.migration.plan.graph.node(&step.id) else {
        return true;
    };
    let mut steps = snapshot.steps.iter();
    steps.all(|other| !node.after.contains(&other.id) || other.has_ended())
}

/// Returns when the running hold ends without a command.
#[must_use]
pub fn hold_limit(snapshot: &Snapshot) -> Option<DateTime<Utc>> {
    let m = &snapshot.migration;
    let Hold::Seconds(seconds) = m.plan.options.hold else {
        return None;
    };
    let hold = snapshot
        .running()
        .filter(|step| matches!(step.kind, StepKind::Hold | StepKind::HoldBack))?;
    let began = hold.started_at.filter(|_| m.hold_end.is_none())?;
    Some(began + TimeDelta::seconds(i64::from(seconds)))
}

#[cfg(test)]
mod tests;
