//! The orphan sweep with a control store that knows nothing, and the records of what a migration creates.

use crate::stage::{Stage, count, refuses, session, sql, write};
use serde_json::Value;

/// Everything on a shard that has a name of ours, whoever made it.
const LEFT: &str = "select (select count(*) from pg_replication_slots where slot_name like 'shardwright%' and slot_type = 'logical')
    + (select count(*) from pg_publication where pubname ~ '^shardwright_[a-z0-9]+_(fwd|rev)$')
    + (select count(*) from pg_trigger where not tgisinternal and tgname ~ '^shardwright_guard_.*_(insert|update|delete|truncate)$')
    + (select count(*) from pg_event_trigger where evtname like 'shardwright%')
    + (select count(*) from pg_namespace where nspname = 'shardwright' and to_regclass('shardwright.move') is not null)";

async fn leftovers(stage: &Stage, args: &[&str]) -> Vec<Value> {
    let mut line = vec!["cleanup", "-o", "json"];
    line.extend(args);
    let report = stage.json(&line).await;
    assert_eq!(report["failed"], serde_json::json!([]), "{report}");
    report["leftovers"].as_array().unwrap().clone()
}

async fn lose_everything(stage: &mut Stage) {
    stage.kill_controller().await;
    stage.kill_agent().await;
    stage.new_store().await;
    stage.start_controller().await;
    stage.start_agent();
    stage.register().await;
}

#[tokio::test]
async fn before_the_flip_nothing_is_left_and_nothing_of_others_is_touched() {
    let mut stage = Stage::new("sweep").await;
    stage.ready_to_cut_over().await;
    sql(
        &stage.a,
        "app",
        "create publication shardwright_mine for table public.orders;
         create function public.mine() returns trigger language plpgsql as 'begin return null; end';
         create trigger shardwright_guard_mine after insert on public.orders for each row execute function public.mine();
         select pg_create_physical_replication_slot('shardwright_mine')",
    )
    .await;
    lose_everything(&mut stage).await;
    let found = leftovers(&stage, &[]).await;
    let on = |shard: &str, verdict: &str| {
        let own = found
            .iter()
            .filter(|left| left["shard"] == shard && left["verdict"] == verdict);
        own.count()
    };
    // The store that ordered it may only be stopped, and this one has no such map: without an owner nothing goes.
    assert!(on("a", "decide") > 5 && on("b", "decide") > 3, "{found:?}");
    let before = (count(&stage.a, LEFT).await, count(&stage.b, LEFT).await);
    assert!(before.0 > 5 && before.1 > 5, "{before:?}");
    let _ = leftovers(&stage, &["--apply", "--yes"]).await;
    let after = (count(&stage.a, LEFT).await, count(&stage.b, LEFT).await);
    assert_eq!(after, before);
    write(&stage.a).await.unwrap();
    assert!(refuses(&stage.b).await);
    let _ = leftovers(
        &stage,
        &["--apply", "--yes", "--owner", "m=a", "--reason", "tested"],
    )
    .await;
    assert_eq!(count(&stage.a, LEFT).await, 0);
    assert_eq!(count(&stage.b, LEFT).await, 0);
    write(&stage.a).await.unwrap();
    let session = session(&stage.a, "app").await;
    let mine = "select (select count(*) from pg_publication where pubname = 'shardwright_mine')
        + (select count(*) from pg_trigger where tgname = 'shardwright_guard_mine')
        + (select count(*) from pg_replication_slots where slot_name = 'shardwright_mine')";
    let mine: i64 = session.query_one(mine, &[]).await.unwrap().get(0);
    assert_eq!(mine, 3);
}

