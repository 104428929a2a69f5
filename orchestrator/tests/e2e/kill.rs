//! `kill -9` of every process in the middle of a step: the split completes, nothing is lost.

use crate::run::demo;
use demo::{RunOutcome, RunReport};

async fn killed(process_at_step: &str) -> RunReport {
    let report = demo(&format!("--kill {process_at_step}")).await;
    assert_eq!(report.result, RunOutcome::Completed);
    let kill = report.kill.as_ref().unwrap();
    assert!(kill.fired && kill.restarted_after_ms > 0, "{kill:?}");
    assert_eq!(format!("{}@{}", kill.process, kill.step), process_at_step);
    report
}

#[tokio::test]
async fn agent_at_copy() {
    let report = killed("agent@copy").await;
    assert_eq!(report.submitted_migrations, 1);
    assert!(report.kill.as_ref().unwrap().first_row_after_ms.is_some());
    // The copy was half done: what is copied again are the chunks in flight, and the copy has many more.
    assert!(report.bytes_copied_twice <= 2 * report.largest_chunk_bytes);
    assert!(
        report.bytes_copied > 3 * report.largest_chunk_bytes,
        "{report:?}"
    );
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn agent_at_catch_up() {
    let report = killed("agent@catch_up").await;
    assert_eq!(
        (report.submitted_migrations, report.bytes_copied_twice),
        (1, 0)
    );
}

#[tokio::test]
async fn agent_at_cutover() {
    killed("agent@cutover").await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn controller_at_copy() {
    let report = killed("controller@copy").await;
    assert_eq!(
        (report.submitted_migrations, report.bytes_copied_twice),
        (1, 0)
    );
}

#[tokio::test]
async fn controller_at_cutover() {
    killed("controller@cutover").await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn target_at_catch_up() {
    killed("target@catch_up").await;
}

#[tokio::test]
async fn source_at_copy() {
    killed("source@copy").await;
}

#[tokio::test]
async fn store_at_cutover() {
    killed("store@cutover").await;
}
