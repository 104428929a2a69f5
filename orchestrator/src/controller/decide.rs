//! What to do next with a migration; pure: a snapshot, what holds it back and the time in, decisions out.
//!
//! Offers wait for an agent to claim; everything else is settled by the controller at once.

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

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Take up what was submitted.
    Start,
    /// Something holds it back; say what.
    Wait(String),
    /// It can never start; why.
    Refuse(String),
    /// The owner showed no sign of life for too long.
    Expire,
    /// The cutover needs the operator's word.
    AwaitApproval,
    /// The hold has lasted as long as the plan says.
    EndHold,
    /// Give up the way back, so that the old rows may go (I8).
    Complete,
    /// Add the steps of the way back.
    GoBack,
    /// After a roll back: nothing is to be tried again, so that the copy may go.
    LetGo,
    /// After a roll back: take the steps to another cutover.
    GoAgain,
    /// Nothing is left to do.
    End,
    /// An agent may take this step; `None`: an agent is needed to keep the migration going.
    Offer(Option<StepId>),
}

/// What is to be done with `snapshot` at `now`; a planned one stays so until its gate was looked at.
#[must_use]
pub fn decide(snapshot: &Snapshot, gate: Option<&StartGate>, now: DateTime<Utc>) -> Vec<Decision> {
    let m = &snapshot.migration;
    if m.finished_at.is_some() {
        return Vec::new();
    }
    if m.owner.is_some() && snapshot.live_owner(now).is_none() {
        return vec![Decision::Expire];
    }
    let decision = match m.state {
        MigrationState::Planned => match gate {
            None => None,
            Some(StartGate::Open) => Some(Decision::Start),
            Some(StartGate::Held(what)) if m.waiting_for.as_ref() == Some(what) => None,
            Some(StartGate::Held(what)) => Some(Decision::Wait(what.clone())),
            Some(StartGate::Lost(why)) => Some(Decision::Refuse(why.clone())),
        },
        MigrationState::Paused | MigrationState::Failed => closed_keys(snapshot, now),
        MigrationState::Unwound | MigrationState::Completed => None,
        MigrationState::Unwinding => unwinding(snapshot, now),
        MigrationState::Running
        | MigrationState::Waiting
        | MigrationState::Flipped
        | MigrationState::RolledBack => going(snapshot, now),
    };
    decision.into_iter().collect()
}

/// When [`decide`] may say something else although nothing happened.
#[must_use]
pub fn due(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let m = &snapshot.migration;
    let lease = snapshot.lease_until.filter(|_| m.owner.is_some());
    let pauses = snapshot.steps.iter().filter_map(|step| step.next_at);
    lease
        .into_iter()
        .chain(pauses)
        .chain(hold_limit(snapshot))
        .chain(opening(snapshot, now))
        .filter(|at| *at > now)
        .min()
}

/// The change stream that must run; an offline move has none.
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
        Ownership::RolledBack => is_held_back(snapshot).then_some(Direction::Forward),
        Ownership::Aborted | Ownership::Completed => None,
    }
}

/// True from the end of the roll back until the copy is dropped, or the cutover begins again.
fn is_held_back(snapshot: &Snapshot) -> bool {
    snapshot.is_open(StepKind::HoldBack) && !snapshot.goes_back()
}

/// The first step that is neither done nor skipped.
#[must_use]
pub fn next_step(snapshot: &Snapshot) -> Option<&Step> {
    snapshot.steps.iter().find(|step| !step.has_ended())
}

/// True when the cutover waits for the operator's word.
#[must_use]
pub fn needs_approval(snapshot: &Snapshot) -> bool {
    let m = &snapshot.migration;
    !m.approved
        && m.plan.options.cutover == Cutover::Approve
        && next_step(snapshot).is_some_and(|step| step.kind == StepKind::Cutover)
}

