//! An agent that stands still in the cutover: the attempt ends within the budget, and the next one succeeds.

use crate::run::demo;
use demo::RunOutcome;

/// The demo's budget of the write-blocked window, milliseconds.
const BUDGET: u64 = 2_000;
/// For one look and one commit on a busy machine.
const ALLOWANCE: u64 = 1_000;

async fn ends_by_itself(moment: &str, reason: &str) {
    let report = demo(&format!("--stall {moment}")).await;
    assert_eq!(
        (report.result, report.submitted_migrations),
        (RunOutcome::Completed, 1)
    );
    assert!(report.cutover_attempts > 1, "{}", report.cutover_attempts);
    let stall = report.stall.unwrap();
    assert_eq!(stall.fail_point, format!("cutover.{moment}"));
    let open_after = stall.source_open_after_ms.unwrap();
    assert!(open_after < BUDGET + ALLOWANCE, "{stall:?}");
    // A fence that ends by itself would have let writes in as well: it is the deadline that released the attempt.
    assert!(stall.give_up_reasons[0].contains(reason), "{stall:?}");
    // Writes went on, and the attempt that came through was within its budget.
    assert!(report.window_ms.total < 2_000.0, "{:?}", report.window_ms);
}

#[tokio::test]
async fn a_comparison_that_takes_too_long_ends_the_attempt_before_the_seal() {
    ends_by_itself(
        "before_check",
        "comparison of keys that changed before the fence",
    )
    .await;
}

#[tokio::test]
async fn a_sealed_attempt_that_cannot_go_on_in_time_is_released() {
    ends_by_itself("sealed", "after the seal").await;
}
