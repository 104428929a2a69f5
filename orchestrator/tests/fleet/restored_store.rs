//! A control store that was restored from a copy taken before the flip (R1).

use crate::stage::{Stage, copy, count, refuses, restore, start, write};

#[tokio::test]
async fn a_store_that_lost_a_flip_is_detected_and_mended_from_the_shards() {
    let mut stage = Stage::new("lost").await;
    let id = stage.ready_to_cut_over().await;
    stage.kill_controller().await;
    let before = copy(&stage.store).await;
    start(&stage.store).await;
    stage.start_controller().await;
    stage.cut_over(&id).await;
    let epoch = stage.json(&["show", &id, "-o", "json"]).await["epoch"].clone();
    write(&stage.b).await.unwrap();
    let written = count(
        &stage.b,
        "select count(*) from public.orders where note = 'w'",
    )
    .await;

    stage.kill_controller().await;
    restore(&stage.store, before, false).await;
    stage.start_controller().await;
    stage
        .until("the lost flip is found", || async {
            stage.found("a").await.contains(&"store_older".to_owned())
        })
        .await;
    // The source is not opened, the target stays open, and nothing is ordered any more.
    let _ = stage.run(&["approve", &id, "--yes"]).await;
    let plan = stage.run(&["cleanup", "--apply", "--yes"]).await;
    assert_eq!(plan.status.code(), Some(7), "{plan:?}");
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();

    let report = stage
        .json(&["reconcile", "--apply", "--yes", "-o", "json"])
        .await;
    assert!(!report["done"].as_array().unwrap().is_empty(), "{report}");
    stage.until_state(&id, "flipped").await;
    stage
        .until("nothing contradicts", || async {
            stage.found("a").await.is_empty() && stage.found("b").await.is_empty()
        })
        .await;
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();
    let view = stage.json(&["show", &id, "-o", "json"]).await;
    assert!(view["epoch"].as_i64() > epoch.as_i64(), "{view}");
    let map = stage.json(&["map", "show", "m", "-o", "json"]).await;
    assert_eq!(map["version"], 2, "{map}");
    stage
        .until("the hold runs", || async {
            let view = stage.json(&["show", &id, "-o", "json"]).await;
            let steps = view["steps"].as_array().cloned().unwrap_or_default();
            steps
                .iter()
                .any(|step| step["kind"] == "hold" && step["state"] == "running")
        })
        .await;
    stage.ok(&format!("finish {id} --yes")).await;
    stage.until_state(&id, "completed").await;
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();
    let now = count(
        &stage.b,
        "select count(*) from public.orders where note = 'w'",
    )
    .await;
    assert_eq!(now, written + 3);
    assert_eq!(
        count(
            &stage.a,
            "select count(*) from public.orders where tenant_id >= 500"
        )
        .await,
        0
    );
}

#[tokio::test]
async fn a_store_that_lost_a_completed_move_is_moved_forward() {
    let mut stage = Stage::new("ended").await;
    stage.kill_controller().await;
    let before = copy(&stage.store).await;
    start(&stage.store).await;
    stage.start_controller().await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    stage.ok(&format!("finish {id} --yes")).await;
    stage.until_state(&id, "completed").await;

    stage.kill_controller().await;
    restore(&stage.store, before, false).await;
    stage.start_controller().await;
    stage
        .until("the lost move is found", || async {
            stage.found("a").await.contains(&"store_older".to_owned())
        })
        .await;
    stage
        .json(&["reconcile", "--apply", "--yes", "-o", "json"])
        .await;
    stage
        .until("nothing contradicts", || async {
            stage.found("a").await.is_empty()
        })
        .await;
    let owner = stage.ok("map locate m 700 -o json").await;
    assert!(owner.contains("\"b\""), "{owner}");
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();
}

#[tokio::test]
async fn a_sweep_before_the_first_look_opens_nothing() {
    let mut stage = Stage::new("unseen").await;
    stage.kill_controller().await;
    let before = copy(&stage.store).await;
    start(&stage.store).await;
    stage.start_controller().await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    write(&stage.b).await.unwrap();

    stage.kill_controller().await;
    restore(&stage.store, before, false).await;
    stage.start_controller_looking("0").await;
    for line in [
        &["cleanup", "--apply", "--yes"][..],
        &["cleanup", "--apply", "--yes", "--shard", "a"],
    ] {
        let swept = stage.run(line).await;
        assert_eq!(swept.status.code(), Some(7), "{line:?}: {swept:?}");
    }
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();
}
