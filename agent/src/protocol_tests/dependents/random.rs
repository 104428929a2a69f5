//! Random transactions, and streams that are killed at any moment.

use std::sync::atomic::{AtomicBool, Ordering};

use connect::Connected;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{FORWARD, bench, other_rows};

/// Returns a statement that changes few rows. Orders of moving keys have identities below 100, others from 1000 on, which
/// the target has too. A row that gets a parent of another key has an identity from 2000 on.
fn statement(random: &mut StdRng) -> String {
    let moving = random.random_bool(0.5);
    let base = if moving { 0 } else { 1000 };
    let tenant = if moving {
        100 + random.random_range(0..3)
    } else {
        1
    };
    let (order, line) = (
        base + random.random_range(0..30),
        base + random.random_range(0..60),
    );
    let (free, other) = (
        2000 + random.random_range(0..60),
        1030 + random.random_range(0..30),
    );
    match random.random_range(0..15) {
        0 | 1 => format!(
            "insert into public.orders values ({tenant}, {order}, 'n') on conflict do nothing"
        ),
        2 => format!(
            "insert into public.line select g, {order}, 'n' from generate_series({line}, {line} + 5) g on conflict do nothing"
        ),
        3 => format!(
            "insert into public.tag values ({line}, {line}, 'n'), ({line} + 1, null, 'n') on conflict do nothing"
        ),
        4 => format!(
            "update public.line set v = v || 'u' where order_id = {order}; update public.tag set v = v || 'u' where line_id = {line}"
        ),
        5 => format!("delete from public.orders where id = {order}"),
        6 => format!(
            "delete from public.line where id = {line}; delete from public.tag where id = {line} + 1"
        ),
        7 => format!(
            "insert into public.line values ({free}, {order}, 'f') on conflict (id) do update set order_id = {order}, v = 'moved'"
        ),
        8 => format!(
            "update public.line set order_id = null where id = {free}; update public.tag set line_id = {free} where id = {free}"
        ),
        9 => format!(
            "insert into public.tag values ({free}, {line}, 'f') on conflict (id) do update set line_id = {line}"
        ),
        10 => format!(
            "update public.line set id = id + 10000 where id = {free}; delete from public.line where id > 10000 and id < 10030"
        ),
        11 => format!(
            "set constraints all deferred; delete from public.orders where id = {other}; \
            insert into public.line values ({free} + 500, {order}, 'd') on conflict do nothing; \
            insert into public.orders values ({tenant}, {order}, 'd') on conflict do nothing"
        ),
        _ => format!(
            "update public.orders set id = id + 500 where id = {order} and id < 100; update public.orders set v = v || 'o' where id = {order} + 500"
        ),
    }
}

pub(super) async fn write(session: &Connected, seed: u64, stop: &AtomicBool) {
    let mut random = StdRng::seed_from_u64(seed);
    while !stop.load(Ordering::SeqCst) {
        let statements: Vec<String> = (0..random.random_range(1..5))
            .map(|_| statement(&mut random))
            .collect();
        let end = if random.random_bool(0.1) {
            "rollback"
        } else {
            "commit"
        };
        let turn = format!("begin; {}; {end}", statements.join("; "));
        // Foreign keys refuse some of the rows, and sessions can deadlock.
        if session.batch_execute(&turn).await.is_err() {
            session
                .batch_execute("rollback")
                .await
                .expect("rolled back");
        }
    }
}

async fn equal_after(name: &str, seed: u64) {
    let bench = bench(name).await;
    let own = other_rows(&bench, &bench.ours(&bench.target).await).await;
    bench.capture(FORWARD).await;
    let stop = AtomicBool::new(false);
    let (one, two) = (bench.source.session().await, bench.source.session().await);
    let writing = async { tokio::join!(write(&one, seed, &stop), write(&two, seed + 1, &stop)) };
    let killing = async {
        let mut random = StdRng::seed_from_u64(seed + 2);
        for _ in 0..8 {
            let stream = bench.stream(FORWARD).await;
            let mut seen = stream.subscribe();
            for _ in 0..random.random_range(1..12) {
                seen.changed().await.expect("it works");
            }
            drop(stream);
        }
        stop.store(true, Ordering::SeqCst);
    };
    tokio::join!(writing, killing);
    let stream = bench.stream(FORWARD).await;
    bench.drain(&stream).await.expect("drained");
    assert!(bench.assert_equal().await > 0);
    let own_after = other_rows(&bench, &bench.ours(&bench.target).await).await;
    assert_eq!(own, own_after, "the rows of the target itself");
}

#[tokio::test]
async fn a_stream_that_is_killed_at_any_moment_assigns_every_row() {
    equal_after("dep_random", 1).await;
}

#[tokio::test]
#[ignore = "make operations runs it"]
async fn streams_that_are_killed_at_any_moment_assign_every_row() {
    for seed in (11..100).step_by(10) {
        equal_after(&format!("dep_random_{seed}"), seed).await;
    }
}
