//! Small schemas as they are found where no author of a migration tool looked first, each of them moved whole.
//!
//! A case of `cases/` is either completed, with equal schemas and with each row on the side that owns it, or it is refused
//! by the plan with a remedy after which it is completed. A case that fails in a later step fails this test.
//!
//! `SHARDWRIGHT_HOSTILE=NAME[,NAME...]` runs the cases whose names contain one of these words.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod case;
mod course;
#[allow(dead_code, reason = "the suite of operations uses more of it")]
#[path = "../e2e/operations/fleet.rs"]
mod fleet;
mod rows;
#[allow(dead_code, reason = "the suites that run the demo use more of it")]
#[path = "../e2e/run.rs"]
mod run;
mod schema;

use case::Case;
use cluster::Cluster;
use course::Course;
use fleet::Fleet;
use futures::{FutureExt, StreamExt};
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Cases that run at the same time.
const AT_ONCE: usize = 6;
/// Fewer cases than this are an accident.
const LEAST: usize = 40;
/// Chooses cases by their names.
const CHOSEN: &str = "SHARDWRIGHT_HOSTILE";

/// A server with room for all shards at once.
async fn server() -> Cluster {
    let options = cluster::Options::temporary("hostile")
        .setting("fsync", "off")
        .setting("max_connections", "600")
        .setting("max_wal_senders", "60")
        .setting("max_replication_slots", "60")
        .setting("max_locks_per_transaction", "256");
    let launched = tokio::task::spawn_blocking(move || Cluster::launch(options).unwrap());
    launched.await.unwrap()
}

fn chosen() -> Vec<(String, Case)> {
    let all = case::all();
    let Ok(words) = std::env::var(CHOSEN) else {
        assert!(all.len() >= LEAST, "only {} cases", all.len());
        return all;
    };
    let is_chosen = |name: &str| words.split(',').any(|word| name.contains(word));
    let all = all.into_iter().filter(|(name, _)| is_chosen(name));
    all.collect()
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "panic".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_schema_is_moved_or_refused_with_a_remedy_that_works() {
    let started = Instant::now();
    let fleet = Fleet::unregistered("hostile", &[], vec![server().await]).await;
    fleet
        .register(&|server, shard| server.dsn(shard, "postgres"))
        .await;
    let cases = chosen();
    let runs = cases.iter().map(|(name, case)| {
        let course = Course::new(&fleet, name, case);
        async move {
            let begun = Instant::now();
            let ended = AssertUnwindSafe(course.run()).catch_unwind().await;
            let ended = ended.map_err(|panic| message(&*panic));
            let outcome = ended.as_ref().map_or("FAILED", |()| case.outcome());
            println!(
                "{name}: {outcome} after {:.1} s",
                begun.elapsed().as_secs_f32()
            );
            ended.map_err(|error| format!("{name} ({}): {error}", case.hostile.trim()))
        }
    });
    let ended: Vec<Result<(), String>> = futures::stream::iter(runs)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let failed: Vec<String> = ended.into_iter().filter_map(Result::err).collect();
    println!(
        "{} cases in {:.1} s",
        cases.len(),
        started.elapsed().as_secs_f32()
    );
    assert!(
        failed.is_empty(),
        "{} cases failed:\n\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}
