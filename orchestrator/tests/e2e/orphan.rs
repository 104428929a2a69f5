//! Controller and agents are all gone in the middle of the cutover: a fence expires, a seal does not.

use crate::run::demo;
use demo::{OrphanedCutover, RunOutcome};

/// The demo's write-stop budget, milliseconds.
const BUDGET: i64 = 2_000;
/// For the kill itself, one look and one commit on a busy machine.
const ALLOWANCE: i64 = 1_500;

async fn orphaned(moment: &str) -> OrphanedCutover {
    let report = demo(&format!("--orphan {moment}")).await;
    assert_eq!(
        (report.result, report.submitted_migrations),
        (RunOutcome::Completed, 1)
    );
    let orphan = report.orphan.unwrap();
    assert_eq!(orphan.fail_point, format!("cutover.{moment}"));
    // At no time had the keys two owners.
    assert_eq!(orphan.target_accepted, 0);
    let codes: Vec<&str> = orphan.target_refused.keys().map(String::as_str).collect();
    assert_eq!(codes, ["SM002"]);
    orphan
}

async fn opens_within_the_budget(moment: &str) {
    let orphan = orphaned(moment).await;
    let after = orphan.source_open_after_ms.unwrap();
    assert!((0..=BUDGET + ALLOWANCE).contains(&after), "{orphan:?}");
}

async fn stays_closed(moment: &str) {
    let orphan = orphaned(moment).await;
    assert_eq!(orphan.source_open_after_ms, None);
    let codes: Vec<&str> = orphan.source_refused.keys().map(String::as_str).collect();
    assert_eq!(codes, ["SM001"]);
    assert!(orphan.alone_ms >= 5_000 && orphan.source_refused["SM001"] > 10);
}

#[tokio::test]
async fn a_fence_without_its_owner_expires() {
    opens_within_the_budget("fenced").await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn a_fence_without_its_owner_expires_right_before_the_seal() {
    opens_within_the_budget("before_seal").await;
}

#[tokio::test]
async fn a_seal_without_its_owner_stays() {
    stays_closed("sealed").await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn a_flip_without_its_owner_opens_nothing() {
    stays_closed("flipped").await;
}
