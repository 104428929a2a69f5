//! A session that waits to change a table does not block sessions of the agent, because the reading session itself
//! holds the lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use connect::Connected;
use plans::fleet::ShardRef;
use plans::id::{MapName, ShardName};
use plans::inspection::Inspection;
use plans::inspection::check::{CheckSubject, CheckTask};
use plans::key::{Key, KeyType};
use plans::key_set::KeySet;
use plans::shard_map::{KeyColumns, MapSettings};
use plans::step::StepKind;
use plans::table::{MovingTable, TableKey, TableName};
use tokio::time::timeout;

use super::super::bench::{Bench, VERSION, code, pid, until_blocked};
use super::super::ddl;
use super::super::shard::{LIMIT, until};
use crate::inspect;
use crate::shard::user_code::{CodeProver, lock_sql};
use crate::steps::drop_old;

const TABLES: &str = "\
    create table public.one (tenant_id bigint primary key); \
    create table public.two (tenant_id bigint primary key)";
/// Sessions that read the table wait for a lock on its index. Sessions that only lock the table do not.
const HELD: &str = "begin; alter index public.one_pkey set tablespace pg_default";

/// Lets the reader continue after another session has begun to wait for a change of the next table.
async fn change(held: &Connected, role: &str, bench: &Bench) {
    let (watcher, changer) = (bench.source.session().await, bench.source.session().await);
    until("a session of ours waits at the index", || async {
        let read = "select count(*) = 1 from pg_stat_activity
                    where datname = current_database() and application_name like $1 and wait_event_type = 'Lock'";
        let name = format!("shardwright/%/{role}/%");
        watcher.query_one(read, &[&name]).await.expect("read").get(0)
    })
    .await;
    let own = pid(&changer).await;
    let change = changer.batch_execute("alter table public.two add column late int");
    let release = async {
        until_blocked(&watcher, own).await;
        held.batch_execute("commit").await.expect("released");
    };
    let (changed, ()) = tokio::join!(change, release);
    changed.expect("changed");
}

#[tokio::test]
async fn a_removal_goes_on_while_a_session_waits_to_change_a_table() {
    let bench = Bench::new("code_removal", TABLES).await;
    let held = bench.source.session().await;
    let rows = "insert into public.one values (150); insert into public.two values (150)";
    ddl::run(&held, rows).await;
    bench.guard(&bench.source, i64::MAX).await;
    bench.guard(&bench.target, 0).await;
    let told = format!("update shardwright.move set flipped = {}", VERSION + 1);
    ddl::run(&held, &told).await;
    let mut context = ddl::dispatched(&bench, StepKind::DropOld).await;
    Arc::make_mut(&mut context.dispatch).source_keeps_keys = false;
    ddl::run(&held, HELD).await;
    let both = async { tokio::join!(drop_old::run(&context), change(&held, "drop", &bench)) };
    let (dropped, ()) = timeout(LIMIT, both).await.expect("in time");
    assert_eq!(dropped.expect("dropped").rows, 2);
}

#[tokio::test]
async fn a_check_goes_on_while_a_session_waits_to_change_a_table() {
    let bench = Bench::new("code_look", TABLES).await;
    let held = bench.source.session().await;
    let columns = || KeyColumns(vec!["tenant_id".to_owned()]);
    let tables = ["one", "two"].map(|name| (name.to_owned(), columns()));
    let task = CheckTask {
        map: MapName::from("orders"),
        shard: ShardRef {
            name: ShardName::from("a"),
            number: 1,
            dsn: bench.source.dsn_text(),
            identity: None,
        },
        key: vec![KeyType::Bigint],
        settings: MapSettings {
            tables: BTreeMap::from(tables),
            ..MapSettings::default()
        },
        owned: KeySet::range(None, None),
        mapped: KeySet::range(None, None),
        moving_keys: KeySet::list([]),
        has_surplus: false,
        subject: CheckSubject::Present {
            keys: vec![Key::Int(150)],
        },
    };
    ddl::run(&held, HELD).await;
    let (task, folder) = (Inspection::Check(Box::new(task)), std::env::temp_dir());
    let both = async { tokio::join!(inspect::run(&task, &folder), change(&held, "check", &bench)) };
    let (checked, ()) = timeout(LIMIT, both).await.expect("in time");
    checked.expect("checked");
}

#[tokio::test]
async fn the_prover_does_not_wait_for_a_session_that_waits_for_the_lock() {
    let leaves = "create table public.sale (tenant_id bigint primary key) partition by range (tenant_id); \
        create table public.sale_1 partition of public.sale for values from (0) to (1000)";
    let bench = Bench::new("code_leaf", leaves).await;
    let prover = CodeProver::open(&bench.shard(&bench.source, bench.token.epoch))
        .await
        .expect("opened");
    let (reader, changer) = (bench.source.session().await, bench.source.session().await);
    let whole = [MovingTable::bare(
        TableName::parse("public.sale"),
        TableKey::Reference,
    )];
    ddl::run(&reader, &format!("begin; {}", lock_sql(&whole))).await;
    let own = pid(&changer).await;
    let change = changer.batch_execute("alter table public.sale_1 add check (tenant_id > 0)");
    let prove = async {
        until_blocked(&bench.source.session().await, own).await;
        let proved = timeout(LIMIT, prover.prove_locked(&whole))
            .await
            .expect("in time");
        reader.batch_execute("commit").await.expect("ended");
        proved
    };
    let (changed, proved) = tokio::join!(change, prove);
    changed.expect("changed");
    proved.expect("proved");
}

#[tokio::test]
async fn a_prover_on_another_server_proves_nothing() {
    let bench = Bench::each_alone("code_server", TABLES).await;
    let here = bench.shard(&bench.source, bench.token.epoch);
    let prover = CodeProver::open(&here).await.expect("opened");
    let elsewhere = bench.target.session().await;
    let proved = prover.begin(&elsewhere, &bench.tables).await;
    assert_eq!(code(proved), "code.server");
    assert!(prover.must_be_replaced(), "the next step opens another one");
}
