//! The load of a shard: the measurement lists a hot tenant first, and leaves no objects on the shard.

use std::collections::BTreeMap;

use plans::fleet::ShardRef;
use plans::id::{MapName, ShardName};
use plans::inspection::{DirectoryTable, DirectoryTask, Inspected, Inspection, Load, LoadTask};
use plans::key::{Key, KeyType};
use plans::key_set::{KeySet, bucket_of};
use plans::request::Measure;
use plans::shard_map::{KeyColumns, Strategy};

use super::shard::{Shard as Database, until};
use crate::inspect;

fn reference(database: &Database) -> ShardRef {
    ShardRef {
        name: ShardName::from("a"),
        number: 1,
        dsn: database.dsn_text(),
        identity: None,
    }
}

fn task(database: &Database, owned: KeySet) -> LoadTask {
    let (strategy, buckets) = match &owned {
        KeySet::Range(_) => (Strategy::Range, 0),
        KeySet::Hash(buckets) => (Strategy::Hash, buckets.of),
        KeySet::List(_) => (Strategy::List, 0),
    };
    LoadTask {
        whole: None,
        map: MapName::from("orders"),
        shard: reference(database),
        strategy,
        buckets,
        key: vec![KeyType::Bigint],
        tables: BTreeMap::from([("good".to_owned(), KeyColumns(vec!["tenant_id".to_owned()]))]),
        owned,
        by: Measure::Rows,
        watch_seconds: 0,
        items: 8,
        hottest: 3,
    }
}

/// Runs an inspection with request and answer encoded in JSON, as between controller and agent.
async fn measured(task: LoadTask) -> Load {
    let asked = serde_json::to_string(&Inspection::Load(task)).expect("written");
    let answer = inspect::run(
        &serde_json::from_str(&asked).expect("read"),
        &std::env::temp_dir(),
    )
    .await;
    let told = serde_json::to_string(&answer.expect("measured")).expect("written");
    let Inspected::Load(load) = serde_json::from_str(&told).expect("read") else {
        panic!("{told}")
    };
    load
}

/// Creates 64 tenants with 10 rows each. Tenant 17 has 500 more.
async fn skewed(name: &str) -> Database {
    let database = Database::new(name).await;
    let session = database.session().await;
    session
        .batch_execute(
            "create table public.good (tenant_id bigint, id bigint, pad text, primary key (tenant_id, id));
             insert into public.good select t, i, repeat('x', 50) from generate_series(0, 63) t, generate_series(1, 10) i;
             insert into public.good select 17, 10 + i, repeat('x', 50) from generate_series(1, 500) i",
        )
        .await
        .expect("filled");
    database
}

#[tokio::test]
async fn rows_are_counted_by_bucket_by_key_and_by_range() {
    let database = skewed("load_rows").await;
    let all = |load: &Load| load.items.iter().map(|item| item.rows).sum::<u64>();
    let hash = measured(task(&database, KeySet::buckets(64, 0, 64))).await;
    assert_eq!(
        (hash.items.len(), all(&hash), hash.sampled),
        (64, 1140, false)
    );
    let bucket = usize::try_from(bucket_of(&Key::Int(17), 64)).unwrap();
    assert!(hash.items[bucket].rows >= 510 && hash.items[bucket].bytes > 510 * 50);
    assert_eq!(hash.hottest[0].key, Key::Int(17));
    assert_eq!(hash.hottest[0].rows, 510);
    let list = measured(task(
        &database,
        KeySet::list([Key::Int(17), Key::Int(3), Key::Int(900)]),
    ))
    .await;
    let rows: Vec<u64> = list.items.iter().map(|item| item.rows).collect();
    assert_eq!(rows, [10, 510, 0]);
    let owned = KeySet::range(Some(Key::Int(0)), Some(Key::Int(40)));
    let range = measured(task(&database, owned.clone())).await;
    assert_eq!(all(&range), 900);
    let tiled = range
        .items
        .iter()
        .fold(owned.empty_set(), |all, item| all.union(&item.keys));
    assert_eq!(tiled, owned);
    let alone = KeySet::range(Some(Key::Int(17)), Some(Key::Int(18)));
    assert!(
        range.items.iter().any(|item| item.keys == alone),
        "{:?}",
        range.items
    );
}

#[tokio::test]
async fn big_tables_are_sampled_and_the_estimates_are_close() {
    let database = Database::new("load_sample").await;
    let session = database.session().await;
    session
        .batch_execute(
            "create table public.good (tenant_id bigint, id bigint, pad text, primary key (tenant_id, id));
             alter table public.good alter pad set storage plain;
             insert into public.good select case when i % 4 = 0 then 77 else i % 1000 end, i, repeat('x', 1900) from generate_series(1, 36000) i",
        )
        .await
        .expect("filled");
    let load = measured(task(&database, KeySet::buckets(16, 0, 16))).await;
    let rows: u64 = load.items.iter().map(|item| item.rows).sum();
    assert!(load.sampled);
    assert!((28_800..43_200).contains(&rows), "{rows}");
    assert_eq!(load.hottest[0].key, Key::Int(77));
}

