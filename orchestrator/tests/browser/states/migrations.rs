//! Migrations, operations and steps in each of their states.

use super::{Shown, every, held, step};
use crate::fixture::{Dashboard, failure};
use crate::past;
use orchestrator::controller::operations::OperationState;
use orchestrator::store::{HoldEnd, Snapshot, Step};
use plans::id::MapVersion;
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::step::StepKind;
use serde_json::json;

const PAGES: [&str; 2] = ["/migrations/m1", "/"];

pub(super) async fn all() -> Vec<Shown> {
    let mut all = Vec::new();
    for state in every(MigrationState::Planned, after_migration) {
        let dashboard = Dashboard::with_migration(|snapshot| put(snapshot, state)).await;
        past::give(&dashboard).await;
        let name = format!("migration: {state}");
        all.push(Shown::new(name, dashboard, &PAGES).says(&[word(state.into())]));
    }
    for ownership in every(Ownership::Ready, after_ownership) {
        let dashboard = Dashboard::with_migration(|snapshot| own(snapshot, ownership)).await;
        past::give(&dashboard).await;
        let name = format!("ownership: {ownership}");
        let says = sentence(ownership);
        let paths = &["/migrations/m1", "/migrations/m1/switch"];
        all.push(Shown::new(name, dashboard, paths).says(&[says]));
    }
    for end in [HoldEnd::Finish, HoldEnd::Rollback, HoldEnd::Again] {
        let dashboard = Dashboard::with_migration(|snapshot| ended(snapshot, end)).await;
        let name = format!("end of the hold: {}", end.name());
        all.push(Shown::new(name, dashboard, &["/migrations/m1"]).says(&["hold"]));
    }
    for state in every(StepState::Pending, after_step) {
        let dashboard = Dashboard::with_migration(|snapshot| {
            put(snapshot, MigrationState::Running);
            work(snapshot, state);
        })
        .await;
        past::give(&dashboard).await;
        let name = format!("step: {state}");
        let paths = &["/migrations/m1", "/", "/migrations/m1?step=copy"];
        all.push(Shown::new(name, dashboard, paths).says(&[mark(state)]));
    }
    for state in every(OperationState::Planned, after_operation) {
        let name = format!("operation: {state}");
        let dashboard = operation(state).await;
        let says = word(state);
        all.push(Shown::new(name, dashboard, &["/operations/m1", "/"]).says(&[says]));
    }
    all
}

/// The word for a state on the pages.
fn word(state: OperationState) -> &'static str {
    use OperationState as S;
    match state {
        S::Planned => "planned",
        S::Running => "running",
        S::Waiting => "waiting",
        S::Paused => "paused",
        S::Failed => "failed",
        S::Unwinding => "aborting",
        S::Flipped => "in hold",
        S::Unwound => "aborted",
        S::Completed => "completed",
        S::RolledBack => "rolled back",
        S::Partial => "partial",
    }
}

fn after_migration(state: MigrationState) -> Option<MigrationState> {
    use MigrationState as S;
    match state {
        S::Planned => Some(S::Running),
        S::Running => Some(S::Waiting),
        S::Waiting => Some(S::Paused),
        S::Paused => Some(S::Failed),
        S::Failed => Some(S::Unwinding),
        S::Unwinding => Some(S::Unwound),
        S::Unwound => Some(S::Flipped),
        S::Flipped => Some(S::Completed),
        S::Completed => Some(S::RolledBack),
        S::RolledBack => None,
    }
}

fn after_ownership(ownership: Ownership) -> Option<Ownership> {
    use Ownership as O;
    match ownership {
        O::Ready => Some(O::Fencing),
        O::Fencing => Some(O::Aborted),
        O::Aborted => Some(O::Flipped),
        O::Flipped => Some(O::RollbackFencing),
        O::RollbackFencing => Some(O::RolledBack),
        O::RolledBack => Some(O::Completed),
        O::Completed => None,
    }
}

