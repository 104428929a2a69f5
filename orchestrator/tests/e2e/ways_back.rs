//! Roll back after the flip, abort before it, pause and resume anywhere.

use crate::run::demo;
use demo::RunOutcome;
use plans::step::{FORWARD, StepKind};

/// `--flag step` for each step.
fn flags(flag: &str, steps: &[StepKind]) -> String {
    let flags = steps.iter().map(|step| format!("--{flag} {step}"));
    flags.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_roll_back_takes_what_was_written_on_the_target_to_the_source() {
    let report = demo("--rollback").await;
    assert_eq!(report.result, RunOutcome::RolledBack);
    assert_eq!(
        (report.map_version.before, report.map_version.after),
        (1, 3)
    );
    // Written on the target, found on the source: the checker reads the owner that the map names.
    assert!(report.ledger.by_phase.after > 0);
    assert!(
        report
            .rollback_window_ms
            .is_some_and(|back| back.total > 0.0)
    );
    assert_eq!(report.leftovers.standing.guards, 0);
}

#[tokio::test]
async fn an_abort_in_each_step_before_the_flip_leaves_nothing_behind() {
    let steps = &FORWARD[..9];
    assert_eq!(steps.last(), Some(&StepKind::Cutover));
    let report = demo(&flags("abort-at", steps)).await;
    assert_eq!(report.result, RunOutcome::Unwound);
    assert_eq!(report.aborted_at, steps);
    assert_eq!(
        (report.map_version.before, report.map_version.after),
        (1, 1)
    );
    assert_eq!(report.leftovers.standing.guards, 0);
}

#[tokio::test]
async fn a_pause_in_each_step_of_one_migration_loses_nothing() {
    let report = demo(&flags("pause-in", &FORWARD)).await;
    assert_eq!(report.result, RunOutcome::Completed);
    assert_eq!(report.paused_in, FORWARD);
    assert_eq!(report.submitted_migrations, 1);
}

#[tokio::test]
async fn a_pause_while_chunks_are_in_flight_costs_at_most_those_chunks() {
    let report = demo("--pause-in copy").await;
    assert_eq!(report.result, RunOutcome::Completed);
    assert_eq!(report.paused_in, [StepKind::Copy]);
    assert!(report.bytes_copied_twice <= 2 * report.largest_chunk_bytes);
}
