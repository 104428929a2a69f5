//! Released keys: a shard refuses writes to keys that it no longer owns. If they return, a guard exists for them at all
//! times (R12).

use connect::Connected;
use plans::id::{AttemptNo, Epoch, MapName, MapVersion, MigrationId};
use plans::key::Key;
use plans::key_set::KeySet;

use super::bench::{Bench, ITEM, pid, state};
use super::shard::until;
use crate::shard::epoch::{self, EpochToken};
use crate::shard::guard::GuardedRows;
use crate::shard::register::Register;
use crate::shard::released_keys::ReleasedKeys;
use crate::shard::{conflicting_migrations, guard, register};

const CLOSED: i64 = i64::MAX;

fn keys(from: i64, to: i64) -> KeySet {
    KeySet::range(Some(Key::Int(from)), Some(Key::Int(to)))
}

async fn insert(session: &Connected, tenant: i64, id: i64) -> Result<u64, tokio_postgres::Error> {
    let sql = format!("insert into public.item values ({tenant}, {id}, 'x')");
    session.execute(&sql, &[]).await
}

/// Creates a shard whose move has ended: the keys [100, 200) are released keys.
async fn given(name: &str) -> (Bench, Connected) {
    let bench = Bench::new(name, ITEM).await;
    bench.guard(&bench.source, CLOSED).await;
    let ours = bench.ours(&bench.source).await;
    away(&bench, &bench.token, &bench.keys, &MapName::from("m"))
        .release(&ours, MapVersion(8))
        .await
        .expect("given");
    (bench, ours)
}

fn away<'a>(
    bench: &'a Bench,
    token: &'a EpochToken,
    keys: &'a KeySet,
    map: &'a MapName,
) -> ReleasedKeys<'a> {
    ReleasedKeys {
        token,
        map,
        keys,
        tables: &bench.tables,
        shard: "s",
    }
}

/// Creates another move that returns keys to the shard. Its guard is closed.
async fn coming(bench: &Bench, ours: &Connected, keys: &KeySet) -> EpochToken {
    let token = EpochToken {
        migration: MigrationId(format!("{}back", bench.token.migration)),
        epoch: Epoch(1),
        until: MapVersion(9),
    };
    epoch::enrol(ours, &token, "target", "m")
        .await
        .expect("enrolled");
    let (id, map) = (&token.migration, MapName::from("m"));
    guard::create_register(ours, id, Register::from_value(CLOSED))
        .await
        .expect("a register");
    let guarded = GuardedRows {
        keys,
        tables: &bench.tables,
    };
    guard::create(ours, &token, &map, guarded)
        .await
        .expect("put");
    token
}

#[tokio::test]
async fn a_finished_move_hands_its_keys_to_one_guard_that_stays() {
    let (bench, ours) = given("given").await;
    let app = bench.source.session().await;
    assert_eq!(state(insert(&app, 150, 1).await), "SM001");
    insert(&app, 250, 1).await.expect("other keys pass");
    let id = &bench.token.migration;
    assert!(
        guard::read_triggers(&ours, id)
            .await
            .expect("read")
            .is_empty()
    );
    let second = keys(200, 300);
    let token = coming(&bench, &ours, &second).await;
    away(&bench, &token, &second, &MapName::from("m"))
        .release(&ours, MapVersion(9))
        .await
        .expect("given");
    let row = ours
        .query_one(
            "select count(*) from pg_trigger where tgname like 'shardwright_guard%'",
            &[],
        )
        .await
        .expect("counted");
    assert_eq!(row.get::<_, i64>(0), 3, "one guard holds both sets");
    let error = insert(&app, 250, 2).await.expect_err("refused");
    let detail = error
        .as_db_error()
        .and_then(|db| db.detail())
        .unwrap_or_default()
        .to_owned();
    assert_eq!(detail, "map=m version>=9");
}

