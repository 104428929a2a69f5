//! Measures the time to plan a rebalance of one million items on 1,000 shards, and how many bytes it moves.
//!
//! The benchmark fails if the rebalance moves too many bytes. It only reports the time, which depends on the machine.
//! The goal is 1 s on one core.

use bench::{bound, fleet};
use criterion::{Criterion, SamplingMode};
use std::hint::black_box;
use std::time::Duration;

/// The maximum number of bytes that may move, in percent of the lower bound.
const MAX_PERCENT: u128 = 105;

fn main() {
    let fleet = fleet::skewed(1_000, 1_000_000);
    let outcome = fleet.rebalance();
    let moved: u128 = outcome
        .moves
        .iter()
        .map(|made| u128::from(made.bytes))
        .sum();
    let least =
        bound::lower_bound_bytes(&fleet.shards, &fleet.items, &fleet.allowed, &outcome.before);
    let count_over_limit = |balances: &[plans::rebalance::ShardBalance]| {
        balances
            .iter()
            .filter(|balance| balance.cost > balance.limit)
            .count()
    };
    println!(
        "{} items on {} shards, {} constraint sets: {} shards over their limit, {} after {} moves in {} waves",
        fleet.items.len(),
        fleet.shards.len(),
        fleet.allowed.len(),
        count_over_limit(&outcome.before),
        count_over_limit(&outcome.after),
        outcome.moves.len(),
        outcome.moves.last().map_or(0, |last| last.wave + 1),
    );
    let ratio = moved * 10_000 / least;
    println!(
        "bytes moved {moved}, lower bound {least}: {}.{:04}",
        ratio / 10_000,
        ratio % 10_000
    );
    assert!(
        moved * 100 <= least * MAX_PERCENT,
        "more than {MAX_PERCENT} % of the lower bound moves"
    );
    assert!(
        outcome.unresolved.is_empty(),
        "{:?}",
        outcome.unresolved.first()
    );

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("rebalance");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(10));
    group.bench_function("1M items, 1k shards", |bencher| {
        bencher.iter(|| black_box(&fleet).rebalance());
    });
    group.finish();
    criterion.final_summary();
}