fn after_step(state: StepState) -> Option<StepState> {
    use StepState as S;
    match state {
        S::Pending => Some(S::Running),
        S::Running => Some(S::Backoff),
        S::Backoff => Some(S::Failed),
        S::Failed => Some(S::Done),
        S::Done => Some(S::Skipped),
        S::Skipped => None,
    }
}

fn after_operation(state: OperationState) -> Option<OperationState> {
    use OperationState as S;
    match state {
        S::Planned => Some(S::Running),
        S::Running => Some(S::Waiting),
        S::Waiting => Some(S::Paused),
        S::Paused => Some(S::Failed),
        S::Failed => Some(S::Unwinding),
        S::Unwinding => Some(S::Flipped),
        S::Flipped => Some(S::Unwound),
        S::Unwound => Some(S::Completed),
        S::Completed => Some(S::RolledBack),
        S::RolledBack => Some(S::Partial),
        S::Partial => None,
    }
}

/// Puts a migration into `state`, with what a migration in it has: times, versions, figures, a failure.
pub(super) fn put(snapshot: &mut Snapshot, state: MigrationState) {
    use {MigrationState as S, Ownership as O};
    let (ownership, over) = match state {
        S::Planned | S::Running | S::Waiting | S::Paused | S::Failed => (O::Ready, false),
        S::Unwinding => (O::Aborted, false),
        S::Unwound => (O::Aborted, true),
        S::Flipped => (O::Flipped, false),
        S::Completed => (O::Completed, true),
        S::RolledBack => (O::RolledBack, true),
    };
    let m = &mut snapshot.migration;
    (m.state, m.ownership) = (state, ownership);
    m.started_at = (state != S::Planned).then(chrono::Utc::now);
    m.finished_at = over.then(chrono::Utc::now);
    m.failure = (state == S::Failed).then(failure);
    match state {
        S::Running => work(snapshot, StepState::Running),
        S::Failed => work(snapshot, StepState::Failed),
        S::Planned => {}
        S::Waiting => before_cutover(snapshot),
        S::Paused => work(snapshot, StepState::Pending),
        S::Unwinding => unwind(snapshot, StepState::Running),
        S::Unwound => unwind(snapshot, StepState::Done),
        S::Flipped | S::Completed | S::RolledBack => flipped(snapshot),
    }
}

/// Everything up to the cutover is done, and the cutover waits for its approval.
fn before_cutover(snapshot: &mut Snapshot) {
    work(snapshot, StepState::Done);
    for step in &mut snapshot.steps {
        if step.kind == StepKind::Cutover {
            break;
        }
        step.state = StepState::Done;
    }
    snapshot.migration.waiting_for = Some("approval of the cutover".to_owned());
}

/// The copy failed, and what was created is being removed, or was removed.
fn unwind(snapshot: &mut Snapshot, state: StepState) {
    work(snapshot, StepState::Failed);
    let ordinal = i32::try_from(snapshot.steps.len()).unwrap();
    let mut unwind = Step::new(StepKind::Unwind, ordinal);
    unwind.state = state;
    snapshot.steps.push(unwind);
}

/// The cutover is behind it, with a write stop.
fn flipped(snapshot: &mut Snapshot) {
    snapshot.migration.map_version_after = Some(MapVersion(2));
    for step in &mut snapshot.steps {
        if !matches!(step.kind, StepKind::Hold | StepKind::DropOld) {
            step.state = StepState::Done;
        }
    }
    let cutover = step(snapshot, StepKind::Cutover);
    cutover.output = Some(
        json!({"attempt": 3, "map_version": 2, "dirty_keys": 7, "refused": 12, "window":
        {"total": 21.5, "wait_out": 1.5, "drain": 8.0, "check": 4.0, "seal": 5.0, "flip": 2.0, "open": 1.0}}),
    );
    step(snapshot, StepKind::Hold).state = StepState::Running;
    held(snapshot);
}

/// The state that a migration has where its keys are like this.
fn own(snapshot: &mut Snapshot, ownership: Ownership) {
    use {MigrationState as S, Ownership as O};
    let state = match ownership {
        O::Ready | O::Fencing => S::Running,
        O::Aborted => S::Unwound,
        O::Flipped | O::RollbackFencing => S::Flipped,
        O::RolledBack => S::RolledBack,
        O::Completed => S::Completed,
    };
    put(snapshot, state);
    snapshot.migration.ownership = ownership;
}

