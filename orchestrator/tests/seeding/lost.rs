//! The control store lost the flip of a seeded migration.

use super::{Stage, primary, promoted, source_row, steps};
use plans::identity::DatabaseIdentity;
use plans::inspection::inventory::{CLOSED, COUNTS_PER_ATTEMPT, ObservedMove};
use plans::step::StepKind;
use serde_json::json;

/// The rows on both shards after the flip to version 2.
fn flipped(migration: &str) -> [(&'static str, ObservedMove); 2] {
    let row = |role: &str, register, owns| ObservedMove {
        role: role.to_owned(),
        epoch: 50,
        attempt: 7 * COUNTS_PER_ATTEMPT,
        flipped: Some(2),
        register: Some(register),
        owns,
        ..source_row(migration)
    };
    [
        ("a", row("source", CLOSED, false)),
        ("b", row("target", 0, true)),
    ]
}

#[tokio::test]
async fn a_seeded_migration_continues_after_a_lost_flip_if_its_promotion_is_known() {
    let stage = Stage::new().await;
    let id = stage.submit().await;
    stage.promote(&stage.agent.run_to("promote").await).await;
    stage.set_rows(flipped(id.as_str()));
    let report = stage
        .reconcile(&json!({"apply": true, "reason": "r"}))
        .await;
    assert_eq!(report["findings"], json!([]), "{report}");
    assert_eq!(stage.server.map_version().await, 2);
    let view = stage.server.view(&id).await;
    assert_eq!(view["ownership"], "flipped", "{view}");
    for (kind, state) in steps(&stage.server, &id).await {
        let expected = match kind {
            StepKind::Preflight | StepKind::OpenCapture | StepKind::Promote => "done",
            StepKind::CatchUp | StepKind::Verify | StepKind::OpenReverse => "skipped",
            StepKind::Cutover | StepKind::Hold | StepKind::DropOld | StepKind::DropSurplus => {
                // An agent may have claimed the cutover already.
                assert!(
                    ["pending", "running"].contains(&state.as_str()),
                    "{kind:?} {state}"
                );
                continue;
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(state, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn a_promoted_server_that_the_store_knows_as_a_standby_must_be_declared_first() {
    let stage = Stage::new().await;
    let id = stage.submit().await;
    stage.agent.run_to("open_capture").await;
    // The store was restored to a time before the promotion.
    stage.set("b", promoted());
    stage.set_rows(flipped(id.as_str()));
    let body = json!({"apply": true, "reason": "r"});
    let refused = stage.reconcile(&body).await.to_string();
    assert!(refused.contains("shard set b --replaced"), "{refused}");
    assert_eq!(stage.server.map_version().await, 1);
    assert_eq!(stage.set_replaced("b").await.status(), 200);
    let report = stage.reconcile(&body).await;
    assert_eq!(stage.server.map_version().await, 2, "{report}");
    // Without the result of the promotion the migration cannot continue.
    let view = stage.server.view(&id).await;
    assert_eq!(view["state"], "completed", "{view}");
    let known: DatabaseIdentity = stage.registered("b").await;
    assert_eq!(known, promoted());
    assert_eq!(stage.registered("a").await, primary());
}
