//! What chips and bars say of a migration that waits, or that does not reach its target any more.

use crate::fixture::Dashboard;
use crate::{state, step};
use chrono::{TimeDelta, Utc};
use orchestrator::store::{Snapshot, Step};
use plans::state::cutover::Ownership;
use plans::state::migration::MigrationState as State;
use plans::state::step::StepState;
use plans::step::StepKind;

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
    let phase = current_phase(&page);
    assert!(phase.starts_with("Roll back;"), "{phase}");
    assert!(phase.contains("waits for you"), "{phase}");
}