#[tokio::test]
async fn who_has_read_a_table_can_write_to_it_while_its_guard_is_handed_over() {
    let bench = Bench::new("handover", ITEM).await;
    bench.guard(&bench.source, CLOSED).await;
    let ours = bench.ours(&bench.source).await;
    let (app, observer) = (bench.source.session().await, bench.source.session().await);
    let read = "begin; select count(*) from public.item";
    app.batch_execute(read).await.expect("read");
    let (us, map) = (pid(&ours).await, MapName::from("m"));
    let away = away(&bench, &bench.token, &bench.keys, &map);
    let going_on = async {
        until("the handover waits for the reader", || async {
            let waits = "select exists (select from pg_locks where pid = $1 and not granted)";
            let row = observer.query_one(waits, &[&us]).await;
            row.expect("read").get(0)
        })
        .await;
        insert(&app, 250, 1).await.expect("no deadlock");
        app.batch_execute("commit").await.expect("committed");
    };
    let (given, ()) = tokio::join!(away.release(&ours, MapVersion(8)), going_on);
    given.expect("given");
}

#[tokio::test]
async fn keys_that_come_back_are_refused_until_their_register_is_open() {
    let (bench, ours) = given("comeback").await;
    let (app, back, map) = (
        bench.source.session().await,
        keys(120, 160),
        MapName::from("m"),
    );
    let token = coming(&bench, &ours, &back).await;
    away(&bench, &token, &back, &map)
        .reclaim(&ours)
        .await
        .expect("taken");
    assert_eq!(
        state(insert(&app, 150, 1).await),
        "SM002",
        "its own guard refuses it"
    );
    assert_eq!(
        state(insert(&app, 110, 1).await),
        "SM001",
        "what stays away is refused"
    );
    register::begin_and_set(&ours, &token, AttemptNo(1), register::RegisterSetting::Open)
        .await
        .expect("opened");
    insert(&app, 150, 1).await.expect("open");
    assert_eq!(state(insert(&app, 170, 1).await), "SM001");
}

#[tokio::test]
async fn keys_that_do_not_come_after_all_are_refused_as_before() {
    let (bench, ours) = given("notafterall").await;
    let (app, back, map) = (
        bench.source.session().await,
        keys(50, 160),
        MapName::from("m"),
    );
    let token = coming(&bench, &ours, &back).await;
    let coming = away(&bench, &token, &back, &map);
    coming.reclaim(&ours).await.expect("taken");
    // After an interruption the step runs again; no key may lose its guard.
    coming.reclaim(&ours).await.expect("taken");
    coming.restore(&ours).await.expect("restored");
    guard::drop_all(&ours, &token).await.expect("dropped");
    assert_eq!(state(insert(&app, 150, 1).await), "SM001");
    insert(&app, 60, 1).await.expect("never given away");
}

#[tokio::test]
async fn the_last_keys_that_come_back_leave_nothing_behind() {
    let (bench, ours) = given("allback").await;
    let (back, map) = (keys(0, 1000), MapName::from("m"));
    let token = coming(&bench, &ours, &back).await;
    away(&bench, &token, &back, &map)
        .reclaim(&ours)
        .await
        .expect("taken");
    guard::drop_all(&ours, &token).await.expect("dropped");
    let row = ours
        .query_one(
            "select (select count(*) from shardwright.away), count(*) from pg_trigger where tgname like 'shardwright_guard%'",
            &[],
        )
        .await
        .expect("counted");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (0, 0));
}

#[tokio::test]
async fn where_the_last_migration_took_our_schema_along_there_is_no_other_one() {
    let bench = Bench::new("away_gone", ITEM).await;
    let ours = bench.ours(&bench.target).await;
    let app = bench.target.session().await;
    let drop = "drop schema if exists shardwright cascade";
    app.batch_execute(drop).await.expect("dropped");
    let (map, keys) = (MapName::from("items"), keys(1, 9));
    let found = conflicting_migrations::find_with_same_keys(
        &ours,
        &bench.token.migration,
        &map,
        &keys,
        &[],
    )
    .await;
    assert_eq!(found.expect("none to look at"), None);
}
