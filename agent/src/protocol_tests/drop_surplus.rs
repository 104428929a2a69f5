//! The step `drop_surplus` deletes the rows of a seeded target that other shards own, and no other row.

use std::sync::Arc;

use connect::Connected;
use plans::identity::DatabaseIdentity;
use plans::key::Key;
use plans::key_set::KeySet;
use plans::names::released_keys_trigger;
use plans::request::Seed;
use plans::sql::quote_ident;
use plans::step::StepKind;
use plans::step::drop_old::Dropped;
use plans::table::{MovingTable, one_of_each_top};
use plans::wire::TableProgress;
use serde_json::json;

use super::bench::{Bench, VERSION, code, state};
use super::database::registered;
use super::ddl::{dispatched, run};
use super::shard::until;
use crate::migration::context::StepContext;
use crate::shard::{epoch, released_keys_check};
use crate::steps::{drop_old, drop_surplus};

/// Two tables with a foreign key, a partitioned table and a reference table. A row of `item` fills a block.
const SHOP: &str = "\
    create table public.item (tenant_id bigint not null, id bigint, v text, primary key (tenant_id, id)); \
    alter table public.item alter v set storage plain; \
    create table public.part (tenant_id bigint not null, id bigint, item bigint, primary key (tenant_id, id), \
        foreign key (tenant_id, item) references public.item on delete cascade); \
    create table public.sale (tenant_id bigint, at date, primary key (tenant_id, at)) partition by range (at); \
    create table public.sale_1 partition of public.sale for values from ('2026-01-01') to ('2026-02-01'); \
    create table public.sale_2 partition of public.sale for values from ('2026-02-01') to ('2026-03-01')";
/// The value of an open register.
const OPEN: i64 = 0;
/// The value of a closed register.
const CLOSED: i64 = i64::MAX;

/// Returns all keys except the moving ones, [100, 200).
fn other_keys() -> KeySet {
    let below = KeySet::range(None, Some(Key::Int(100)));
    below.union(&KeySet::range(Some(Key::Int(200)), None))
}

/// A flipped move whose target has all rows of the source: the tenants 0 to 299 with `rows` items each.
async fn seeded(name: &str, rows: i64) -> Bench {
    let bench = Bench::new(name, SHOP).await;
    let app = bench.target.session().await;
    let insert = format!(
        "insert into public.item select tenant, n, repeat('x', 7000) from generate_series(0, 299) tenant, generate_series(1, {rows}) n; \
         insert into public.part select tenant, 1, 1 from generate_series(0, 299) tenant; \
         insert into public.sale select tenant, '2026-01-05' from generate_series(0, 299) tenant; \
         insert into public.sale select tenant, '2026-02-05' from generate_series(0, 299) tenant"
    );
    run(&app, &insert).await;
    bench.guard(&bench.target, OPEN).await;
    let notified = format!("update shardwright.move set flipped = {}", VERSION + 1);
    run(&app, &notified).await;
    let record = format!(
        "insert into shardwright.away (map, keys, map_version) values ('m', '{}', {VERSION})",
        json!(other_keys())
    );
    run(&app, &record).await;
    recreate_guard(&bench, &other_keys()).await;
    bench
}

/// Creates the guard of released keys on the target's tables.
async fn recreate_guard(bench: &Bench, keys: &KeySet) {
    let ours = bench.ours(&bench.target).await;
    for table in one_of_each_top(&bench.tables) {
        let table = MovingTable {
            table: table.top().clone(),
            partition_of: None,
            ..table.clone()
        };
        released_keys_check::recreate_guard(&ours, &"m".into(), keys, &table)
            .await
            .expect("guarded");
    }
}

async fn surplus_step(bench: &Bench) -> StepContext {
    let mut context = dispatched(bench, StepKind::DropSurplus).await;
    let dispatch = Arc::make_mut(&mut context.dispatch);
    dispatch.options.seed = Seed::Standby;
    let done = (StepKind::DropOld.name().into(), json!(Dropped::default()));
    dispatch.outputs.extend([done]);
    context
}

