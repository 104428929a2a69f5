//! A repair replaces rows of the copy by the owner's rows at an exact position, with a proof of epoch. It writes
//! nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::case::VerifyCase;
use crate::protocol_tests::bench::code;
use crate::steps::{self, StreamShards};

/// Damage of every kind. Two rows exchange their unique codes.
const DAMAGE: &str = "
update public.awkward set txt = 'x', num = 1.0, js = '{}', comp = null, arr = null where id = 7;
update public.awkward set f8 = '-0', pad = 'q', mon = 1::money, iv = '0'::interval where id = 8;
delete from public.awkward where id in (9, 10);
insert into public.awkward (tenant_id, id, code) values (150, 9000, 9000);
update public.awkward set code = -1 where id = 20;
update public.awkward set code = 20 where id = 21;
update public.awkward set code = 21 where id = 20;
update public.awkward set tenant_id = 180 where id = 30";

#[tokio::test]
async fn what_differs_is_written_again_and_compared_again() {
    let case = VerifyCase::awkward("v_repair").await;
    case.bench.guard(&case.bench.target, i64::MAX).await;
    // The guard refuses writes of all other sessions, so the damage bypasses it.
    let past = format!("begin; set local shardwright.bypass = 'on'; {DAMAGE}; commit");
    case.target.batch_execute(&past).await.expect("damaged");
    assert_eq!(code(case.verify(1).await), "verify.different");
    let damaged = case.named().await.len();
    assert_eq!(damaged, 9);
    let verified = case.run(2, true).await.expect("repaired");
    assert_eq!((verified.different, verified.repaired), (0, 9));
    case.bench.assert_equal().await;
    let report = case.report(plans::names::Direction::Forward).await;
    assert_eq!((report.different(), report.repaired), (0, 9));
    case.verify(3).await.expect("equal");
}

#[tokio::test]
async fn a_repair_meets_exactly_one_point_while_writes_go_on() {
    let ddl = "create table public.item (tenant_id bigint, id bigint, v text, n bigint, primary key (tenant_id, id))";
    let fill =
        "insert into public.item select 100, g, 'v', 0 from pg_catalog.generate_series(1, 300) g";
    let case = VerifyCase::new("v_repair_live", ddl, fill, fill).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writers = (0..3).map(|lane: i64| {
        let (stop, session) = (stop.clone(), case.bench.source.session());
        async move {
            let session = session.await;
            let mut n = 0;
            while !stop.load(Ordering::SeqCst) {
                n += 1;
                let id = 1 + (n * 7 + lane * 100) % 200;
                let write = "update public.item set n = n + 1 where id = $1";
                session.execute(write, &[&id]).await.expect("written");
            }
        }
    });
    let repairing = async {
        for round in 1..4 {
            // The damaged rows must not be deleted, because a change of a missing row would halt the stream.
            let damage = "update public.item set v = 'x' where id % 3 = 0";
            case.target.batch_execute(damage).await.expect("damaged");
            let verified = case.run(round, true).await.expect("repaired");
            // A change that the stream applies to a damaged row repairs it too.
            assert!((33..=100).contains(&verified.repaired), "{verified:?}");
        }
        stop.store(true, Ordering::SeqCst);
    };
    tokio::join!(futures::future::join_all(writers), repairing);
    case.drain().await;
    assert_eq!(case.bench.assert_equal().await, 300);
}

#[tokio::test]
async fn a_repair_of_an_owner_that_was_replaced_writes_nothing() {
    let case = VerifyCase::awkward("v_repair_stale").await;
    let damage = "update public.awkward set txt = 'x' where id = 7";
    case.target.batch_execute(damage).await.expect("damaged");
    let take = "update shardwright.move set epoch = epoch + 1";
    case.target.batch_execute(take).await.expect("taken over");
    let error = case.run(1, true).await.expect_err("refused");
    assert!(error.is_superseded(), "{error}");
    let read = "select txt from public.awkward where id = 7";
    let row = case.target.query_one(read, &[]).await.expect("read");
    assert_eq!(row.get::<_, String>(0), "x");
}

/// Its rows are newer than the snapshot, so all of them would be missing on the owner.
#[tokio::test]
async fn a_table_that_was_rewritten_since_the_snapshot_is_not_compared() {
    let case = VerifyCase::awkward("v_rewritten").await;
    let shards = StreamShards::of(&case.context, plans::names::Direction::Forward).expect("shards");
    let point = steps::open_offline_point(&case.context, &shards).await;
    let point = point.expect("snapshots");
    let tables = &case.context.dispatch.tables;
    let locked = point.upstream.lock_and_prove_tables(tables).await;
    locked.expect("as the snapshot sees it");
    drop(point);
    let point = steps::open_offline_point(&case.context, &shards).await;
    let point = point.expect("snapshots");
    let rewrite = "alter table public.awkward alter big type text using big || ''";
    case.source.batch_execute(rewrite).await.expect("rewritten");
    let refused = point.upstream.lock_and_prove_tables(tables).await;
    assert_eq!(code(refused), "schema.changed");
    case.verify(1)
        .await
        .expect("a later snapshot sees the rows");
}
