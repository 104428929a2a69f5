//! A shard accepts a statement that deletes a row of a reference table, although it has rows that refer to this row and
//! that it does not own. The cascade skips these rows. The shard cannot become their owner before its stream has
//! applied the deletes of the owner (ADR 55).

mod keys;
mod refused;

use std::sync::Arc;

use connect::Connected;
use plans::id::{AttemptNo, MapVersion};
use plans::names::Direction;

use super::bench::{Bench, VERSION, code, pid, state, until_blocked};
use crate::error::StepError;
use crate::shard::epoch::{AttemptCount, EpochProof};
use crate::shard::guard::GuardedRows;
use crate::shard::guard::{self, cascade};
use crate::shard::marker::{Marker, MarkerKind};
use crate::shard::register::{self, RegisterSetting};

const CLOSED: i64 = i64::MAX;
const DDL: &str = "\
    create table public.country (id int primary key, name text);
    create table public.item (tenant_id bigint, id bigint, country int references public.country on delete cascade on update cascade,
                              primary key (tenant_id, id));
    create table public.note (tenant_id bigint, id bigint, country int references public.country on delete set null,
                              primary key (tenant_id, id)) partition by range (tenant_id);
    create table public.note_all partition of public.note default";
const ROWS: &str = "\
    insert into public.country select g from generate_series(0, 4) g;
    insert into public.item values (1, 1, 1), (150, 1, 1), (1, 2, 2), (150, 2, 2), (150, 3, null);
    insert into public.note values (1, 1, 1), (150, 1, 1)";
const DELETE: &str = "delete from public.country where id = 1";
const UNTOUCHED: [&str; 5] = ["(1,1,1)", "(1,2,2)", "(150,1,1)", "(150,2,2)", "(150,3,)"];
const LEFT: [&str; 4] = ["(1,2,2)", "(150,1,1)", "(150,2,2)", "(150,3,)"];

/// Creates two shards with these tables and rows. The tables with the key column move.
async fn bench(name: &str, ddl: &str, rows: &str) -> Bench {
    let mut bench = Bench::new(name, ddl).await;
    let moving = bench.tables.iter().filter(|table| {
        let mut columns = table.columns.iter();
        columns.any(|column| column.name == "tenant_id")
    });
    bench.tables = Arc::new(moving.cloned().collect());
    for database in [&bench.source, &bench.target] {
        let session = database.session().await;
        session.batch_execute(rows).await.expect("rows");
    }
    bench
}

/// Makes the source the old owner: the flip of attempt 1 has happened and the source was notified of it.
async fn give(bench: &Bench) -> Connected {
    bench.guard(&bench.source, 0).await;
    let ours = bench.ours(&bench.source).await;
    register::begin_and_set(&ours, &bench.token, AttemptNo(1), RegisterSetting::Closed)
        .await
        .expect("sealed");
    let told = register::notify_of_flip(&ours, &bench.token, AttemptNo(1), MapVersion(VERSION + 1))
        .await
        .expect("told");
    cascade::allow_skips(&ours, &bench.token, EpochProof::Count(told))
        .await
        .expect("allowed");
    ours
}

async fn gave(name: &str) -> (Bench, Connected) {
    let bench = bench(name, DDL, ROWS).await;
    give(&bench).await;
    let app = bench.source.session().await;
    (bench, app)
}

/// Begins attempt `number` on the future owner. Returns its attempt count.
async fn begun(bench: &Bench, ours: &Connected, number: AttemptNo) -> AttemptCount {
    register::begin_and_check_witness(ours, &bench.token, number, MapVersion(VERSION + 1))
        .await
        .expect("closed")
}

/// Runs the checks of an attempt before its fence.
async fn settled(bench: &Bench, ours: &Connected, count: AttemptCount) -> Result<(), StepError> {
    if cascade::refuse_skips(ours, &bench.token, count).await? == 0 {
        return Ok(());
    }
    let guarded = GuardedRows {
        keys: &bench.keys,
        tables: &bench.tables,
    };
    cascade::check_and_reset(ours, &bench.token, count, guarded).await
}

