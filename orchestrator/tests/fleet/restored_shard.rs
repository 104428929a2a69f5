//! Shards that were restored from copies older than the flip, and a promoted standby that lacks it (R6).

use crate::stage::{Stage, copy, count, refuses, restore, session, start, write};
use serde_json::Value;

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
    // The copy on the source is not what the stream back wrote any more. Until the controller knows, the step refuses a
    // rollback, and the hold continues.
    let refused = || async {
        let output = stage.run(&["rollback", &id, "--yes"]).await;
        let said = String::from_utf8_lossy(&output.stderr);
        output.status.code() == Some(7) && said.contains("timeline")
    };
    stage.until("a rollback is refused", refused).await;
    assert_eq!(stage.state(&id).await, "flipped");
    assert!(refuses(&stage.a).await);
    assert!(!refuses(&stage.b).await);
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
        .until("the missing data is reported", || async {
            stage.found("b").await.contains(&"data_missing".to_owned())
        })
        .await;
    // Nobody owns the keys in its place: both refuse until an operator has restored the newest state.
    assert!(refuses(&stage.a).await);
    assert!(refuses(&stage.b).await);
}

/// Returns whether a step has failed because a shard is older than its ownership of the keys.
async fn is_outdated(stage: &Stage, id: &str, step: &str) -> bool {
    let view = stage.json(&["show", id, "-o", "json"]).await;
    let steps = view["steps"].as_array().cloned().unwrap_or_default();
    let is_outdated =
        |it: &Value| it["kind"] == step && it["failure"]["code"] == "register.outdated";
    steps.iter().any(is_outdated)
}

/// Finishes the migration, whose source has the only rows. `may_fail_hold`: a check of the hold can notice the restored
/// target before the hold ends; then no row is removed either.
async fn removes_no_row(stage: &Stage, id: &str, may_fail_hold: bool) {
    let moved = "select count(*) from public.orders where tenant_id >= 500";
    let rows = count(&stage.a, moved).await;
    stage.ok(&format!("finish {id} --yes")).await;
    let is_refused = async || {
        let has_failed = may_fail_hold && has_failed_hold(stage, id).await;
        has_failed || is_outdated(stage, id, "drop_old").await
    };
    stage
        .until("the removal of rows is refused", is_refused)
        .await;
    assert!(rows > 0);
    assert_eq!(count(&stage.a, moved).await, rows);
}

async fn has_failed_hold(stage: &Stage, id: &str) -> bool {
    let view = stage.json(&["show", id, "-o", "json"]).await;
    let steps = view["steps"].as_array().cloned().unwrap_or_default();
    let has_failed = |it: &Value| it["kind"] == "hold" && it["state"] == "failed";
    view["state"] == "failed" && steps.iter().any(has_failed)
}

#[tokio::test]
async fn rows_stay_on_the_source_if_the_target_is_from_before_the_migration() {
    let stage = Stage::new("empty-target").await;
    let before = copy(&stage.b).await;
    start(&stage.b).await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    stage.in_hold(&id).await;
    restore(&stage.b, before, false).await;
    stage
        .until("the missing data is reported", || async {
            stage.found("b").await.contains(&"data_missing".to_owned())
        })
        .await;
    removes_no_row(&stage, &id, true).await;
}

/// An agent that takes the migration over finds closed keys on the target, as after an interrupted rollback.
#[tokio::test]
async fn an_agent_does_not_open_a_target_from_before_its_opening() {
    for standby in [false, true] {
        let name = if standby { "promoted" } else { "old-target" };
        let mut stage = Stage::new(name).await;
        let id = stage.ready_to_cut_over().await;
        let before = copy(&stage.b).await;
        start(&stage.b).await;
        stage.cut_over(&id).await;
        write(&stage.b).await.unwrap();
        stage.kill_agent().await;
        restore(&stage.b, before, standby).await;
        let epoch = async |stage: &Stage| {
            let view = stage.json(&["show", &id, "-o", "json"]).await;
            view["epoch"].as_i64().unwrap()
        };
        let earlier = epoch(&stage).await;
        stage.start_agent();
        let is_taken_over = async || epoch(&stage).await > earlier;
        stage.until("the agent takes over", is_taken_over).await;
        stage
            .until("the missing data is reported", || async {
                stage.found("b").await.contains(&"data_missing".to_owned())
            })
            .await;
        let opening = async || is_outdated(&stage, &id, "hold").await;
        stage.until("the opening is refused", opening).await;
        assert!(refuses(&stage.a).await);
        assert!(refuses(&stage.b).await, "standby: {standby}");
        removes_no_row(&stage, &id, false).await;
    }
}

/// After a rollback the source owns the keys again, and the target has the only rows that it lacks.
#[tokio::test]
async fn the_copy_stays_on_the_target_if_the_source_is_from_before_the_rollback() {
    let mut stage = Stage::new("old-source").await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    let before = copy(&stage.a).await;
    start(&stage.a).await;
    write(&stage.b).await.unwrap();
    stage.ok(&format!("rollback {id} --yes")).await;
    // The map flips before the source is open and the step ends.
    stage
        .until("the rollback", || async {
            let view = stage.json(&["show", &id, "-o", "json"]).await;
            let steps = view["steps"].as_array().cloned().unwrap_or_default();
            let done = |step: &Value| step["kind"] == "rollback" && step["state"] == "done";
            view["state"] == "rolled_back" && steps.iter().any(done)
        })
        .await;
    stage.kill_agent().await;
    restore(&stage.a, before, false).await;
    let moved = "select count(*) from public.orders where tenant_id >= 500";
    let rows = count(&stage.b, moved).await;
    stage.ok(&format!("finish {id} --yes")).await;
    stage.start_agent();
    let is_refused = async || is_outdated(&stage, &id, "drop_new").await;
    stage
        .until("the removal of the copy is refused", is_refused)
        .await;
    assert!(refuses(&stage.a).await);
    assert!(rows > 0);
    assert_eq!(count(&stage.b, moved).await, rows);
}

/// The agent that flipped the map died before it opened the new owner, and the next one finds that shard in an earlier
/// state, without the rows that came since.
#[tokio::test]
async fn an_agent_does_not_complete_a_flip_on_a_shard_from_before_its_attempt() {
    for step in ["cutover", "rollback"] {
        let mut stage = Stage::new(&format!("interrupted-{step}")).await;
        let id = stage.ready_to_cut_over().await;
        let command = if step == "rollback" {
            stage.cut_over(&id).await;
            format!("rollback {id} --yes")
        } else {
            format!("approve {id} --yes")
        };
        let (old_owner, new_owner) = match step {
            "rollback" => (stage.b.clone(), stage.a.clone()),
            _ => (stage.a.clone(), stage.b.clone()),
        };
        let before = copy(&new_owner).await;
        start(&new_owner).await;
        write(&old_owner).await.unwrap();
        let moved = "select count(*) from public.orders where tenant_id >= 500";
        let rows = count(&old_owner, moved).await;
        stage.kill_agent().await;
        stage.start_agent_failing_at("cutover.flipped=abort");
        stage.ok(&command).await;
        stage.agent_has_ended().await;
        restore(&new_owner, before, false).await;
        stage.start_agent();
        let is_refused = async || is_outdated(&stage, &id, step).await;
        stage.until("the opening is refused", is_refused).await;
        assert!(refuses(&old_owner).await, "{step}");
        assert!(refuses(&new_owner).await, "{step}");
        assert_eq!(count(&old_owner, moved).await, rows);
    }
}
