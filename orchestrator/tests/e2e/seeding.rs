//! A split whose target is a standby of the source. The agent is killed between the promotion and the conversion of the
//! promoted server, and clients write to the standby without pause.

use crate::run::seeded;
use demo::RunOutcome;

#[tokio::test]
async fn a_standby_becomes_the_target_although_the_agent_dies_after_its_promotion() {
    let report = seeded("--kill agent@promote").await;
    assert_eq!(report.result, RunOutcome::Completed);
    let kill = report.kill.as_ref().unwrap();
    assert!(kill.fired && kill.restarted_after_ms > 0, "{kill:?}");
    assert!(
        report.surplus_rows.is_some_and(|rows| rows > 0),
        "{report:?}"
    );
}

#[tokio::test]
async fn an_abort_after_the_promotion_leaves_the_source_with_all_rows() {
    let report = seeded("--abort-at catch_up").await;
    assert_eq!(report.aborted_at.len(), 1);
}
