//! Tests of the decisions on snapshots that the tests build.

use super::super::samples::{admitted, at, keys, planned};
use super::*;
use crate::store::LeaseHolder;
use plans::id::AttemptNo;
use plans::request::Options;
use plans::step::FORWARD;

/// A migration in `state` whose first `done` steps are done.
fn snapshot(state: MigrationState, done: usize) -> Snapshot {
    let moves = vec![planned("m1", "a", "b", keys(0, 9))];
    let mut snapshot = admitted("m1", moves, Options::default()).remove(0);
    snapshot.migration.state = state;
    for step in snapshot.steps.iter_mut().take(done) {
        step.state = StepState::Done;
    }
    snapshot
}

fn decide(snapshot: &Snapshot, now: DateTime<Utc>) -> Vec<Decision> {
    super::decide(snapshot, Some(&StartGate::Open), now)
}

fn owned(mut snapshot: Snapshot) -> Snapshot {
    snapshot.migration.owner = Some(LeaseHolder {
        agent: "x".into(),
        instance: "x1".into(),
        token: None,
        secret: None,
    });
    snapshot.migration.needs_new_epoch = false;
    snapshot.lease_until = Some(at(4));
    snapshot
}

fn flipped(done: usize) -> Snapshot {
    let mut snapshot = owned(snapshot(MigrationState::Flipped, done));
    snapshot.migration.ownership = Ownership::Flipped;
    snapshot
}

fn offer(step: &str) -> Vec<Decision> {
    vec![Decision::Offer(Some(step.into()))]
}

/// The rollback was withdrawn before the target was opened again. Nothing else opens the target before its guards are
/// dropped.
#[test]
fn a_target_that_a_withdrawn_rollback_may_have_sealed_is_opened_without_a_resume() {
    let before = FORWARD
        .iter()
        .position(|kind| *kind == StepKind::DropOld)
        .unwrap();
    let mut unowned = snapshot(MigrationState::Failed, before);
    unowned.migration.ownership = Ownership::Completed;
    assert_eq!(decide(&unowned, at(1)), []);
    let mut rollback = Step::new(StepKind::Rollback, 99);
    rollback.state = StepState::Skipped;
    unowned.steps.push(rollback);
    assert_eq!(decide(&unowned, at(1)), [Decision::Offer(None)]);
}

#[test]
fn keys_that_may_be_closed_are_opened_without_a_resume() {
    use Ownership as O;
    let cutover = FORWARD
        .iter()
        .position(|kind| *kind == StepKind::Cutover)
        .unwrap();
    let offers = vec![Decision::Offer(None)];
    for state in [MigrationState::Paused, MigrationState::Failed] {
        for (ownership, attempt, done, closed) in [
            (O::Ready, 0, cutover, false),
            (O::Ready, 1, cutover, true),
            (O::Fencing, 1, cutover, true),
            (O::Flipped, 1, cutover, true),
            (O::Flipped, 1, cutover + 1, false),
            (O::RollbackFencing, 2, cutover + 1, true),
        ] {
            let mut unowned = snapshot(state, done);
            unowned.migration.ownership = ownership;
            unowned.migration.attempt = AttemptNo(attempt);
            let wanted = if closed { offers.clone() } else { Vec::new() };
            assert_eq!(
                decide(&unowned, at(1)),
                wanted,
                "{ownership} {attempt} {done}"
            );
            // A live owner has opened the keys since, unless it needs a new epoch first.
            let mut held = owned(unowned);
            assert_eq!(decide(&held, at(1)), []);
            held.migration.needs_new_epoch = true;
            assert_eq!(decide(&held, at(1)), wanted, "{ownership} {attempt} {done}");
        }
    }
}

#[test]
fn a_planned_migration_is_started_and_its_first_step_is_offered() {
    let planned = snapshot(MigrationState::Planned, 0);
    assert_eq!(decide(&planned, at(1)), [Decision::Start]);
    let running = snapshot(MigrationState::Running, 0);
    assert_eq!(decide(&running, at(1)), offer("preflight"));
}

#[test]
fn a_waiting_migration_records_its_reason_once_and_a_lost_one_is_refused() {
    let mut planned = snapshot(MigrationState::Planned, 0);
    assert_eq!(super::decide(&planned, None, at(1)), []);
    let held = StartGate::Held("move m1 to be finished".to_owned());
    let wait = Decision::Wait("move m1 to be finished".to_owned());
    assert_eq!(super::decide(&planned, Some(&held), at(1)), [wait]);
    planned.migration.waiting_for = Some("move m1 to be finished".to_owned());
    assert_eq!(super::decide(&planned, Some(&held), at(1)), []);
    let lost = StartGate::Lost("gone".to_owned());
    let refuse = Decision::Refuse("gone".to_owned());
    assert_eq!(super::decide(&planned, Some(&lost), at(1)), [refuse]);
}

#[test]
fn an_attempt_without_an_owner_is_offered_also_while_paused() {
    let mut paused = snapshot(MigrationState::Paused, 8);
    assert_eq!(decide(&paused, at(1)), []);
    paused.migration.ownership = Ownership::Fencing;
    assert_eq!(decide(&paused, at(1)), [Decision::Offer(None)]);
    assert_eq!(decide(&owned(paused), at(1)), []);
}

#[test]
fn one_step_runs_at_a_time() {
    let mut running = owned(snapshot(MigrationState::Running, 0));
    running.steps[0].state = StepState::Running;
    assert_eq!(decide(&running, at(1)), []);
}

#[test]
fn an_expired_lease_ends_before_any_other_decision() {
    let running = owned(snapshot(MigrationState::Running, 3));
    assert_eq!(due(&running, at(1)), Some(at(4)));
    assert_eq!(decide(&running, at(4)), [Decision::ExpireLease]);
    let paused = owned(snapshot(MigrationState::Paused, 3));
    assert_eq!(decide(&paused, at(5)), [Decision::ExpireLease]);
}