fn going(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<Decision> {
    let m = &snapshot.migration;
    if snapshot.running().is_some() {
        let expired = hold_limit(snapshot).is_some_and(|limit| limit <= now);
        return expired.then_some(Decision::EndHold);
    }
    let Some(step) = next_step(snapshot) else {
        return Some(Decision::End);
    };
    if m.ownership == Ownership::Flipped {
        // A hold that does not run need not run to be finished; a roll back needs its stream.
        let past_cutover = matches!(step.kind, StepKind::Hold | StepKind::DropOld);
        let past_hold = step.kind == StepKind::DropOld;
        match m.hold_end {
            Some(HoldEnd::Finish) if past_cutover => return Some(Decision::Complete),
            Some(HoldEnd::Rollback) if past_hold => return Some(Decision::GoBack),
            Some(HoldEnd::Finish | HoldEnd::Rollback | HoldEnd::Again) | None => {}
        }
    }
    if m.ownership == Ownership::RolledBack {
        let held = step.kind == StepKind::HoldBack;
        match m.hold_end {
            Some(HoldEnd::Finish) if held => return Some(Decision::LetGo),
            Some(HoldEnd::Again) if held || step.kind == StepKind::DropNew => {
                return Some(Decision::GoAgain);
            }
            Some(HoldEnd::Finish | HoldEnd::Rollback | HoldEnd::Again) | None => {}
        }
    }
    if needs_approval(snapshot) {
        if m.state == MigrationState::Running {
            return Some(Decision::AwaitApproval);
        }
        // A stream that was stopped by a pause or a failure is started again by a new dispatch.
        let anew = m.renew.then_some(Decision::Offer(None));
        return anew.or_else(|| keep_going(snapshot, now));
    }
    if let Some(what) = outside_hours(snapshot, step, now) {
        if m.waiting_for.as_ref() != Some(&what) {
            return Some(Decision::Wait(what));
        }
        return keep_going(snapshot, now);
    }
    if m.hook.as_ref().is_some_and(HookRequest::holds) {
        // What an attempt before left closed is opened meanwhile.
        let anew = m.renew.then_some(Decision::Offer(None));
        return anew.or_else(|| keep_going(snapshot, now));
    }
    offer(snapshot, step, now)
}

/// What a cutover that nobody has to approve waits for outside of the migration's hours.
///
/// One that was begun goes on at any time: it may have left keys closed.
pub(super) fn outside_hours(
    snapshot: &Snapshot,
    step: &Step,
    now: DateTime<Utc>,
) -> Option<String> {
    let m = &snapshot.migration;
    let begins = step.kind == StepKind::Cutover
        && step.state == StepState::Pending
        && m.ownership == Ownership::Ready
        && m.attempt.0 == 0
        && !m.approved;
    let hours = snapshot.limits().throttle.hours.filter(|_| begins)?;
    (!hours.contains(now.timestamp_millis())).then(|| format!("the cutover's hours, {hours}"))
}

/// When the hours begin that such a cutover waits for.
fn opening(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    outside_hours(snapshot, next_step(snapshot)?, now)?;
    let hours = snapshot.limits().throttle.hours?;
    DateTime::from_timestamp_millis(hours.next(now.timestamp_millis()))
}

/// Keys that an interrupted attempt may have left closed are not left so because nobody resumes: an
/// agent is asked to own the migration, which releases the attempt, or opens the new owner.
fn closed_keys(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<Decision> {
    // An owner that is to begin anew has not taken over since its last attempt.
    let recovered = snapshot.live_owner(now).is_some() && !snapshot.migration.renew;
    let needs_offer = !recovered && snapshot.running().is_none() && left_closed(snapshot);
    needs_offer.then_some(Decision::Offer(None))
}

/// True when an attempt was begun and its step has not said that the keys are open on one of the shards.
///
/// The store knows of a release before the shard does, and of a flip before the new owner opens.
fn left_closed(snapshot: &Snapshot) -> bool {
    let m = &snapshot.migration;
    match m.ownership {
        Ownership::Fencing | Ownership::RollbackFencing => true,
        Ownership::Ready => m.attempt.0 > 0,
        Ownership::Flipped => snapshot.is_open(StepKind::Cutover) || snapshot.goes_back(),
        Ownership::RolledBack => snapshot.goes_back(),
        // A roll back that was begun may have sealed the target before it was withdrawn.
        Ownership::Completed => {
            snapshot.step_of(StepKind::Rollback).is_some() && snapshot.is_open(StepKind::DropOld)
        }
        Ownership::Aborted => false,
    }
}

fn unwinding(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<Decision> {
    let unwind = snapshot.step_of(StepKind::Unwind)?;
    if unwind.state == StepState::Done {
        return Some(Decision::End);
    }
    if snapshot.running().is_some() {
        return None;
    }
    offer(snapshot, unwind, now)
}

fn offer(snapshot: &Snapshot, step: &Step, now: DateTime<Utc>) -> Option<Decision> {
    let open = matches!(step.state, StepState::Pending | StepState::Backoff);
    let rested = step.next_at.is_none_or(|at| at <= now);
    if open && rested && dependencies_are_done(snapshot, step) {
        return Some(Decision::Offer(Some(step.id.clone())));
    }
    keep_going(snapshot, now)
}

/// Without an owner an agent is needed although no step is due.
fn keep_going(snapshot: &Snapshot, now: DateTime<Utc>) -> Option<Decision> {
    let alone = snapshot.live_owner(now).is_none();
    alone.then_some(Decision::Offer(None))
}

fn dependencies_are_done(snapshot: &Snapshot, step: &Step) -> bool {
    let Some(node) = snapshot.migration.plan.graph.node(&step.id) else {
        return true;
    };
    let mut steps = snapshot.steps.iter();
    steps.all(|other| !node.after.contains(&other.id) || other.has_ended())
}

/// When a hold that runs ends by itself.
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
