//! A past for migration `m1`: times of its steps, its journal, and readings with a gap.

use crate::fixture::Dashboard;
use chrono::{DateTime, TimeDelta, Utc};
use orchestrator::store::{
    FigureReading, LeaseHolder, MigrationStore, NewEvent, OwnerBeat, Snapshot, Step, StreamReading,
};
use plans::names::Direction;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use serde_json::{Value, json};

/// Between the heartbeats that are missing.
const GAP: std::ops::Range<i64> = 60..95;
const INSTANCE: &str = "i1";

/// How long a step of this kind takes, in seconds.
fn seconds(kind: StepKind) -> i64 {
    match kind {
        StepKind::Copy => 150,
        StepKind::Verify => 60,
        StepKind::BuildIndexes => 25,
        StepKind::CatchUp => 12,
        StepKind::Hold | StepKind::HoldBack => 90,
        StepKind::Preflight
        | StepKind::CreateTarget
        | StepKind::OpenCapture
        | StepKind::Promote
        | StepKind::SetReadOnly
        | StepKind::OpenReverse
        | StepKind::Cutover
        | StepKind::DropOld
        | StepKind::DropSurplus
        | StepKind::Unwind
        | StepKind::Rollback
        | StepKind::DropNew => 4,
    }
}

fn has_begun(step: &Step) -> bool {
    !matches!(step.state, StepState::Pending | StepState::Skipped)
}

/// Gives the steps that have begun their times, the migration its journal, and its readings.
pub(crate) async fn give(dashboard: &Dashboard) {
    let now = Utc::now();
    let snapshot = dashboard.migration().await;
    let steps: Vec<Step> = snapshot
        .steps
        .iter()
        .filter(|s| has_begun(s))
        .cloned()
        .collect();
    let total: i64 = steps.iter().map(|step| seconds(step.kind)).sum();
    let is_waiting = !steps.iter().any(|step| step.state == StepState::Running);
    let began = now - TimeDelta::seconds(total + if is_waiting { 40 } else { 0 });
    let mut events = vec![event(
        began - TimeDelta::seconds(3),
        "migration.submitted",
        None,
    )];
    events.push(event(began, "migration.started", None));
    let mut at = began;
    for step in &steps {
        let end = at + TimeDelta::seconds(seconds(step.kind));
        events.extend(runs(step, at, end));
        at = end;
    }
    if snapshot.migration.state == MigrationState::Waiting {
        events.push(event(at, "migration.held", None));
    }
    let edit = |snapshot: &mut Snapshot| times(snapshot, began);
    dashboard.record("m1", events, edit).await;
    read(dashboard, &steps, began, now).await;
}

/// Sets when each step began and ended.
fn times(snapshot: &mut Snapshot, began: DateTime<Utc>) {
    let m = &mut snapshot.migration;
    m.started_at = m.started_at.map(|_| began);
    m.since = Some(began);
    let mut at = began;
    for step in snapshot.steps.iter_mut().filter(|step| has_begun(step)) {
        step.started_at = Some(at);
        at += TimeDelta::seconds(seconds(step.kind));
        step.finished_at = (step.state == StepState::Done).then_some(at);
    }
}