/// Returns the numbers of moving rows and of other rows on the target.
async fn count_rows(app: &Connected) -> (i64, i64) {
    let sql = "select count(*) filter (where tenant_id between 100 and 199),
                      count(*) filter (where tenant_id not between 100 and 199)
               from (select tenant_id from public.item union all select tenant_id from public.part
                     union all select tenant_id from public.sale) t";
    let row = app.query_one(sql, &[]).await.expect("counted");
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn the_moving_rows_stay_and_the_surplus_goes() {
    let bench = seeded("surplus", 1).await;
    let app = bench.target.session().await;
    assert_eq!(count_rows(&app).await, (400, 800));
    let context = surplus_step(&bench).await;
    let dropped = drop_surplus::run(&context).await.expect("dropped");
    assert_eq!(dropped.rows, 800);
    assert_eq!(dropped.reclaim.len(), 4, "{:?}", dropped.reclaim);
    assert_eq!(count_rows(&app).await, (400, 0));

    let ours = bench.ours(&bench.target).await;
    assert!(!epoch::is_enrolled(&ours, &bench.token).await.expect("read"));
    let insert = |tenant: i64| format!("insert into public.item values ({tenant}, 9, 'x')");
    assert_eq!(state(app.execute(&insert(250), &[]).await), "SM001");
    app.execute(&insert(150), &[]).await.expect("its own key");
    let repeated = drop_surplus::run(&context).await.expect("repeated");
    assert_eq!(repeated.rows, 0);
}

#[tokio::test]
async fn after_an_interruption_the_step_deletes_what_is_left() {
    // 3,000 rows of one block each are two batches.
    let bench = seeded("surplus_halts", 10).await;
    let app = bench.target.session().await;
    let (moving, surplus) = count_rows(&app).await;
    let mut context = surplus_step(&bench).await;
    Arc::make_mut(&mut context.dispatch).options.drop_pause_ms = 60_000;
    let context = Arc::new(context);
    let running = context.clone();
    let step = tokio::spawn(async move { drop_surplus::run(&running).await });
    until("a batch of items is deleted", || async {
        let progress = context.session.progress();
        let item = |table: &TableProgress| table.table == "public.item";
        progress.tables.iter().any(item)
    })
    .await;
    step.abort();
    assert!(step.await.is_err(), "interrupted between two batches");
    let (moving_then, left) = count_rows(&app).await;
    assert_eq!(moving_then, moving);
    assert!(0 < left && left < surplus, "{left} of {surplus}");

    let dropped = drop_surplus::run(&surplus_step(&bench).await).await;
    assert_eq!(dropped.expect("resumed").rows, left);
    assert_eq!(count_rows(&app).await, (moving, 0));
}

#[tokio::test]
async fn nothing_is_deleted_unless_everything_is_as_recorded() {
    let bench = seeded("surplus_refused", 1).await;
    let app = bench.target.session().await;
    let all = count_rows(&app).await;
    let record = |column: &str| format!("update shardwright.move set {column}");
    let flipped = |version: i64| record(&format!("flipped = {version}"));
    let register = |value: i64| {
        let register = bench.token.migration.register();
        format!("select setval('shardwright.{register}', {value})")
    };
    let released = |keys: &KeySet| format!("update shardwright.away set keys = '{}'", json!(keys));
    let every_key = KeySet::range(None, None);
    let trigger = |state: &str| {
        let name = quote_ident(&released_keys_trigger(&"m".into(), "delete"));
        format!("alter table public.part {state} trigger {name}")
    };
    for (change, undo, refusal) in [
        (record("epoch = 2"), record("epoch = 1"), "epoch.stale"),
        (record("role = 'source'"), record("role = 'target'"), "drop.role"),
        (flipped(VERSION), flipped(VERSION + 1), "drop.open"),
        (register(CLOSED), register(OPEN), "drop.open"),
        (released(&every_key), released(&other_keys()), "drop.open"),
        (trigger("disable"), trigger("enable always"), "drop.open"),
        (
            "create table shardwright.kept as table shardwright.away; delete from shardwright.away".into(),
            "insert into shardwright.away select * from shardwright.kept; drop table shardwright.kept".into(),
            "drop.open",
        ),
    ] {
        run(&app, &change).await;
        let context = surplus_step(&bench).await;
        assert_eq!(code(drop_surplus::run(&context).await), refusal, "{change}");
        assert_eq!(count_rows(&app).await, all, "{change}");
        run(&app, &undo).await;
    }
    let context = surplus_step(&bench).await;
    drop_surplus::run(&context).await.expect("as recorded");
}

#[tokio::test]
async fn nothing_is_deleted_before_drop_old_is_done() {
    let bench = seeded("surplus_early", 1).await;
    let mut context = surplus_step(&bench).await;
    let dispatch = Arc::make_mut(&mut context.dispatch);
    dispatch.outputs.remove(&StepKind::DropOld.name().into());
    assert_eq!(code(drop_surplus::run(&context).await), "step.input");
    let app = bench.target.session().await;
    assert_eq!(count_rows(&app).await, (400, 800));
}

#[tokio::test]
async fn nothing_is_deleted_in_another_database() {
    let bench = seeded("surplus_elsewhere", 1).await;
    let app = bench.target.session().await;
    let all = count_rows(&app).await;
    let known = registered(&bench.target).await;
    for other in [
        DatabaseIdentity {
            timeline: known.timeline - 1,
            ..known.clone()
        },
        DatabaseIdentity {
            id: Some("00000000-0000-4000-8000-000000000000".to_owned()),
            ..known.clone()
        },
        DatabaseIdentity {
            standby: true,
            ..known.clone()
        },
    ] {
        let mut context = surplus_step(&bench).await;
        Arc::make_mut(&mut context.dispatch).target.identity = Some(other.clone());
        let refused = code(drop_surplus::run(&context).await);
        assert_eq!(refused, "shard.other_database", "{other}");
        assert_eq!(count_rows(&app).await, all);
    }
}

/// Another migration returns keys to the target while the step runs: their rows are its copy.
#[tokio::test]
async fn rows_of_keys_that_the_shard_has_not_released_stay() {
    let bench = seeded("surplus_returned", 1).await;
    let app = bench.target.session().await;
    let returned = KeySet::range(Some(Key::Int(250)), None);
    let rest = json!(other_keys().minus(&returned));
    run(
        &app,
        &format!("update shardwright.away set keys = '{rest}'"),
    )
    .await;
    recreate_guard(&bench, &other_keys().minus(&returned)).await;
    let dropped = drop_surplus::run(&surplus_step(&bench).await).await;
    assert_eq!(dropped.expect("dropped").rows, 4 * 150);
    assert_eq!(count_rows(&app).await, (400, 200));
}

#[tokio::test]
async fn drop_old_leaves_a_seeded_target_to_this_step() {
    for (name, seed, remains) in [
        ("surplus_waits", Seed::Standby, true),
        ("surplus_copied", Seed::Copy, false),
    ] {
        let bench = seeded(name, 1).await;
        bench.guard(&bench.source, CLOSED).await;
        let notified = format!("update shardwright.move set flipped = {}", VERSION + 1);
        run(&bench.source.session().await, &notified).await;
        let mut context = dispatched(&bench, StepKind::DropOld).await;
        Arc::make_mut(&mut context.dispatch).options.seed = seed;
        drop_old::run(&context).await.expect("dropped");
        let ours = bench.ours(&bench.target).await;
        let enrolled = epoch::is_enrolled(&ours, &bench.token).await.expect("read");
        assert_eq!(enrolled, remains, "{seed:?}");
    }
}
