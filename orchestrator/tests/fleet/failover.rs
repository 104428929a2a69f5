//! A standby is promoted in the place of a shard's server while the keys are moving: the migration goes on by itself.

use cluster::{Cluster, Options};
use std::sync::Arc;

use crate::stage::{Stage, copy, count, refuses, restore, session, sql, start, write};

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
    let notes = async || stage.json(&["show", &id, "-o", "json"]).await["notes"].to_string();
    let compared = "captured changes were lost, so 2004 copied rows were compared with the source: 3 were deleted and 0 (0 bytes) copied again";
    stage
        .until("the comparison", || async {
            notes().await.contains(compared)
        })
        .await;
    // The new primary fails over too.
    stage.until_state(&id, "waiting").await;
    let standby = copy(&stage.a).await;
    start(&stage.a).await;
    restore(&stage.a, standby, true).await;
    let second =
        "shard a: a standby was promoted in the place of its server; timeline 3, and 2 before";
    stage
        .until("the second failover", || async {
            notes().await.contains(second)
        })
        .await;
    cut_over(&stage, &id).await;
    accept_source(&stage, &id).await;
    let notes = notes().await;
    let first =
        "shard a: a standby was promoted in the place of its server; timeline 2, and 1 before";
    for part in [first, second] {
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

/// A transaction that stays open makes the source keep its log, until the agent drops the slot.
#[tokio::test]
async fn a_slot_that_is_dropped_at_its_limit_costs_a_comparison_and_no_command() {
    let stage = Stage::new("wal-cap").await;
    let id = stage
        .submit_with("hold: until_finish, wal_cap_mb: 64")
        .await;
    stage.until_state(&id, "waiting").await;
    let app = session(&stage.a, "app").await;
    app.batch_execute("begin; insert into public.orders values (700, 90001, 'w')")
        .await
        .unwrap();
    sql(
        &stage.a,
        "app",
        "select pg_logical_emit_message(false, 'noise', repeat('x', 1 << 20)) from generate_series(1, 80)",
    )
    .await;
    stage
        .until("the migration captures again", || async {
            attempts(&stage, &id, "open_capture").await == 2
        })
        .await;
    // The creation of the slot waits for this transaction.
    app.batch_execute("commit").await.unwrap();
    stage.until_state(&id, "waiting").await;
    let copied = &step(&stage, &id, "copy").await["output"];
    assert_eq!(copied["resync"]["rows"], 2005, "{copied}");
    assert_eq!(copied["resync"]["copied"], 1, "{copied}");
    stage.cut_over(&id).await;
    assert_eq!(count(&stage.b, MOVING).await, 2005);
}

/// All moving rows of a shard.
const DIGEST: &str =
    "select ('x' || substr(md5(string_agg(o::text, ',' order by id)), 1, 15))::bit(60)::bigint
    from public.orders o where tenant_id >= 500";

/// The promoted standby is from before the migration: it has none of its objects, and takes writes.
#[tokio::test]
async fn an_offline_move_makes_a_promoted_source_read_only_and_compares_its_rows() {
    let stage = Stage::new("failover-offline").await;
    let standby = copy(&stage.a).await;
    start(&stage.a).await;
    let id = stage.submit_with("mode: offline, hold: until_finish").await;
    stage.until_state(&id, "waiting").await;
    assert!(refuses(&stage.a).await);
    restore(&stage.a, standby, true).await;
    sql(
        &stage.a,
        "app",
        "update public.orders set note = 'late' where id % 100 = 7;
         delete from public.orders where id % 100 = 11;
         insert into public.orders values (700, 90001, 'late'), (800, 90002, 'late')",
    )
    .await;
    stage.ok(&format!("approve {id} --yes")).await;
    stage
        .until("the source is read-only again", || async {
            attempts(&stage, &id, "set_read_only").await == 2
        })
        .await;
    stage.until_state(&id, "flipped").await;
    assert!(refuses(&stage.a).await);
    assert_eq!(attempts(&stage, &id, "create_target").await, 1);
    let resync = &step(&stage, &id, "copy").await["output"]["resync"];
    assert_eq!(resync["rows"], 2004 - 20 + 2, "{resync}");
    assert_eq!(
        (&resync["deleted"], &resync["copied"]),
        (&40.into(), &22.into()),
        "{resync}"
    );
    assert_eq!(count(&stage.a, DIGEST).await, count(&stage.b, DIGEST).await);
    write(&stage.b).await.unwrap();
    stage.ok(&format!("finish {id} --yes")).await;
    stage
        .until("the deletion waits for the acceptance", || async {
            step(&stage, &id, "drop_old").await["failure"]["code"] == "shard.other_database"
        })
        .await;
    stage.ok("reconcile --accept a --reason tested --yes").await;
    stage.until_state(&id, "completed").await;
    assert_eq!(count(&stage.a, MOVING).await, 0);
}

/// A table without the key: its rows belong to orders.
const ITEMS: &str = "
    create table public.items (id bigint primary key, tenant bigint, parent bigint, v text,
        foreign key (tenant, parent) references public.orders (tenant_id, id));
    insert into public.items select id, tenant_id, id, 'v' from public.orders";
const ITEMS_DIGEST: &str =
    "select ('x' || substr(md5(string_agg(i::text, ',' order by id)), 1, 15))::bit(60)::bigint
    from public.items i where tenant >= 500";

/// An item whose order is deleted on the promoted source would not be found on the target by its order.
#[tokio::test]
async fn an_offline_move_of_rows_that_belong_to_others_begins_again_on_a_promoted_source() {
    let stage = Stage::new("failover-items").await;
    sql(&stage.a, "app", ITEMS).await;
    stage
        .set_map("tables: {orders: tenant_id}\nthrough: {items: {parent: orders}}\n")
        .await;
    let standby = copy(&stage.a).await;
    start(&stage.a).await;
    let id = stage.submit_with("mode: offline, hold: until_finish").await;
    stage.until_state(&id, "waiting").await;
    restore(&stage.a, standby, true).await;
    sql(
        &stage.a,
        "app",
        "delete from public.items where id % 100 in (11, 12);
         update public.items set v = 'late' where id % 100 = 13;
         delete from public.orders where id % 100 = 11;
         insert into public.items select 100000 + id, tenant_id, id, 'late' from public.orders where id % 100 = 14",
    )
    .await;
    stage.ok(&format!("approve {id} --yes")).await;
    stage
        .until("the copy begins again", || async {
            attempts(&stage, &id, "create_target").await == 2
        })
        .await;
    stage.until_state(&id, "flipped").await;
    assert!(refuses(&stage.a).await);
    for digest in [DIGEST, ITEMS_DIGEST] {
        assert_eq!(count(&stage.a, digest).await, count(&stage.b, digest).await);
    }
}

/// The promoted target is from before the copy was complete.
#[tokio::test]
async fn an_offline_move_copies_again_to_a_promoted_target() {
    let stage = Stage::new("failover-offline-b").await;
    let standby = copy(&stage.b).await;
    start(&stage.b).await;
    let id = stage.submit_with("mode: offline, hold: until_finish").await;
    stage.until_state(&id, "waiting").await;
    restore(&stage.b, standby, true).await;
    stage.ok(&format!("approve {id} --yes")).await;
    stage
        .until("the target gets its tables again", || async {
            attempts(&stage, &id, "create_target").await == 2
        })
        .await;
    stage.until_state(&id, "flipped").await;
    assert_eq!(count(&stage.a, DIGEST).await, count(&stage.b, DIGEST).await);
}

/// Promotes a copy of each server while the agent is stopped: so no change is applied that a copy lacks.
async fn fail_over_both(stage: &mut Stage) {
    stage.kill_agent().await;
    for cluster in [&stage.a, &stage.b] {
        let standby = copy(cluster).await;
        restore(cluster, standby, true).await;
    }
    stage.start_agent();
}

/// The copied files of the target have the slot, as a standby of PostgreSQL 17 has that synchronizes slots.
#[tokio::test]
async fn after_failovers_of_both_shards_in_the_hold_a_rollback_and_another_cutover_are_possible() {
    let mut stage = Stage::new("failover-hold").await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    write(&stage.b).await.unwrap();
    let until_source = async |stage: &Stage, rows: i64| {
        let has = || async { count(&stage.a, WRITTEN).await == rows };
        stage
            .until("the source has the application's rows", has)
            .await;
    };
    until_source(&stage, 1).await;
    fail_over_both(&mut stage).await;
    write(&stage.b).await.unwrap();
    until_source(&stage, 2).await;
    stage.ok(&format!("rollback {id} --yes")).await;
    stage.until_state(&id, "rolled_back").await;
    let accepts = || async { write(&stage.a).await.is_ok() };
    stage.until("the source takes writes", accepts).await;
    assert!(refuses(&stage.b).await);
    until_written(&stage, 3).await;
    let notes = stage.json(&["show", &id, "-o", "json"]).await["notes"].to_string();
    let note = "after the flip, shard b: a standby was promoted in the place of its server; timeline 2, and 1 before; the stream continued there";
    assert!(notes.contains(note), "{notes}");
    fail_over_both(&mut stage).await;
    write(&stage.a).await.unwrap();
    until_written(&stage, 4).await;
    stage.ok(&format!("approve {id} --yes")).await;
    let accepts = || async { write(&stage.b).await.is_ok() };
    stage.until("the target takes writes", accepts).await;
    until_source(&stage, 5).await;
    assert_eq!(count(&stage.a, DIGEST).await, count(&stage.b, DIGEST).await);
}

/// Drops a slot of the migration while no agent reads it.
async fn drop_slot(stage: &mut Stage, cluster: &Arc<Cluster>, end: &str) {
    stage.kill_agent().await;
    let name = format!("like 'shardwright%{end}'");
    let free =
        format!("select count(*) from pg_replication_slots where slot_name {name} and not active");
    let is_free = || async { count(cluster, &free).await == 1 };
    stage.until("the slot is free", is_free).await;
    let drop = format!(
        "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name {name}"
    );
    sql(cluster, "app", &drop).await;
    stage.start_agent();
}

#[tokio::test]
async fn a_hold_goes_on_without_a_slot_and_refuses_a_rollback() {
    let mut stage = Stage::new("hold-slot").await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    let target = stage.b.clone();
    drop_slot(&mut stage, &target, "_rev").await;
    write(&stage.b).await.unwrap();
    let refused = || async {
        let output = stage.run(&["rollback", &id, "--yes"]).await;
        String::from_utf8_lossy(&output.stderr).contains("does not exist")
    };
    stage.until("a rollback is refused", refused).await;
    let ended = || async {
        let message = step(&stage, &id, "hold").await["progress"]["message"].to_string();
        message.contains("a rollback is impossible")
    };
    stage.until("the hold reports it", ended).await;
    write(&stage.b).await.unwrap();
    // A rollback that was accepted before the loss was known is refused by its step; until then `finish` is refused.
    let accepted = || async {
        let output = stage.run(&["finish", &id, "--yes"]).await;
        output.status.success()
    };
    stage.until("the hold can be finished", accepted).await;
    stage.until_state(&id, "completed").await;
    assert_eq!(count(&stage.a, MOVING).await, 0);
    assert_eq!(count(&stage.b, MOVING).await, 2004 + 2);
}

/// The rows that the application has written on the source since are not on the target.
#[tokio::test]
async fn after_a_rollback_another_cutover_without_a_slot_compares_the_rows_first() {
    let mut stage = Stage::new("hold-back-slot").await;
    let id = stage.ready_to_cut_over().await;
    stage.cut_over(&id).await;
    stage.ok(&format!("rollback {id} --yes")).await;
    stage.until_state(&id, "rolled_back").await;
    let holds = || async { step(&stage, &id, "hold_back").await["state"] == "running" };
    stage.until("the hold after the rollback", holds).await;
    let source = stage.a.clone();
    drop_slot(&mut stage, &source, "_fwd").await;
    write(&stage.a).await.unwrap();
    let app = session(&stage.a, "app").await;
    app.batch_execute("delete from public.orders where id = (select max(id) from public.orders where tenant_id >= 500 and note <> 'w')")
        .await
        .unwrap();
    let ended = || async {
        let message = step(&stage, &id, "hold_back").await["progress"]["message"].to_string();
        message.contains("no longer kept current")
    };
    stage.until("the stream has ended", ended).await;
    stage.ok(&format!("approve {id} --yes")).await;
    let accepts = || async { write(&stage.b).await.is_ok() };
    stage.until("the target takes writes", accepts).await;
    let copied = &step(&stage, &id, "copy").await["output"];
    assert_eq!(copied["resync"]["copied"], 1, "{copied}");
    let equal = || async { count(&stage.a, DIGEST).await == count(&stage.b, DIGEST).await };
    stage
        .until("the source has the application's rows", equal)
        .await;
    stage.ok(&format!("finish {id} --yes")).await;
    stage.until_state(&id, "completed").await;
}

/// A standby of the target that lacks moved rows could be promoted after the flip. Nothing would send them again.
#[tokio::test]
async fn a_cutover_waits_for_a_standby_of_the_target() {
    let stage = Stage::new("target_standby").await;
    let target = stage.b.clone();
    let created = tokio::task::spawn_blocking(move || {
        let options = Options::temporary("fleet-target_standby-replica").setting("fsync", "off");
        let standby = target.standby("replica", options).unwrap();
        standby.start().unwrap();
        standby
    });
    let standby = created.await.unwrap();
    let streams = "select count(*) from pg_stat_replication where flush_lsn is not null";
    stage
        .until("the standby streams", || async {
            count(&stage.b, streams).await > 0
        })
        .await;
    let id = stage.ready_to_cut_over().await;
    standby.freeze().unwrap();
    // The standby lacks this.
    sql(&stage.b, "app", "create table public.later (id int)").await;
    stage.ok(&format!("approve {id} --yes")).await;
    stage
        .until("the cutover waits for the standby", || async {
            let view = stage.json(&["show", &id, "-o", "json"]).await.to_string();
            view.contains("shard b: standby 'replica' is")
        })
        .await;
    assert_ne!(stage.state(&id).await, "flipped");
    standby.thaw();
    stage.until_state(&id, "flipped").await;
}