/// The journal of a step; the copy failed once, and was tried again.
fn runs(step: &Step, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<NewEvent> {
    let mut events = vec![event(from, "step.dispatched", Some(step))];
    if step.kind == StepKind::Copy {
        let failed = from + TimeDelta::seconds(GAP.start);
        let again = from + TimeDelta::seconds(GAP.end);
        events.push(event(failed, "step.faulted", Some(step)));
        events.push(event(again, "step.dispatched", Some(step)));
    }
    if step.kind == StepKind::Cutover {
        events.extend(attempts(step.state, from));
    }
    match step.state {
        StepState::Done => events.push(event(to, "step.completed", Some(step))),
        StepState::Failed => events.push(event(to, "step.gave_up", Some(step))),
        StepState::Backoff => events.push(event(to, "step.faulted", Some(step))),
        StepState::Pending | StepState::Running | StepState::Skipped => {}
    }
    events
}

/// An attempt that was given up, and the one that flipped the map if the step is done.
fn attempts(state: StepState, from: DateTime<Utc>) -> Vec<NewEvent> {
    let at = |ms| from + TimeDelta::milliseconds(ms);
    let of = |ms, kind, data| NewEvent {
        data,
        ..event(at(ms), kind, None)
    };
    let reason = "the drain took longer than the budget";
    let mut events = vec![
        of(100, "ownership.fence", json!({"attempt": 2})),
        of(2_110, "ownership.release", json!({"reason": reason})),
        of(3_400, "ownership.fence", json!({"attempt": 3})),
    ];
    if state == StepState::Done {
        events.push(of(3_420, "ownership.flip", json!({"map_version": 2})));
    }
    events
}

fn event(at: DateTime<Utc>, kind: &str, step: Option<&Step>) -> NewEvent {
    let data = match kind {
        "step.faulted" | "step.gave_up" => {
            json!({"failure": {"code": "connect.refused", "message": "shard b refused a connection"}})
        }
        _ => Value::Null,
    };
    NewEvent {
        at,
        actor: "controller".to_owned(),
        kind: kind.to_owned(),
        step: step.map(|step| step.id.clone()),
        data,
    }
}

/// Readings of every second, without those between the two attempts of the copy.
async fn read(dashboard: &Dashboard, steps: &[Step], began: DateTime<Utc>, now: DateTime<Utc>) {
    let owner = dashboard.migration().await.migration.owner;
    let until = now + TimeDelta::hours(1);
    let own = |snapshot: &mut Snapshot| {
        snapshot.migration.owner = Some(LeaseHolder {
            agent: "agent-1".into(),
            instance: INSTANCE.into(),
            token: None,
            secret: None,
        });
        snapshot.lease_until = Some(until);
    };
    dashboard.edit("m1", own).await;
    let mut at = began;
    let mut beats = Vec::new();
    for step in steps {
        let length = seconds(step.kind);
        let is_missing = |second: &i64| step.kind == StepKind::Copy && GAP.contains(second);
        for second in (0..length).filter(|second| !is_missing(second)) {
            beats.push(beat(step, at, second, length));
        }
        at += TimeDelta::seconds(length);
    }
    let instance = INSTANCE.into();
    dashboard
        .store
        .extend_leases(&instance, until, &beats)
        .await
        .unwrap();
    let give_back = |snapshot: &mut Snapshot| snapshot.migration.owner = owner;
    dashboard.edit("m1", give_back).await;
}

fn beat(step: &Step, from: DateTime<Utc>, second: i64, length: i64) -> OwnerBeat {
    let counts = matches!(step.kind, StepKind::Copy | StepKind::Verify);
    let rows = second * 1_000 + (second * 37) % 400;
    let is_after_capture = step.ordinal > 2;
    let stream = is_after_capture.then(|| StreamReading {
        direction: Direction::Forward,
        lag_bytes: 40_000 + (second * 7919) % 90_000,
        lag_ms: 3 + (second * 31) % 40,
        changes: second * 120,
        retained_bytes: 3_000_000 + second * 10_000,
        spooled_bytes: 0,
        written_at: 9_000_000 + second * 250_000,
        applied_at: 8_950_000 + second * 249_000,
    });
    OwnerBeat {
        migration: "m1".into(),
        figures: None,
        reading: Some(FigureReading {
            at: from + TimeDelta::seconds(second),
            step: Some(step.id.clone()),
            rows: if counts { rows } else { 0 },
            rows_total: if counts { length * 1_000 } else { 0 },
            bytes: rows * 100,
            left_ms: counts.then_some((length - second) * 1_000 + (second % 7) * 900),
            stream,
        }),
    }
}
