//! Shards that were restored from copies older than the flip, and a promoted standby that lacks it (R6).

use crate::stage::{Stage, copy, count, refuses, restore, session, start, write};

#[tokio::test]
async fn a_source_from_before_the_migration_is_closed_after_its_end() {
    let stage = Stage::new("source").await;
    let before = copy(&stage.a).await;
    start(&stage.a).await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    stage.ok(&format!("finish {id} --yes")).await;
    stage.until_state(&id, "completed").await;
    restore(&stage.a, before, false).await;
    stage
        .until("the keys are closed", || refuses(&stage.a))
        .await;
    write(&stage.b).await.unwrap();
    // Its log passes the place where it had ended, and it is told all the same.
    let more =
        "create table public.noise as select repeat('x', 1000) as t from generate_series(1, 20000)";
    session(&stage.a, "app")
        .await
        .batch_execute(more)
        .await
        .unwrap();
    stage
        .until("it is told that the server went back", || async {
            stage.found("a").await == ["went_back"]
        })
        .await;
    stage.ok("reconcile --accept a --reason tested --yes").await;
    assert!(refuses(&stage.a).await);
}

#[tokio::test]
async fn a_source_from_before_the_flip_is_closed_in_the_hold_and_the_move_can_end() {
    let stage = Stage::new("hold").await;
    let id = stage.ready_to_cut_over().await;
    let before = copy(&stage.a).await;
    start(&stage.a).await;
    stage.cut_over(&id).await;
    write(&stage.b).await.unwrap();
    restore(&stage.a, before, false).await;
    stage
        .until("the keys are closed", || refuses(&stage.a))
        .await;
    stage.ok("reconcile --accept a --reason tested --yes").await;
    // The stream back may have found its gap already: what is finished does not need it any more.
    stage.ok(&format!("finish {id} --yes")).await;
    stage
        .until("the end", || async {
            let state = stage.state(&id).await;
            if state == "failed" {
                let _ = stage.run(&["resume", &id]).await;
            }
            state == "completed"
        })
        .await;
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();
    let moved = "select count(*) from public.orders where tenant_id >= 500";
    assert_eq!(count(&stage.a, moved).await, 0);
}

#[tokio::test]
async fn a_promoted_standby_that_lacks_the_seal_is_closed_during_the_hold() {
    let stage = Stage::new("standby").await;
    let id = stage.ready_to_cut_over().await;
    let standby = copy(&stage.a).await;
    start(&stage.a).await;
    stage.cut_over(&id).await;
    assert!(refuses(&stage.a).await);
    restore(&stage.a, standby, true).await;
    stage
        .until("the keys are closed", || refuses(&stage.a))
        .await;
    write(&stage.b).await.unwrap();
    stage
        .until("the fail-over is told", || async {
            stage.found("a").await.contains(&"failed_over".to_owned())
        })
        .await;
    // The copy on the source is not what the stream back wrote any more.
    let refused = stage.run(&["rollback", &id, "--yes"]).await;
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(7), "{said}");
    assert!(said.contains("timeline"), "{said}");
    assert!(refuses(&stage.a).await);
}

#[tokio::test]
async fn a_target_from_before_its_opening_is_left_closed() {
    let stage = Stage::new("target").await;
    let id = stage.ready_to_cut_over().await;
    let before = copy(&stage.b).await;
    start(&stage.b).await;
    stage.cut_over(&id).await;
    write(&stage.b).await.unwrap();
    restore(&stage.b, before, false).await;
    stage
        .until("the missing data is told", || async {
            stage.found("b").await.contains(&"data_missing".to_owned())
        })
        .await;
    // Nobody owns the keys in its place: both refuse until an operator has restored the newest state.
    assert!(refuses(&stage.a).await);
    assert!(refuses(&stage.b).await);
}