#[test]
fn a_step_is_offered_after_its_pause() {
    let mut running = owned(snapshot(MigrationState::Running, 3));
    running.steps[3].state = StepState::Backoff;
    running.steps[3].next_at = Some(at(3));
    assert_eq!(decide(&running, at(2)), []);
    assert_eq!(due(&running, at(2)), Some(at(3)));
    assert_eq!(decide(&running, at(3)), offer("copy"));
}

#[test]
fn the_cutover_waits_for_approval_and_an_agent_keeps_the_stream() {
    let running = owned(snapshot(MigrationState::Running, 8));
    assert_eq!(decide(&running, at(1)), [Decision::AwaitApproval]);
    let mut waiting = owned(snapshot(MigrationState::Waiting, 8));
    assert_eq!(decide(&waiting, at(1)), []);
    waiting.migration.owner = None;
    assert_eq!(decide(&waiting, at(1)), [Decision::Offer(None)]);
    assert_eq!(stream(&waiting), Some(Direction::Forward));
    let mut approved = owned(snapshot(MigrationState::Running, 8));
    approved.migration.approved = true;
    assert_eq!(decide(&approved, at(1)), offer("cutover"));
}

#[test]
fn the_ownership_is_completed_before_old_rows_are_dropped() {
    let mut held = flipped(10);
    held.migration.hold_end = Some(HoldEnd::Finish);
    assert_eq!(decide(&held, at(1)), [Decision::Complete]);
    held.migration.ownership = Ownership::Completed;
    assert_eq!(decide(&held, at(1)), offer("drop_old"));
    assert_eq!(stream(&held), None);
}

#[test]
fn a_hold_that_failed_can_be_finished_without_running_again() {
    let mut failed = flipped(9);
    failed.migration.hold_end = Some(HoldEnd::Finish);
    assert_eq!(decide(&failed, at(1)), [Decision::Complete]);
    failed.migration.hold_end = Some(HoldEnd::Rollback);
    assert_eq!(decide(&failed, at(1)), offer("hold"));
}

#[test]
fn a_rollback_adds_its_own_steps() {
    let mut held = flipped(10);
    held.migration.hold_end = Some(HoldEnd::Rollback);
    assert_eq!(decide(&held, at(1)), [Decision::AddRollback]);
    held.steps[10].state = StepState::Skipped;
    held.steps.push(Step::new(StepKind::Rollback, 11));
    held.steps.push(Step::new(StepKind::DropNew, 12));
    assert_eq!(decide(&held, at(1)), offer("rollback"));
    assert_eq!(stream(&held), Some(Direction::Reverse));
}

#[test]
fn a_hold_of_some_seconds_ends_by_itself() {
    let mut holding = flipped(9);
    holding.migration.plan.options.hold = Hold::Seconds(2);
    holding.steps[9].state = StepState::Running;
    holding.steps[9].started_at = Some(at(1));
    assert_eq!(decide(&holding, at(2)), []);
    assert_eq!(due(&holding, at(2)), Some(at(3)));
    assert_eq!(decide(&holding, at(3)), [Decision::EndHold]);
}

#[test]
fn unwinding_waits_for_the_step_that_runs() {
    let mut unwinding = owned(snapshot(MigrationState::Unwinding, 3));
    unwinding.migration.ownership = Ownership::Aborted;
    unwinding.steps[3].state = StepState::Running;
    unwinding.steps.push(Step::new(StepKind::Unwind, 11));
    assert_eq!(decide(&unwinding, at(1)), []);
    unwinding.steps[3].state = StepState::Pending;
    assert_eq!(decide(&unwinding, at(1)), offer("unwind"));
    unwinding.steps[11].state = StepState::Done;
    assert_eq!(decide(&unwinding, at(1)), [Decision::EndMigration]);
}

#[test]
fn a_paused_or_failed_migration_is_not_offered() {
    for state in [MigrationState::Paused, MigrationState::Failed] {
        assert_eq!(decide(&snapshot(state, 3), at(1)), []);
    }
}

#[test]
fn a_cutover_without_approval_waits_for_its_hours_and_records_this() {
    let before = FORWARD
        .iter()
        .position(|kind| *kind == StepKind::Cutover)
        .unwrap();
    let mut ready = owned(snapshot(MigrationState::Running, before));
    ready.migration.plan.options.cutover = Cutover::Automatic;
    let now = at(0);
    let hour = |add: i64| (now + TimeDelta::hours(add)).format("%H:00");
    let hours = format!("{}-{}", hour(2), hour(3));
    let mut limits = ready.migration.limits();
    limits.throttle.hours = Some(plans::throttle::Hours::parse(&hours).unwrap());
    ready.migration.limits = Some(limits);
    let what = format!("the cutover's hours, {hours}");
    assert_eq!(decide(&ready, now), [Decision::Wait(what.clone())]);
    ready.migration.waiting_for = Some(what);
    assert_eq!(decide(&ready, now), []);
    let opens = due(&ready, at(5)).unwrap();
    assert!(opens > now && opens <= now + TimeDelta::hours(2), "{opens}");
    ready.lease_until = Some(opens + TimeDelta::seconds(4));
    assert_eq!(decide(&ready, opens), offer("cutover"));

    let mut approved = ready.clone();
    approved.migration.plan.options.cutover = Cutover::Approve;
    approved.migration.approved = true;
    assert_eq!(decide(&approved, now), offer("cutover"));
    let mut begun = ready;
    begun.migration.attempt = AttemptNo(1);
    assert_eq!(decide(&begun, now), offer("cutover"));
}
