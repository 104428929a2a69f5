//! Everything that a migration can wait for.

use super::migrations::put;
use super::streams::{Stream, beat};
use super::{Shown, every, held, step};
use crate::fixture::Dashboard;
use orchestrator::store::MigrationPhase;
use orchestrator::store::{CancelRequest, HookReply, HookRequest, Snapshot};
use orchestrator::view::WaitKind;
use plans::state::migration::MigrationState as State;
use plans::state::step::StepState;
use plans::step::StepKind;
use plans::wire::LongWriter;
use serde_json::{Value, json};

pub(super) async fn all() -> Vec<Shown> {
    let mut all = Vec::new();
    for kind in every(WaitKind::Opening, after_wait) {
        let dashboard = Dashboard::with_migration(|snapshot| wait(snapshot, kind)).await;
        if kind == WaitKind::Lag {
            beat(
                &dashboard,
                "catch_up",
                Stream {
                    lag_ms: 75_000,
                    ..Stream::default()
                },
            )
            .await;
        }
        let shown = Shown::new(
            format!("wait: {}", kind.name()),
            dashboard,
            &["/migrations/m1"],
        );
        all.push(shown.says(&[words(kind)]));
    }
    all
}

fn after_wait(kind: WaitKind) -> Option<WaitKind> {
    use WaitKind as W;
    match kind {
        W::Opening => Some(W::Approval),
        W::Approval => Some(W::Cancel),
        W::Cancel => Some(W::Hook),
        W::Hook => Some(W::Queue),
        W::Queue => Some(W::Paused),
        W::Paused => Some(W::Failed),
        W::Failed => Some(W::Retry),
        W::Retry => Some(W::Agent),
        W::Agent => Some(W::Gate),
        W::Gate => Some(W::Lock),
        W::Lock => Some(W::Throttle),
        W::Throttle => Some(W::Lag),
        W::Lag => Some(W::Finish),
        W::Finish => None,
    }
}

/// What the page says of it.
fn words(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Opening => "Waits for shard b to take writes",
        WaitKind::Approval => "Waits for your approval of the cutover",
        WaitKind::Cancel => "held by server process 4711 (app, psql)",
        WaitKind::Hook => "held by hook freeze",
        WaitKind::Queue => "Waits: 2 other moves",
        WaitKind::Paused => "Waits for an operator who resumes it",
        WaitKind::Failed => "start the server & try again",
        WaitKind::Retry => "copy failed and is tried again",
        WaitKind::Agent => "Waits for an agent that takes it",
        WaitKind::Gate => "Waits for a long transaction to end",
        WaitKind::Lock => {
            "held by server process 4711 (psql, role app, idle in transaction, open for 42 s)"
        }
        WaitKind::Throttle => "Slowed to 35 %",
        WaitKind::Lag => "Waits for the stream to apply changes: it is 75000 ms",
        WaitKind::Finish => "Waits for an operator who ends the hold",
    }
}

fn wait(snapshot: &mut Snapshot, kind: WaitKind) {
    match kind {
        WaitKind::Opening => {
            put(snapshot, State::Flipped);
            step(snapshot, StepKind::Cutover).state = StepState::Running;
        }
        WaitKind::Approval => named(snapshot, State::Waiting, "approval of the cutover"),
        WaitKind::Cancel => {
            named(snapshot, State::Waiting, "permission to end a transaction");
            snapshot.migration.cancel = Some(ask());
        }
        WaitKind::Hook => {
            put(snapshot, State::Running);
            snapshot.migration.hook = Some(vetoed());
        }
        WaitKind::Queue => named(snapshot, State::Planned, "2 other moves to be finished"),
        WaitKind::Paused => put(snapshot, State::Paused),
        WaitKind::Failed => put(snapshot, State::Failed),
        WaitKind::Retry => {
            put(snapshot, State::Running);
            let copy = step(snapshot, StepKind::Copy);
            copy.state = StepState::Backoff;
            copy.failure = Some(crate::fixture::failure());
        }
        WaitKind::Agent => {
            put(snapshot, State::Running);
            snapshot.migration.owner = None;
        }
        WaitKind::Gate => told(
            snapshot,
            json!({"waiting_for": "a long transaction to end"}),
        ),
        WaitKind::Lock => told(
            snapshot,
            json!({"lock": {"shard": "a", "object": "orders", "pid": 7, "waited_ms": 4000, "holder": 4711,
                "user": "app", "application": "psql", "state": "idle in transaction", "open_ms": 42_900}}),
        ),
        WaitKind::Throttle => told(
            snapshot,
            json!({"slowed": {"share": 0.35, "reason": "application p99 31 ms, set point 25 ms"}}),
        ),
        WaitKind::Lag => catching_up(snapshot),
        WaitKind::Finish => put(snapshot, State::Flipped),
    }
}

fn named(snapshot: &mut Snapshot, state: State, what: &str) {
    put(snapshot, state);
    held(snapshot);
    snapshot.migration.waiting_for = Some(what.to_owned());
}

fn vetoed() -> HookRequest {
    let at = chrono::Utc::now();
    HookRequest {
        phase: MigrationPhase::BeforeCutover,
        requested_at: at,
        next_at: at,
        reply: Some(HookReply {
            hook: "freeze".to_owned(),
            veto: true,
            reason: "change freeze until Monday".to_owned(),
            at,
        }),
        allowed: false,
        overruled_by: None,
    }
}

fn ask() -> CancelRequest {
    CancelRequest {
        writers: vec![LongWriter {
            shard: "a".into(),
            pid: 4711,
            backend_start: "2026-01-01 00:00:00+00".to_owned(),
            user: "app".to_owned(),
            application: "psql".to_owned(),
            since: "2026-01-01 00:00:00+00".to_owned(),
            query: "update orders set note = ? where id = ?".to_owned(),
        }],
        requested_at: chrono::Utc::now(),
        approved_by: None,
    }
}

/// The copy runs and tells `more` of itself.
fn told(snapshot: &mut Snapshot, more: Value) {
    put(snapshot, State::Running);
    let copy = step(snapshot, StepKind::Copy);
    let progress = copy.progress.as_mut().and_then(Value::as_object_mut);
    let Value::Object(more) = more else { return };
    progress.unwrap().extend(more);
}

/// The stream is all that is left before the indexes.
pub(super) fn catching_up(snapshot: &mut Snapshot) {
    put(snapshot, State::Running);
    step(snapshot, StepKind::Copy).state = StepState::Done;
    step(snapshot, StepKind::CatchUp).state = StepState::Running;
}
