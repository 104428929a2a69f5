//! Measures the effect of a migration with a latency limit on an application whose keys do not move.

use super::busy::now;
use super::figures::Samples;
use super::load::{HALF_LOAD, Load, Transaction, add_percentiles, quantile, report_until};
use super::setup::BenchmarkSetup;
use super::shardwright;
use serde_json::Value;
use std::time::Duration;

/// The latency limit (set point), as a multiple of the p99 of the load without a migration. The product is rounded down
/// to 0.1 milliseconds.
const SET_POINT_FACTOR: f64 = 1.1;
/// A transaction is in time if its latency is at most this multiple of the p99 without a migration.
const IN_TIME_FACTOR: f64 = 2.0;
/// A transaction is among the slowest if its latency is more than this multiple of the 99.9th percentile without a
/// migration. It is also the goal for this percentile.
const SLOWEST_FACTOR: f64 = 1.25;
/// The longest duration of the migration, as a multiple of the duration of the load without a migration.
const MAX_DURATION: u32 = 20;

/// Measures one round: the load without a migration, then during a migration of the other half of the tenants. The
/// migration is aborted when it waits for its approval.
pub(crate) fn round(
    setup: &BenchmarkSetup,
    load: &Load<'_>,
    seconds: u32,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    samples.add("impact.rate", load.max_rate * HALF_LOAD);
    let alone = load.run_alone(HALF_LOAD, seconds)?;
    let set_point = (quantile(&alone, 0.99)? / 100.0 * SET_POINT_FACTOR).floor() / 10.0;
    samples.add("impact.set_point_ms", set_point);

    let mut running = load.start(HALF_LOAD, seconds * MAX_DURATION, "beside")?;
    let pid = running.pid();
    let from = now();
    let id = setup.submit(&shardwright::half_request())?;
    setup.shardwright(&["set", "latency", &id, &set_point.to_string()])?;
    let is_waiting = |shown: &Value| shown["state"] == "waiting";
    let running_load = (load, &mut running, "beside");
    if !report_until(setup, running_load, &id, is_waiting, |_| {})? {
        eprintln!("  the load ended before the migration, so this round is not counted");
        samples.add("impact.late_after_s", f64::from(seconds * MAX_DURATION));
        drop(running);
        return shardwright::abort(setup, &id);
    }
    drop(running);
    let shown = setup.show(&id)?;
    shardwright::abort(setup, &id)?;
    let mut beside = load.logged("beside", pid)?;
    beside.retain(|transaction| transaction.at >= from);
    let to = beside.last().map_or(from, |last| last.at);
    samples.add_profile("impact.beside", (from, to));
    let span = Duration::from_micros(u64::try_from(to - from)?).as_secs_f64();
    samples.add("impact.seconds", span);
    let limit = quantile(&alone, 0.99)? * IN_TIME_FACTOR;
    let loss = fraction_slower_than(&beside, limit) - fraction_slower_than(&alone, limit);
    samples.add("impact.goodput_loss", loss);
    add_percentiles("impact", (&alone, &beside), samples)?;
    let slowest = quantile(&alone, 0.999)? * SLOWEST_FACTOR;
    beside.retain(|transaction| transaction.latency > slowest);
    add_slowest_by_step(&shown, &beside, samples)
}

/// Adds the duration of each step, and how many of the slowest transactions ended during it.
fn add_slowest_by_step(
    shown: &Value,
    slowest: &[Transaction],
    samples: &mut Samples,
) -> anyhow::Result<()> {
    samples.add("impact.slowest", slowest.len() as f64);
    for kind in ["copy", "build_indexes", "verify"] {
        let (from, to) = shardwright::span(shown, kind)?;
        let in_step = slowest.iter().filter(|one| (from..to).contains(&one.at));
        let seconds = Duration::from_micros(u64::try_from(to - from)?).as_secs_f64();
        samples.add(&format!("impact.{kind}_seconds"), seconds);
        let count = in_step.count() as f64;
        samples.add(&format!("impact.slowest_in_{kind}"), count);
    }
    Ok(())
}

/// Returns the fraction of the transactions whose latency is more than `limit` microseconds.
fn fraction_slower_than(all: &[Transaction], limit: f64) -> f64 {
    let slower = all.iter().filter(|transaction| transaction.latency > limit);
    slower.count() as f64 / all.len() as f64
}