#[tokio::test]
async fn after_the_flip_the_refusal_stays_until_the_owner_is_named() {
    let mut stage = Stage::new("swept").await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    lose_everything(&mut stage).await;
    let slots = "select count(*) from pg_replication_slots where slot_name like 'shardwright%'";
    let kept = count(&stage.a, slots).await + count(&stage.b, slots).await;
    assert_ne!(kept, 0);
    let _ = leftovers(&stage, &["--apply", "--yes"]).await;
    // What keeps two owners apart is still there, and what the other store would need.
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();
    let still = count(&stage.a, slots).await + count(&stage.b, slots).await;
    assert_eq!(still, kept);
    let refused = stage
        .run(&["cleanup", "--apply", "--yes", "--owner", "m=b"])
        .await;
    assert_eq!(refused.status.code(), Some(64), "{refused:?}");
    let _ = leftovers(
        &stage,
        &["--apply", "--yes", "--owner", "m=b", "--reason", "tested"],
    )
    .await;
    assert!(refuses(&stage.a).await);
    write(&stage.b).await.unwrap();
    assert_eq!(count(&stage.b, LEFT).await, 0);
    // The map says it too once it is there again, and the refusal is permanent then.
    stage
        .ok("map create m --range ..500=a --range 500..=b")
        .await;
    // Its first version is older than the one that the shards were told of.
    stage
        .json(&["reconcile", "--apply", "--yes", "-o", "json"])
        .await;
    let left = leftovers(&stage, &["--apply", "--yes"]).await;
    assert!(
        left.iter().all(|left| left["verdict"] == "keep"),
        "{left:?}"
    );
    assert!(refuses(&stage.a).await);
}

/// What covers an object on a shard among the records.
fn kinds(object: &str) -> &'static [&'static str] {
    match object.split(' ').next().unwrap() {
        "slot" => &["slot"],
        "publication" => &["publication"],
        "trigger" | "function" | "register" | "refusals" => &["guard"],
        "event_trigger" => &["guard", "event_trigger"],
        "rows" | "schema" => &["schema"],
        _ => &[],
    }
}

#[tokio::test]
async fn everything_that_a_migration_creates_is_recorded_and_marked_when_gone() {
    let stage = Stage::new("records").await;
    let id = stage.ready_to_cut_over().await;
    let records = stage.records(&id).await;
    let found = leftovers(&stage, &[]).await;
    let mut objects = 0;
    for left in &found {
        assert_eq!(left["verdict"], "keep", "{left}");
        let object = left["object"].as_str().unwrap();
        // Sessions, and slots that only sessions hold, go with their processes.
        if object.starts_with("session ") || object.contains("_cmp_") {
            continue;
        }
        objects += 1;
        let of = |record: &&Value| {
            record["shard"] == left["shard"]
                && kinds(object).iter().any(|kind| record["kind"] == *kind)
        };
        assert!(
            records.iter().any(|record| of(&record)),
            "{left}: {records:?}"
        );
    }
    assert!(objects > 10, "{found:?}");
    let table = |record: &&Value| record["kind"] == "table" && record["name"] == "public.orders";
    assert!(records.iter().any(|record| table(&record)), "{records:?}");
    stage.ok(&format!("abort {id} --yes")).await;
    stage.until_state(&id, "unwound").await;
    assert_eq!(count(&stage.a, LEFT).await + count(&stage.b, LEFT).await, 0);
    stage
        .until("the records are marked", || async {
            let records = stage.records(&id).await;
            records.iter().all(|record| !record["done_at"].is_null())
        })
        .await;
}

/// Nothing is dropped any more, as where somebody protects his definitions.
const NO_DROPS: &str = "create function public.no_drops() returns event_trigger language plpgsql as
        $$ begin raise 'nothing is dropped here'; end $$;
    create event trigger no_drops on sql_drop execute function public.no_drops()";
const DROPS: &str = "drop event trigger no_drops; drop function public.no_drops()";

