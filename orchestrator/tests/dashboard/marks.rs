//! What chips and bars say of a migration that waits, or that does not reach its target any more.

use crate::fixture::{Dashboard, plan};
use crate::{state, step};
use chrono::{TimeDelta, Utc};
use orchestrator::store::{NewEvent, Snapshot, Step, Store};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState as State;
use plans::state::step::StepState;
use plans::step::StepKind;
use serde_json::json;

/// The row of the phase that the migration is in: its name in the timeline, and what follows.
fn current_phase(page: &str) -> &str {
    let row = page.split("aria-current=\"step\">").nth(1).unwrap();
    let row = row.split("class=\"lane-row").next().unwrap();
    let label = row.split("aria-label=\"").nth(1);
    label.unwrap_or_else(|| panic!("{row}"))
}

/// Everything up to the cutover is done.
fn before_cutover(snapshot: &mut Snapshot) {
    for step in &mut snapshot.steps {
        if step.kind == StepKind::Cutover {
            break;
        }
        step.state = StepState::Done;
        step.finished_at = Some(Utc::now());
    }
}

#[tokio::test]
async fn a_cutover_that_waits_for_approval_is_not_shown_as_running() {
    for (at, word) in [(State::Waiting, "waits for you"), (State::Paused, "paused")] {
        let dashboard = Dashboard::with_migration(|snapshot| {
            state(at, Ownership::Ready)(snapshot);
            before_cutover(snapshot);
        })
        .await;
        let page = dashboard.page("/migrations/m1").await;
        let phase = current_phase(&page);
        assert!(phase.starts_with("Cutover;"), "{phase}");
        assert!(
            phase.contains(word) && !phase.contains("running"),
            "{phase}"
        );
    }
}

#[tokio::test]
async fn a_migration_that_was_aborted_or_rolled_back_has_no_full_bar() {
    for (at, ownership, has_bar) in [
        (State::Unwound, Ownership::Aborted, false),
        (State::RolledBack, Ownership::RolledBack, false),
        (State::Completed, Ownership::Completed, true),
    ] {
        let dashboard = Dashboard::with_migration(|snapshot| {
            state(at, ownership)(snapshot);
            snapshot.migration.finished_at = Some(Utc::now());
        })
        .await;
        for path in ["/", "/migrations"] {
            let page = dashboard.page(path).await;
            assert!(page.contains("/migrations/m1"), "{at}: {page}");
            assert_eq!(page.contains("<progress"), has_bar, "{at} on {path}");
        }
    }
}

#[tokio::test]
async fn a_migration_that_was_just_resumed_sends_nobody_to_start_an_agent() {
    for (seconds, is_missing) in [(1, false), (60, true)] {
        let dashboard = Dashboard::with_migration(|snapshot| {
            state(State::Running, Ownership::Ready)(snapshot);
            step(snapshot, StepKind::Copy).state = StepState::Pending;
            snapshot.migration.owner = None;
            snapshot.lease_until = None;
            snapshot.migration.since = Some(Utc::now() - TimeDelta::seconds(seconds));
        })
        .await;
        let page = dashboard.page("/migrations/m1").await;
        assert!(page.contains("Waits for an agent that takes it"), "{page}");
        assert_eq!(page.contains("shardwright-agent --name"), is_missing);
        assert_eq!(page.contains("within seconds"), !is_missing);
    }
}

#[tokio::test]
async fn a_migration_that_was_rolled_back_says_what_finishing_it_means() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::RolledBack, Ownership::RolledBack)(snapshot);
        let ordinal = i32::try_from(snapshot.steps.len()).unwrap();
        for (ordinal, kind) in (ordinal..).zip([StepKind::Rollback, StepKind::HoldBack]) {
            snapshot.steps.push(Step::new(kind, ordinal));
        }
        for step in &mut snapshot.steps {
            step.state = StepState::Done;
        }
        step(snapshot, StepKind::HoldBack).state = StepState::Running;
    })
    .await;
    let page = dashboard.page("/migrations/m1").await;
    for words in [
        "Rolled back: a owns",
        "Waits for an operator who finishes it: a owns the keys again, and the copy on b stays until then",
        "another cutover is possible",
        "shardwright finish m1",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("way back"), "{page}");
    assert!(
        !page.contains("hold_back") || page.contains("step=hold_back"),
        "{page}"
    );
    let phase = current_phase(&page);
    assert!(phase.starts_with("Roll back;"), "{phase}");
    assert!(phase.contains("waits for you"), "{phase}");
}

#[tokio::test]
async fn a_rollback_names_who_requested_it_when_and_why() {
    let rolled_back = |snapshot: &mut Snapshot| {
        state(State::RolledBack, Ownership::RolledBack)(snapshot);
    };
    for (reason, words) in [
        (Some("p99 <doubled>"), "reason: “p99 &#60;doubled&#62;”"),
        (None, "no reason was given"),
    ] {
        let dashboard = Dashboard::with_map().await;
        dashboard
            .submit("m1", plan(dashboard.store.incarnation()))
            .await;
        let request = NewEvent {
            at: Utc::now(),
            actor: "mallory".to_owned(),
            kind: "hold.ended".to_owned(),
            step: None,
            data: json!({"end": "rollback", "reason": reason}),
        };
        dashboard.record("m1", vec![request], rolled_back).await;
        for path in ["/migrations/m1", "/migrations/m1/switch"] {
            let page = dashboard.page(path).await;
            let notice = page.split("id=\"rollback-request\"").nth(1).unwrap();
            let notice = notice.split("</p>").next().unwrap();
            assert!(
                notice.contains("Rollback requested by <strong>mallory</strong>, <time"),
                "{notice}"
            );
            assert!(notice.contains(words), "{notice}");
        }
    }
    let dashboard = Dashboard::with_migration(state(State::Flipped, Ownership::Flipped)).await;
    let page = dashboard.page("/migrations/m1").await;
    assert!(!page.contains("rollback-request"), "{page}");
}

#[tokio::test]
async fn what_is_built_is_set_apart_from_tables() {
    let dashboard = Dashboard::with_migration(|snapshot| {
        state(State::Running, Ownership::Ready)(snapshot);
        crate::hold(snapshot);
        for step in &mut snapshot.steps[..5] {
            step.state = StepState::Done;
        }
        let build = step(snapshot, StepKind::BuildIndexes);
        build.state = StepState::Running;
        build.progress = Some(
            json!({"message": "building FK VALIDATION public items items_order_fkey", "rows_per_second": 0.0,
            "bytes_per_second": 0.0, "eta_seconds": null, "tables": [
                {"table": "FK VALIDATION public items items_order_fkey", "rows_done": 0, "rows_total": 0,
                    "bytes_done": 0, "bytes_total": 0, "phase": "building"}]}),
        );
    })
    .await;
    let page = dashboard.page("/migrations/m1").await;
    let tables = page.split("<section id=\"tables\"").nth(1).unwrap();
    let tables = tables.split("</section>").next().unwrap();
    let words = "validates the foreign key <strong>items_order_fkey of public.items</strong>";
    assert!(tables.contains(words), "{tables}");
    assert!(!tables.contains("FK VALIDATION"), "{tables}");
    assert!(!tables.contains("<table"), "{tables}");
}
