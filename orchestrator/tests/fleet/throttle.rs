//! A migration that is held back: by a rate, by the application's latency, by hours, by a strained shard.

use crate::stage::{Stage, count, session, sql};
use serde_json::{Value, json};

/// About 40 MB, of which the half moves.
const MORE: &str = "insert into public.orders
    select 1 + g % 1000, g, repeat('x', 100) from generate_series(10000, 300000) g";
const COPIED: &str = "select count(*) from public.orders";

/// Hours that are not now, and hours that are.
fn hours() -> (String, String) {
    let now = chrono::Utc::now();
    let hour = |add: i64| (now + chrono::TimeDelta::hours(add)).format("%H:00");
    (
        format!("{}-{}", hour(6), hour(8)),
        format!("{}-{}", hour(-2), hour(4)),
    )
}

fn running(view: &Value) -> Option<&Value> {
    let steps = view["steps"].as_array()?;
    steps.iter().find(|step| step["state"] == "running")
}

/// The progress of the step that runs.
async fn progress(stage: &Stage, id: &str) -> Value {
    let view = stage.json(&["show", id, "-o", "json"]).await;
    running(&view).map_or(Value::Null, |step| step["progress"].clone())
}

async fn reason(stage: &Stage, id: &str) -> String {
    let progress = progress(stage, id).await;
    progress["slowed"]["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

async fn share(stage: &Stage, id: &str) -> Option<f64> {
    progress(stage, id).await["slowed"]["share"].as_f64()
}

async fn waits_for_hours(stage: &Stage, id: &str) {
    stage
        .until("the copy waits for its hours", || async {
            let progress = progress(stage, id).await;
            let message = progress["message"].as_str().unwrap_or_default();
            message.starts_with("waiting for the hours") && progress["slowed"].is_object()
        })
        .await;
}

#[tokio::test]
async fn a_copy_with_a_rate_says_so_and_ends_once_the_rate_goes() {
    let stage = Stage::new("rate").await;
    sql(&stage.a, "app", MORE).await;
    let id = stage
        .submit_with("throttle: {rate_bytes_s: 20480}, copy_streams: 1")
        .await;
    stage
        .until("the rate is the reason", || async {
            reason(&stage, &id).await == "rate limited to 20.0 KiB/s by hand"
        })
        .await;
    let text = stage.ok(&format!("show {id}")).await;
    assert!(text.contains("rate limited to 20.0 KiB/s"), "{text}");
    assert!(text.contains("limits: 1 stream(s), 20.0 KiB/s"), "{text}");
    let streams = "select count(*) from pg_stat_activity where query like 'copy (select%' and state <> 'idle'";
    assert_eq!(count(&stage.a, streams).await, 1);

    stage.ok(&format!("set streams {id} 3")).await;
    stage
        .until("three streams copy", || async {
            count(&stage.a, streams).await == 3
        })
        .await;
    let refused = stage.run(&["set", "rate", &id, "fast"]).await;
    assert_eq!(refused.status.code(), Some(64), "{refused:?}");
    stage.ok(&format!("set rate {id} off --reason hurry")).await;
    stage.until_state(&id, "waiting").await;

    let url = format!("/api/v1/migrations/{id}/events");
    let events = stage.get(&url).await;
    let set: Vec<&Value> = events.as_array().unwrap().iter().collect();
    let set: Vec<_> = set.iter().filter(|e| e["kind"] == "limits.set").collect();
    assert_eq!(set.len(), 2, "{events}");
    assert_eq!(set[1]["data"]["reason"], "hurry");
    stage.ok(&format!("abort {id} --yes")).await;
    stage.until_state(&id, "unwound").await;
}

#[tokio::test]
async fn outside_of_hours_nothing_is_copied_no_snapshot_is_held_and_a_pause_answers() {
    let stage = Stage::new("hours").await;
    let (never, now) = hours();
    let id = stage
        .submit_with(&format!("throttle: {{hours: '{never}'}}"))
        .await;
    waits_for_hours(&stage, &id).await;
    assert_eq!(reason(&stage, &id).await, format!("outside {never}"));
    let shown = stage.ok(&format!("show {id}")).await;
    let waits = format!("waits for the hours {never}");
    assert!(shown.contains(&waits), "{shown}");
    stage
        .until("no snapshot is held", || async {
            let held = "select count(*) from pg_stat_activity
                where application_name like 'shardwright/%' and backend_xmin is not null
                  and backend_type = 'client backend' and state <> 'active'";
            let holders =
                "select count(*) from pg_stat_activity where application_name like '%/holder/%'";
            count(&stage.a, held).await == 0 && count(&stage.a, holders).await == 0
        })
        .await;
    assert_eq!(count(&stage.b, COPIED).await, 0);

    stage.ok(&format!("pause {id}")).await;
    stage
        .until("the copy has stopped", || async {
            let view = stage.json(&["show", &id, "-o", "json"]).await;
            view["state"] == "paused" && running(&view).is_none()
        })
        .await;
    stage.ok(&format!("resume {id}")).await;
    waits_for_hours(&stage, &id).await;
    assert_eq!(count(&stage.b, COPIED).await, 0);

    stage.ok(&format!("set hours {id} {now}")).await;
    stage.until_state(&id, "waiting").await;
    assert_eq!(count(&stage.b, COPIED).await, 2004);
    stage.cut_over(&id).await;
    // The old rows go within the hours only.
    stage.ok(&format!("set hours {id} {never}")).await;
    stage.ok(&format!("finish {id} --yes")).await;
    waits_for_hours(&stage, &id).await;
    assert!(
        count(
            &stage.a,
            "select count(*) from public.orders where tenant_id >= 500"
        )
        .await
            > 0
    );
    stage.ok(&format!("set hours {id} off")).await;
    stage.until_state(&id, "completed").await;
}

#[tokio::test]
async fn the_applications_p99_brings_the_share_down_and_up_again() {
    let stage = Stage::new("latency").await;
    sql(&stage.a, "app", MORE).await;
    let (never, _) = hours();
    let id = stage
        .submit_with(&format!(
            "throttle: {{latency_ms: 25, hours: '{never}'}}, copy_streams: 1"
        ))
        .await;
    let report = |p99: f64| stage.post("/api/v1/maps/m/latency", json!({ "p99_ms": p99 }));
    waits_for_hours(&stage, &id).await;
    stage
        .until("a slow application leaves the least share", || async {
            report(200.0).await;
            share(&stage, &id).await.is_some_and(|share| share < 0.03)
        })
        .await;
    stage.ok(&format!("set hours {id} off")).await;
    stage
        .until("the application is the reason", || async {
            report(200.0).await;
            reason(&stage, &id).await == "application p99 200 ms, set point 25 ms"
        })
        .await;
    let text = stage.ok(&format!("show {id}")).await;
    assert!(
        text.contains("slowed to 2 %: application p99 200 ms, set point 25 ms"),
        "{text}"
    );
    stage
        .until("a fast application gives the share back", || async {
            report(2.5).await;
            let slowed = share(&stage, &id).await;
            slowed.is_none_or(|share| share > 0.2)
        })
        .await;
    stage
        .until("the copy ends", || async {
            report(2.5).await;
            stage.state(&id).await == "waiting"
        })
        .await;
}

#[tokio::test]
async fn sessions_that_wait_for_a_lock_slow_it_down() {
    let stage = Stage::new("strain").await;
    sql(&stage.a, "app", MORE).await;
    let holder = session(&stage.a, "app").await;
    holder
        .batch_execute("select pg_advisory_lock(1)")
        .await
        .unwrap();
    let mut waiters = Vec::new();
    for _ in 0..2 {
        let waiter = session(&stage.a, "app").await;
        waiters.push(tokio::spawn(async move {
            waiter
                .batch_execute("select pg_advisory_lock_shared(1)")
                .await
        }));
    }
    // Outside of its hours the copy waits until the locks have been seen: it would be over in less than a second.
    let (never, _) = hours();
    let id = stage
        .submit_with(&format!(
            "throttle: {{shards: {{lock_waits: 1}}, hours: '{never}'}}, copy_streams: 1"
        ))
        .await;
    waits_for_hours(&stage, &id).await;
    stage
        .until("the locks leave the least share", || async {
            share(&stage, &id).await.is_some_and(|share| share < 0.03)
        })
        .await;
    stage.ok(&format!("set hours {id} off")).await;
    stage
        .until("the locks are the reason", || async {
            let told = reason(&stage, &id).await;
            told == "shard a has 2 session(s) that wait for a lock, limit 1"
        })
        .await;
    assert!(share(&stage, &id).await.is_none_or(|share| share < 1.0));
    holder
        .batch_execute("select pg_advisory_unlock(1)")
        .await
        .unwrap();
    for waiter in waiters {
        waiter.await.unwrap().unwrap();
    }
    stage.until_state(&id, "waiting").await;
}
