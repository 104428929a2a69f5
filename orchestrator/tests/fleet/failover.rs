//! A standby is promoted in the place of a shard's server while the keys are moving: the migration goes on by itself.

use crate::stage::{Stage, copy, count, refuses, restore, session, start, write};

/// The rows that the application has written in the test. A promotion of a standby that lacked them loses them.
const WRITTEN: &str = "select count(*) from public.orders where note = 'w'";
const MOVING: &str = "select count(*) from public.orders where tenant_id >= 500";

async fn until_written(stage: &Stage, rows: i64) {
    stage
        .until("the target has the application's rows", || async {
            count(&stage.b, WRITTEN).await == rows
        })
        .await;
}

/// The application can write and the keys can move: nothing is left of the failover. Two more rows are written.
async fn cut_over(stage: &Stage, id: &str) {
    stage.until_state(id, "waiting").await;
    write(&stage.a).await.unwrap();
    stage.cut_over(id).await;
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();
    assert_eq!(count(&stage.b, MOVING).await, 2004 + 2, "2 written rows");
    assert_eq!(attempts(stage, id, "create_target").await, 1);
    stage.ok(&format!("finish {id} --yes")).await;
}

/// Nothing is deleted on the promoted source before an operator accepts it.
async fn accept_source(stage: &Stage, id: &str) {
    stage
        .until("the deletion waits for the acceptance", || async {
            let failure = &step(stage, id, "drop_old").await["failure"];
            let hint = failure["hint"].as_str().unwrap_or_default();
            failure["code"] == "shard.other_database" && hint.contains("reconcile --accept a")
        })
        .await;
    assert_eq!(count(&stage.a, MOVING).await, 2004 + 2);
    stage.ok("reconcile --accept a --reason tested --yes").await;
    stage.until_state(id, "completed").await;
    assert_eq!(count(&stage.a, MOVING).await, 0);
}

/// A step as `show` has it.
async fn step(stage: &Stage, id: &str, kind: &str) -> serde_json::Value {
    let view = stage.json(&["show", id, "-o", "json"]).await;
    let steps = view["steps"].as_array().cloned().unwrap_or_default();
    let row = steps.into_iter().find(|row| row["kind"] == kind);
    row.unwrap()
}

/// How often a step has run.
async fn attempts(stage: &Stage, id: &str, kind: &str) -> u64 {
    step(stage, id, kind).await["attempt"].as_u64().unwrap()
}

#[tokio::test]
async fn rows_that_a_failover_of_the_source_lost_are_not_on_the_target() {
    let stage = Stage::new("failover-source").await;
    let id = stage.ready_to_cut_over().await;
    let standby = copy(&stage.a).await;
    start(&stage.a).await;
    for _ in 0..3 {
        write(&stage.a).await.unwrap();
    }
    until_written(&stage, 3).await;
    restore(&stage.a, standby, true).await;
    until_written(&stage, 0).await;
    cut_over(&stage, &id).await;
    accept_source(&stage, &id).await;
    let notes = stage.json(&["show", &id, "-o", "json"]).await["notes"].to_string();
    for part in [
        "shard a: a standby was promoted in the place of its server; timeline 2, and 1 before",
        "captured changes were lost, so 2004 copied rows were compared with the source: 3 were deleted and 0 (0 bytes) copied again",
    ] {
        assert!(notes.contains(part), "{notes}");
    }
}

#[tokio::test]
async fn a_target_that_lost_changes_in_a_failover_gets_them_again() {
    let stage = Stage::new("failover-target").await;
    let id = stage.ready_to_cut_over().await;
    let standby = copy(&stage.b).await;
    start(&stage.b).await;
    write(&stage.a).await.unwrap();
    until_written(&stage, 1).await;
    restore(&stage.b, standby, true).await;
    write(&stage.a).await.unwrap();
    until_written(&stage, 2).await;
    let app = session(&stage.a, "app").await;
    app.batch_execute("delete from public.orders where note = 'w'")
        .await
        .unwrap();
    until_written(&stage, 0).await;
    cut_over(&stage, &id).await;
    stage.until_state(&id, "completed").await;
}

/// The copied files have the slot, as a standby of PostgreSQL 17 has that synchronizes slots.
#[tokio::test]
async fn a_stream_continues_on_a_promoted_source_with_its_slot_and_every_change() {
    let stage = Stage::new("failover-slot").await;
    let id = stage.ready_to_cut_over().await;
    write(&stage.a).await.unwrap();
    until_written(&stage, 1).await;
    let standby = copy(&stage.a).await;
    restore(&stage.a, standby, true).await;
    write(&stage.a).await.unwrap();
    until_written(&stage, 2).await;
    stage
        .until("the stream continues", || async {
            step(&stage, &id, "open_capture").await["output"]["continued_from"].is_string()
        })
        .await;
    stage.until_state(&id, "waiting").await;
    assert!(step(&stage, &id, "copy").await["output"]["resync"].is_null());
    let app = session(&stage.a, "app").await;
    app.batch_execute("delete from public.orders where note = 'w'")
        .await
        .unwrap();
    until_written(&stage, 0).await;
    cut_over(&stage, &id).await;
    accept_source(&stage, &id).await;
}