#[tokio::test]
async fn what_an_abort_left_goes_once_it_can_be_removed() {
    let stage = Stage::new("aborted").await;
    let id = stage.ready_to_cut_over().await;
    for shard in [&stage.a, &stage.b] {
        sql(shard, "app", NO_DROPS).await;
    }
    stage.ok(&format!("abort {id} --yes")).await;
    stage.until_state(&id, "unwound").await;
    let shown = stage.json(&["show", &id, "-o", "json"]).await;
    for shard in ["a", "b"] {
        let left = shown["leftovers"].as_array().unwrap().iter();
        assert!(left.clone().any(|left| left["shard"] == shard), "{shown}");
    }
    assert!(count(&stage.a, LEFT).await > 0 && count(&stage.b, LEFT).await > 0);
    write(&stage.a).await.unwrap();
    assert!(refuses(&stage.b).await);

    let listed = leftovers(&stage, &[]).await;
    let removed =
        |left: &&Value| left["verdict"] == "remove" || left["object"] == "schema shardwright";
    assert!(listed.iter().all(|left| removed(&left)), "{listed:?}");
    let apply = ["cleanup", "--apply", "--yes", "-o", "json"];
    let failed = stage.json(&apply).await;
    let named = |shard: &str| {
        let failed = failed["failed"].as_array().unwrap().iter();
        failed.clone().any(|line| {
            let line = line.as_str().unwrap();
            line.starts_with(&format!("shard {shard}: "))
                && line.contains("nothing is dropped here")
        })
    };
    assert!(named("a") && named("b"), "{failed}");

    for shard in [&stage.a, &stage.b] {
        sql(shard, "app", DROPS).await;
    }
    let _ = leftovers(&stage, &["--apply", "--yes"]).await;
    assert_eq!(count(&stage.a, LEFT).await, 0);
    assert_eq!(count(&stage.b, LEFT).await, 0);
    let brought = "select count(*) from pg_class where oid = to_regclass('public.orders')";
    assert_eq!(count(&stage.b, brought).await, 0);
    write(&stage.a).await.unwrap();
    assert_eq!(leftovers(&stage, &[]).await, Vec::<Value>::new());
}

const PARCELS: &str =
    "create table public.parcels (tenant_id bigint, id bigint, primary key (tenant_id, id));
    insert into public.parcels select 1 + g % 1000, g from generate_series(1, 1000) g";
const SPLIT_PARCELS: &str = "operation: split\nmap: n\nsource: a\ninto:\n- {shard: a, keys: {to: 500}}\n\
    - {shard: b, keys: {from: 500}}\ntables: {parcels: tenant_id}\nignore: [orders]\n\
    options: {cutover: approve, hold: until_finish}\n";

/// What the migration `id` has on a shard.
fn of(id: &str) -> String {
    format!(
        "select (select count(*) from pg_replication_slots where slot_name like 'shardwright_{id}%')
         + (select count(*) from pg_publication where pubname like 'shardwright_{id}%')
         + (select count(*) from pg_trigger where tgname like 'shardwright_guard_{id}%')
         + (select count(*) from shardwright.move where migration = '{id}')"
    )
}

#[tokio::test]
async fn a_sweep_of_one_map_leaves_another_map_of_the_same_shards_alone() {
    let stage = Stage::new("maps").await;
    let left = stage.ready_to_cut_over().await;
    sql(&stage.a, "app", NO_DROPS).await;
    stage.ok(&format!("abort {left} --yes")).await;
    stage.until_state(&left, "unwound").await;
    sql(&stage.a, "app", DROPS).await;
    sql(&stage.a, "app", PARCELS).await;
    stage.ok("map create n --range ..=a").await;
    let id = stage.submit_as(SPLIT_PARCELS).await;
    stage.until_state(&id, "waiting").await;

    let sweep = ["--apply", "--yes", "--owner", "m=a", "--reason", "tested"];
    let (here, there) = (
        count(&stage.a, &of(&id)).await,
        count(&stage.b, &of(&id)).await,
    );
    assert!(here > 5 && there > 3, "{here} {there}");
    assert!(count(&stage.a, &of(&left)).await > 3);
    let _ = leftovers(&stage, &sweep).await;
    assert_eq!(count(&stage.a, &of(&left)).await, 0);
    assert_eq!(count(&stage.a, &of(&id)).await, here);
    assert_eq!(count(&stage.b, &of(&id)).await, there);

    stage.cut_over(&id).await;
    stage.ok(&format!("finish {id} --yes")).await;
    stage.until_state(&id, "completed").await;
    let _ = leftovers(&stage, &sweep).await;
    let session = session(&stage.a, "app").await;
    let refused = session
        .execute("insert into public.parcels values (700, 0)", &[])
        .await;
    let state = refused
        .unwrap_err()
        .code()
        .map(|state| state.code().to_owned());
    assert_eq!(state.as_deref(), Some("SM001"));
    let rows = "select count(*) from public.parcels";
    assert_eq!(
        count(&stage.a, rows).await + count(&stage.b, rows).await,
        1000
    );
}
