//! Small schemas as they are found where no author of a migration tool looked first, each of them moved whole.
//!
//! A case of `cases/` is either completed, with equal schemas and with each row on the side that owns it, or it is refused
//! by the plan with a remedy after which it is completed. A case that fails in a later step fails this test.
//!
//! Every case is planned, and carried out as far as its remedies; one of [`MOVES`] is moved to its end, too.
//! `SHARDWRIGHT_HOSTILE=all` moves all of them, `SHARDWRIGHT_HOSTILE=NAME[,NAME...]` those whose names contain one of these
//! words, and leaves the others.

#![allow(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod case;
#[path = "../doctor/cases.rs"]
mod cases;
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
/// Cases of one fleet: agents look after every shard that is registered, so a large fleet is slower for each of them.
const TOGETHER: usize = 9;
/// Fewer cases than this are an accident.
const LEAST: usize = 40;
/// One case in so many is moved, unless more are chosen.
const MOVES: usize = 6;
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

/// A case, and whether it is moved to its end.
struct Chosen {
    name: String,
    case: Case,
    moves: bool,
}

fn chosen() -> Vec<Chosen> {
    let all = case::all();
    assert!(all.len() >= LEAST, "only {} cases", all.len());
    let words = std::env::var(CHOSEN).ok();
    let every = words.is_some();
    let words = words.as_deref().filter(|words| *words != "all");
    let wanted =
        |name: &str| words.is_none_or(|words| words.split(',').any(|word| name.contains(word)));
    let wanted = all.into_iter().filter(|(name, _)| wanted(name));
    let chosen = wanted.enumerate().map(|(at, (name, case))| Chosen {
        name,
        case,
        moves: every || at % MOVES == 0,
    });
    chosen.collect()
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "panic".to_owned())
}

/// Runs some cases beside each other in a fleet of their own; what failed.
async fn run_together(cases: &[Chosen]) -> Vec<String> {
    let fleet = Fleet::unregistered("hostile", &[], vec![server().await]).await;
    fleet
        .register(&|server, shard| server.dsn(shard, "postgres"))
        .await;
    let runs = cases.iter().map(|Chosen { name, case, moves }| {
        let course = Course::new(&fleet, name, case);
        async move {
            let begun = Instant::now();
            let ended = AssertUnwindSafe(course.run(*moves)).catch_unwind().await;
            let ended = ended.map_err(|panic| message(&*panic));
            let outcome = ended.as_ref().map_or("FAILED", |()| case.outcome(*moves));
            println!(
                "{name}: {outcome} after {:.1} s",
                begun.elapsed().as_secs_f32()
            );
            let hostile = case.hostile.trim();
            ended.map_err(|error| format!("{name} ({hostile}): {error}"))
        }
    });
    let runs = futures::stream::iter(runs).buffer_unordered(AT_ONCE);
    let failed = runs.filter_map(|ended| std::future::ready(ended.err()));
    failed.collect().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_schema_is_moved_or_refused_with_a_remedy_that_works() {
    let started = Instant::now();
    let cases = chosen();
    let mut failed = Vec::new();
    for together in cases.chunks(TOGETHER) {
        failed.extend(run_together(together).await);
    }
    let (all, seconds) = (cases.len(), started.elapsed().as_secs_f32());
    let moved = cases.iter().filter(|chosen| chosen.moves).count();
    println!(
        "{all} cases planned, {moved} of them moved ({CHOSEN}=all moves each), in {seconds:.1} s"
    );
    assert!(
        failed.is_empty(),
        "{} cases failed:\n\n{}",
        failed.len(),
        failed.join("\n\n")
    );
}