fn sentence(ownership: Ownership) -> &'static str {
    use Ownership as O;
    match ownership {
        O::Ready => "takes every read and write",
        O::Fencing => "are blocked for a moment, everything else continues",
        O::Aborted => "nothing is left on the shards",
        O::Flipped => "kept in step until you finish or roll back",
        O::RollbackFencing => "Rolling back: writes to",
        O::RolledBack => "Rolled back:",
        O::Completed => "the old rows are deleted from",
    }
}

fn ended(snapshot: &mut Snapshot, end: HoldEnd) {
    put(snapshot, MigrationState::Flipped);
    snapshot.migration.hold_end = Some(end);
}

/// The copy is in `state`, what comes before it is done.
fn work(snapshot: &mut Snapshot, state: StepState) {
    for kind in [
        StepKind::Preflight,
        StepKind::CreateTarget,
        StepKind::OpenCapture,
    ] {
        step(snapshot, kind).state = StepState::Done;
    }
    let copy = step(snapshot, StepKind::Copy);
    copy.state = state;
    copy.attempt = 2;
    if matches!(state, StepState::Backoff | StepState::Failed) {
        copy.failure = Some(failure());
        copy.next_at = Some(chrono::Utc::now() + chrono::TimeDelta::hours(1));
    }
    copy.progress = Some(
        json!({"message": "copying", "rows_per_second": 1200.0, "bytes_per_second": 250_000.0,
        "eta_seconds": 95.0, "tables": [
            {"table": "public.orders", "rows_done": 50, "rows_total": 200, "bytes_done": 1024, "bytes_total": 4096,
                "phase": "copying"},
            {"table": "a_schema_with_a_long_name.and_a_table_with_a_name_of_sixty_three_letters_at_most",
                "rows_done": 9_000_000_000_i64, "rows_total": 9_000_000_000_i64, "bytes_done": 1_i64 << 44,
                "bytes_total": 1_i64 << 44, "phase": "done"}],
            "statements": [{"shard": "a", "role": "copy", "ms": 4200,
                "text": "COPY (select id, tenant_id, note from public.orders where tenant_id >= 501 and ctid >= '(0,0)') TO STDOUT (FORMAT binary)"}]}),
    );
    held(snapshot);
}

fn mark(state: StepState) -> &'static str {
    match state {
        // The overview names the step that is due.
        StepState::Pending | StepState::Running | StepState::Backoff | StepState::Failed => "copy",
        StepState::Done | StepState::Skipped => "catch up",
    }
}

/// An operation of three moves that is in `state`.
async fn operation(state: OperationState) -> Dashboard {
    use {MigrationState as M, OperationState as S};
    let moves = match state {
        S::Planned => [M::Planned; 3],
        S::Running => [M::Running, M::Planned, M::Planned],
        S::Waiting => [M::Waiting, M::Running, M::Planned],
        S::Paused => [M::Paused, M::Planned, M::Planned],
        S::Failed => [M::Failed, M::Running, M::Waiting],
        S::Unwinding => [M::Unwinding, M::Waiting, M::Planned],
        S::Flipped => [M::Flipped, M::Completed, M::Flipped],
        S::Unwound => [M::Unwound; 3],
        S::Completed => [M::Completed; 3],
        S::RolledBack => [M::RolledBack; 3],
        S::Partial => [M::Completed, M::Unwound, M::RolledBack],
    };
    let dashboard = Dashboard::with_operation().await;
    for (id, state) in ["m1x1", "m1x2", "m1x3"].into_iter().zip(moves) {
        dashboard
            .edit(id, |snapshot| {
                snapshot.migration.state = state;
                let over = matches!(state, M::Unwound | M::Completed | M::RolledBack);
                snapshot.migration.finished_at = over.then(chrono::Utc::now);
                snapshot.migration.failure = (state == M::Failed).then(failure);
            })
            .await;
    }
    dashboard
}