#[tokio::test]
async fn writes_are_counted_by_key_and_nothing_stays_behind() {
    let database = skewed("load_writes").await;
    let session = database.session().await;
    session
        .batch_execute(
            "create table public.bare (tenant_id bigint not null);
             create publication shardwright_load_left for table public.good",
        )
        .await
        .expect("made");
    let mut task = task(&database, KeySet::buckets(64, 0, 64));
    let key = KeyColumns(vec!["tenant_id".to_owned()]);
    task.tables.insert("bare".to_owned(), key);
    (task.watch_seconds, task.by) = (3, Measure::Writes);
    let watching = tokio::spawn(measured(task));
    until("the slot reads", || async {
        let sql = "select 1 from pg_catalog.pg_replication_slots where slot_name like 'shardwright_load_%' and confirmed_flush_lsn is not null";
        !session.query(sql, &[]).await.expect("asked").is_empty()
    })
    .await;
    session
        .batch_execute(
            "update public.good set pad = 'y' where tenant_id = 5;
             insert into public.good select 42, 1000 + i, 'z' from generate_series(1, 90) i;
             delete from public.good where tenant_id = 42 and id > 1080;
             insert into public.bare values (1); update public.bare set tenant_id = 2",
        )
        .await
        .expect("written");
    let load = watching.await.expect("measured");
    let hottest: Vec<(Key, u64)> = load
        .hottest
        .iter()
        .map(|k| (k.key.clone(), k.writes))
        .collect();
    assert_eq!(hottest, [(Key::Int(42), 100), (Key::Int(5), 10)]);
    assert_eq!(load.items.iter().map(|item| item.writes).sum::<u64>(), 110);
    assert!(load.watched_ms >= 3000);
    assert!(
        load.findings[0].object.contains("table public.bare"),
        "{:?}",
        load.findings
    );
    let left = "select pubname::text from pg_catalog.pg_publication union all
                select slot_name::text from pg_catalog.pg_replication_slots where database = current_database()";
    assert!(session.query(left, &[]).await.expect("asked").is_empty());
}

#[tokio::test]
async fn the_operators_query_gives_weights() {
    let database = skewed("load_query").await;
    let mut task = task(&database, KeySet::buckets(64, 0, 64));
    task.by = Measure::Query(
        "select tenant_id, count(*) * 3 from public.good where tenant_id < 10 group by 1;"
            .to_owned(),
    );
    let load = measured(task.clone()).await;
    assert_eq!(load.items.iter().map(|item| item.weight).sum::<u64>(), 300);
    task.by = Measure::Query("delete from public.good returning tenant_id, 1".to_owned());
    assert!(
        inspect::run(&Inspection::Load(task), &std::env::temp_dir())
            .await
            .is_err()
    );
}

fn directory(database: &Database, table: &str, keys: &[&str]) -> Inspection {
    Inspection::Directory(DirectoryTask {
        shard: reference(database),
        table: DirectoryTable {
            schema: "public".to_owned(),
            table: table.to_owned(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            shard: "home".to_owned(),
        },
        timeout_ms: 5_000,
    })
}

#[tokio::test]
async fn a_directory_is_read_by_its_names_and_nothing_else_is_executed() {
    let database = Database::new("load_directory").await;
    let session = database.session().await;
    let made = session.batch_execute(
        "create table public.\"d; drop table public.users --\" (tenant int, \"x'\"\"y\" uuid, home text);
         insert into public.\"d; drop table public.users --\" values (3, null, 'shard_1');
         create table public.users (tenant int, home text);
         insert into public.users values (1, 'SSN-TOPSECRET-123');
         create function public.spy(int) returns text language plpgsql as
           $$begin perform pg_catalog.pg_create_logical_replication_slot('stolen', 'pgoutput'); return 'x'; end$$;
         create view public.v as select public.spy(1) as tenant, 'a' as home;
         create type public.t as (a int);
         create function public.told(public.t) returns text language plpgsql as
           $$begin raise 'executed'; end$$;
         create cast (public.t as text) with function public.told(public.t);
         create table public.typed (tenant public.t, home text);
         insert into public.typed values (row(1), 'a')",
    );
    made.await.expect("made");
    let read = |table: &str, keys: &[&str]| {
        let asked = directory(&database, table, keys);
        async move { inspect::run(&asked, &std::env::temp_dir()).await }
    };
    let odd = read("d; drop table public.users --", &["tenant", "x'\"y"]).await;
    let Ok(Inspected::Directory(odd)) = odd else {
        panic!("{odd:?}")
    };
    assert_eq!(odd.columns, ["tenant", "x'\"y", "home"]);
    assert_eq!(
        odd.rows,
        [[Some("3".to_owned()), None, Some("shard_1".to_owned())]]
    );
    let Ok(Inspected::Directory(typed)) = read("typed", &["tenant"]).await else {
        panic!("the type's own output is read")
    };
    assert_eq!(typed.rows[0][0].as_deref(), Some("(1)"));
    for (table, keys, code) in [
        ("v", "tenant", "directory.kind"),
        ("users limit 1", "tenant", "directory.missing"),
        ("users", "(select tenant)", "sql.42703"),
    ] {
        let refused = read(table, &[keys]).await.expect_err(table);
        assert_eq!(refused.code, code, "{refused:?}");
    }
    let slots = "select count(*) from pg_catalog.pg_replication_slots where slot_name = 'stolen'";
    let row = session.query_one(slots, &[]).await.expect("a count");
    assert_eq!(row.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn a_directory_that_is_too_large_is_refused_before_it_is_read() {
    let database = Database::new("load_large_directory").await;
    let session = database.session().await;
    let made = session.batch_execute(
        "create table public.wide (tenant text, home text);
         insert into public.wide values (repeat('x', 1000000), 'a');
         create table public.long (tenant text, home text);
         insert into public.long select repeat('x', 8000), 'a' from generate_series(1, 3000)",
    );
    made.await.expect("made");
    for (table, code) in [("wide", "directory.value"), ("long", "directory.rows")] {
        let asked = directory(&database, table, &["tenant"]);
        let refused = inspect::run(&asked, &std::env::temp_dir()).await;
        assert_eq!(refused.expect_err(table).code, code);
    }
}