async fn rows(client: &Connected, what: &str) -> Vec<String> {
    let sql = format!("select t::text from {what} t order by 1");
    let rows = client.query(&sql, &[]).await.expect("rows");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_cascade_skips_the_rows_that_were_released() {
    let (_bench, app) = gave("cascade_hold").await;
    app.batch_execute(DELETE)
        .await
        .expect("about keys that stay");
    assert_eq!(rows(&app, "public.item").await, LEFT);
    assert_eq!(rows(&app, "public.note").await, ["(1,1,)", "(150,1,1)"]);
    app.batch_execute("update public.country set id = 20 where id = 2")
        .await
        .expect("about keys that stay");
    assert_eq!(
        rows(&app, "public.item").await,
        ["(1,2,20)", "(150,1,1)", "(150,2,2)", "(150,3,)"]
    );
}

#[tokio::test]
async fn a_cascade_leaves_the_rows_of_a_copy_that_the_target_does_not_own_yet() {
    let bench = bench("cascade_target", DDL, ROWS).await;
    bench.guard(&bench.target, CLOSED).await;
    let app = bench.target.session().await;
    app.batch_execute(DELETE)
        .await
        .expect("about the target's own keys");
    assert_eq!(rows(&app, "public.item").await, LEFT);
}

#[tokio::test]
async fn an_owner_that_is_fenced_or_sealed_leaves_nothing_out() {
    let bench = bench("cascade_owner", DDL, ROWS).await;
    bench.guard(&bench.source, 0).await;
    let (ours, app) = (
        bench.ours(&bench.source).await,
        bench.source.session().await,
    );
    for (number, setting) in [
        (AttemptNo(1), RegisterSetting::FencedFor(50_000)),
        (AttemptNo(2), RegisterSetting::Closed),
    ] {
        register::begin_and_set(&ours, &bench.token, number, setting)
            .await
            .expect("set");
        // A shard that was not notified of a flip owns the keys, whichever attempt requests the skips.
        cascade::allow_skips(&ours, &bench.token, EpochProof::Next(number))
            .await
            .expect("asked");
        assert_eq!(state(app.batch_execute(DELETE).await), "SM001");
        assert_eq!(rows(&app, "public.item").await, UNTOUCHED);
    }
}

/// Between flip and opening, the register of the new owner is closed and the new owner has not been notified.
#[tokio::test]
async fn a_new_owner_leaves_nothing_out_when_everything_dies_between_flip_and_opening() {
    let bench = bench("cascade_flipped", DDL, ROWS).await;
    bench.guard(&bench.target, CLOSED).await;
    let ours = bench.ours(&bench.target).await;
    let count = begun(&bench, &ours, AttemptNo(1)).await;
    settled(&bench, &ours, count).await.expect("nothing is out");
    drop(ours);
    let app = bench.target.session().await;
    assert_eq!(state(app.batch_execute(DELETE).await), "SM002");
    assert_eq!(rows(&app, "public.item").await, UNTOUCHED);
}

/// The keys returned and are moving again. The snapshot is from the hold between the two moves.
#[tokio::test]
async fn an_old_snapshot_leaves_nothing_out_of_what_the_shard_owns_again() {
    let (bench, app) = gave("cascade_snapshot").await;
    app.batch_execute(
        "begin isolation level repeatable read; select from shardwright.move; select from public.country",
    )
    .await
    .expect("a snapshot of the hold");
    let ours = bench.ours(&bench.source).await;
    let count = begun(&bench, &ours, AttemptNo(2)).await;
    settled(&bench, &ours, count).await.expect("nothing is out");
    register::begin_and_set(&ours, &bench.token, AttemptNo(2), RegisterSetting::Open)
        .await
        .expect("rolled back");
    register::begin_and_set(&ours, &bench.token, AttemptNo(3), RegisterSetting::Closed)
        .await
        .expect("the next attempt's seal");
    assert_eq!(state(app.batch_execute(DELETE).await), "SM001");
}

#[tokio::test]
async fn after_a_failed_attempt_cascades_skip_rows_again() {
    let bench = bench("cascade_released", DDL, ROWS).await;
    bench.guard(&bench.target, CLOSED).await;
    let (ours, app) = (
        bench.ours(&bench.target).await,
        bench.target.session().await,
    );
    let count = begun(&bench, &ours, AttemptNo(1)).await;
    settled(&bench, &ours, count).await.expect("nothing is out");
    assert_eq!(state(app.batch_execute(DELETE).await), "SM002");
    let released = begun(&bench, &ours, AttemptNo(1)).await;
    cascade::allow_skips(&ours, &bench.token, EpochProof::Count(released))
        .await
        .expect("allowed");
    app.batch_execute(DELETE).await.expect("passes");
    assert_eq!(rows(&app, "public.item").await, LEFT);

    // A release that was delayed arrives after the next attempt has begun.
    let begun = begun(&bench, &ours, AttemptNo(2)).await;
    let refused = cascade::refuse_skips(&ours, &bench.token, begun).await;
    assert!(refused.expect("counted") > 0);
    let late = cascade::allow_skips(&ours, &bench.token, EpochProof::Count(released)).await;
    assert!(late.expect_err("refused").is_superseded());
    let again = "delete from public.country where id = 2";
    assert_eq!(state(app.batch_execute(again).await), "SM002");
}

/// Both shards delete the referenced row, one after the other. The keys do not change their owner in between.
#[tokio::test]
async fn keys_do_not_come_back_before_their_owner_has_followed() {
    let mut bench = bench("cascade_back", DDL, ROWS).await;
    bench.token.until = MapVersion(VERSION + 1);
    let ours = give(&bench).await;
    bench.capture(Direction::Reverse).await;
    let (app, owner) = (bench.source.session().await, bench.target.session().await);
    let stream = bench.stream(Direction::Reverse).await;
    let there = bench.ours(&bench.target).await;
    Marker::new(&bench.token, AttemptNo(1), MarkerKind::Opened)
        .emit(&there, &bench.token)
        .await
        .expect("opened");

    let count = begun(&bench, &ours, AttemptNo(2)).await;
    settled(&bench, &ours, count).await.expect("nothing is out");
    let released = EpochProof::Count(begun(&bench, &ours, AttemptNo(2)).await);
    cascade::allow_skips(&ours, &bench.token, released)
        .await
        .expect("allowed");
    app.batch_execute(DELETE).await.expect("on the old owner");
    let guarded = GuardedRows {
        keys: &bench.keys,
        tables: &bench.tables,
    };
    let lacks = cascade::find_unfollowed(&ours, &bench.token, guarded).await;
    let lacks = lacks.expect("asked").expect("lacks");
    assert!(
        lacks.contains("public.item") && lacks.contains("item_country_fkey"),
        "{lacks}"
    );
    let count = begun(&bench, &ours, AttemptNo(3)).await;
    let waits = settled(&bench, &ours, count).await;
    assert_eq!(code(waits), "cutover.cascade");

    owner.batch_execute(DELETE).await.expect("on the owner");
    bench.drain(&stream).await.expect("followed");
    let lacks = cascade::find_unfollowed(&ours, &bench.token, guarded).await;
    assert_eq!(lacks.expect("asked"), None);
    settled(&bench, &ours, count).await.expect("followed");
    let counted = cascade::refuse_skips(&ours, &bench.token, count).await;
    assert_eq!(counted.expect("asked"), 0, "what was settled is forgotten");
    assert_eq!(bench.assert_equal().await, 3);
    stream.stop().await;
}

#[tokio::test]
async fn an_attempt_waits_for_who_leaves_rows_out_and_gives_up_for_now() {
    let (bench, mut app) = gave("cascade_races").await;
    let ours = bench.ours(&bench.source).await;
    let deleting = app.transaction().await.expect("begun");
    deleting.batch_execute(DELETE).await.expect("skipped");
    let count = begun(&bench, &ours, AttemptNo(2)).await;
    assert_eq!(
        code(settled(&bench, &ours, count).await),
        "cutover.cascade",
        "it has not ended"
    );
    let (second, observer) = (
        bench.ours(&bench.source).await,
        bench.source.session().await,
    );
    let waiting = pid(&second).await;
    let counted = cascade::refuse_skips(&second, &bench.token, count);
    let ends = async {
        until_blocked(&observer, waiting).await;
        deleting.commit().await.expect("committed");
    };
    let (counted, ()) = tokio::join!(counted, ends);
    assert!(counted.expect("waited") > 0);
    assert_eq!(code(settled(&bench, &ours, count).await), "cutover.cascade");
}

#[tokio::test]
async fn nothing_is_left_of_what_lets_cascades_skip_rows() {
    let (bench, _app) = gave("cascade_dropped").await;
    let ours = bench.ours(&bench.source).await;
    guard::drop_all(&ours, &bench.token).await.expect("dropped");
    let left = "select count(*) from (
        select proname::text from pg_proc where pronamespace = 'shardwright'::regnamespace
        union all select relname from pg_class where relnamespace = 'shardwright'::regnamespace and relkind = 'S' and relname ~ $1
        union all select tgname from pg_trigger where not tgisinternal) left_over";
    let id = format!("{}$", bench.token.migration);
    let row = ours.query_one(left, &[&id]).await.expect("counted");
    assert_eq!(row.get::<_, i64>(0), 0);
}

/// An agent of the previous version created the guard.
#[tokio::test]
async fn an_older_guard_refuses_as_it_did() {
    let (bench, app) = gave("cascade_older").await;
    let (ours, id) = (bench.ours(&bench.source).await, &bench.token.migration);
    ours.batch_execute(&format!(
        "drop function shardwright.{} cascade; drop sequence shardwright.{}, shardwright.{}",
        id.cascade_function(),
        id.skips(),
        id.skipped()
    ))
    .await
    .expect("never there");
    assert_eq!(state(app.batch_execute(DELETE).await), "SM001");
    let count = begun(&bench, &ours, AttemptNo(2)).await;
    settled(&bench, &ours, count).await.expect("nothing is out");
    cascade::allow_skips(&ours, &bench.token, EpochProof::Count(count))
        .await
        .expect("nothing to allow");
    guard::check(&ours, id, &bench.tables)
        .await
        .expect("it stands");
}
