//! Dirty keys, which changed after the verification: they are compared again, in pages. The tests also show what this
//! cannot find.

use std::sync::atomic::Ordering;

use plans::names::Direction;
use plans::step::StepKind;

use super::case::VerifyCase;
use crate::compare;
use crate::migration::context::StepContext;
use crate::protocol_tests::bench::{ITEM, code};
use crate::steps::{ComparisonSessions, StreamShards, compare_and_delete_equal, count_differences};

const FILL: &str = "insert into public.item select 100 + g % 10, g, 'v' from pg_catalog.generate_series(1, 9000) g";

/// Returns how many dirty keys differ, and how many were compared, while no row changes.
async fn different(case: &VerifyCase) -> (usize, usize) {
    judge(case, &case.context, Direction::Forward).await
}

pub(super) async fn judge(
    case: &VerifyCase,
    context: &StepContext,
    direction: Direction,
) -> (usize, usize) {
    let sides = StreamShards::of(context, direction).expect("two sides");
    let (origin, copy) = match direction {
        Direction::Forward => (&case.source, &case.target),
        Direction::Reverse => (&case.target, &case.source),
    };
    let log = copy;
    let both = ComparisonSessions {
        upstream: origin,
        downstream: copy,
        log,
    };
    count_differences(context, &sides, &both)
        .await
        .expect("compared")
}

/// Returns the number of dirty keys after one sweep.
async fn left(case: &VerifyCase) -> usize {
    let sides = StreamShards::of(&case.context, Direction::Forward).expect("two sides");
    let both = ComparisonSessions {
        upstream: &case.source,
        downstream: &case.target,
        log: &case.target,
    };
    let (left, _) = compare_and_delete_equal(&case.context, &sides, &both)
        .await
        .expect("compared");
    left
}

#[tokio::test]
async fn a_change_behind_the_verification_is_compared_again_and_one_elsewhere_is_not() {
    let case = VerifyCase::new("v_after", ITEM, FILL, FILL).await;
    case.verify(1).await.expect("equal");
    assert_eq!(case.dirty().await, 0);
    let write = "update public.item set v = 'w' where id in (10, 20)";
    case.source.batch_execute(write).await.expect("written");
    case.drain().await;
    assert_eq!(different(&case).await, (0, 2));
    // A difference in a row whose key is dirty is found. In another row, only the next verification finds it.
    let plant = |id: i64| format!("update public.item set v = 'x' where id = {id}");
    case.target
        .batch_execute(&plant(10))
        .await
        .expect("planted");
    case.target
        .batch_execute(&plant(30))
        .await
        .expect("planted");
    assert_eq!(different(&case).await, (1, 2));
    assert_eq!(left(&case).await, 1, "a real difference stays dirty");
    assert_eq!(code(case.verify(2).await), "verify.different");
    assert_eq!(case.named().await.len(), 2);
}

#[tokio::test]
async fn many_dirty_keys_are_swept_in_pages() {
    let case = VerifyCase::new("v_pages", ITEM, FILL, FILL).await;
    case.verify(1).await.expect("equal");
    let write = "update public.item set v = 'w'; delete from public.item where id > 8990";
    case.source.batch_execute(write).await.expect("written");
    case.drain().await;
    assert_eq!(case.dirty().await, 9000);
    // A row that was deleted had been updated before, so its key can be on two pages.
    let (differ, compared) = different(&case).await;
    assert!(
        differ == 0 && (9000..=9010).contains(&compared),
        "{differ} {compared}"
    );
    let plant = "update public.item set v = 'x' where id = 4711";
    case.target.batch_execute(plant).await.expect("planted");
    assert_eq!(left(&case).await, 1);
    assert_eq!(case.dirty().await, 1);
}

#[tokio::test]
async fn a_change_that_comes_after_its_page_was_read_keeps_its_key_dirty() {
    let case = VerifyCase::new("v_log", ITEM, FILL, FILL).await;
    case.verify(1).await.expect("equal");
    let change = async |v: &str| {
        let write = format!("update public.item set v = '{v}' where id in (10, 20)");
        case.source.batch_execute(&write).await.expect("written");
        case.drain().await;
    };
    change("w").await;
    let sides = StreamShards::of(&case.context, Direction::Forward).expect("two sides");
    let (token, client) = (&sides.token, &case.target);
    let side = client;
    let tables = compare::dirty_relations(client, token).await;
    let [(relation, last)] = &tables.expect("read")[..] else {
        panic!("one table")
    };
    let page = compare::dirty_page(side, token, relation, 0, *last, 100);
    let page = page.await.expect("read");
    assert_eq!((page.keys.len(), page.may_have_more), (2, false));

    change("x").await;
    let entries: Vec<_> = page
        .entries
        .iter()
        .map(|entry| (relation.clone(), *entry))
        .collect();
    let stays = [(
        relation.clone(),
        page.keys.iter().next().expect("a key").clone(),
    )];
    client.batch_execute("begin").await.expect("begun");
    compare::delete_dirty_entries(side, token, &entries, &stays, page.lsn)
        .await
        .expect("forgotten");
    client.batch_execute("commit").await.expect("forgotten");
    assert_eq!(case.dirty().await, 2, "of the second change");
    let read = "select size, keys from shardwright.dirty order by id desc limit 1";
    let row = client.query_one(read, &[]).await.expect("read");
    let left: (i64, Vec<String>) = (row.get(0), row.get(1));
    assert_eq!(
        left,
        (1, vec![stays[0].1.clone()]),
        "what stays is an entry"
    );
}

#[tokio::test]
async fn an_assignment_that_waits_keeps_few_keys_dirty() {
    let case = VerifyCase::new("v_sweep", ITEM, FILL, FILL).await;
    case.verify(1).await.expect("equal");
    let mut context = case.dispatched(1, false);
    let dispatch = std::sync::Arc::make_mut(&mut context.dispatch);
    dispatch.step = Some((StepKind::OpenReverse.name().into(), StepKind::OpenReverse));
    dispatch.stream = Some(Direction::Forward);
    let write = "update public.item set v = 'w' where id <= 100";
    case.source.batch_execute(write).await.expect("written");
    case.drain().await;
    context.session.taken_over.store(true, Ordering::Release);
    let cancel = context.cancel.clone();
    let sweeping = tokio::spawn(async move { crate::steps::sweep_dirty_keys(&context).await });
    crate::protocol_tests::shard::until("nothing is dirty", || async { case.dirty().await == 0 })
        .await;
    cancel.cancel();
    sweeping.await.expect("it ends when it is told to");
}
