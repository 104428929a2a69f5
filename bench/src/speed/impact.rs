//! Measures the effect of a migration with a latency limit on an application whose keys do not move.

use super::busy::now;
use super::figures::Samples;
use super::ground::Ground;
use super::load::{HALF, Load, Transaction, compare, quantile, record_until};
use super::ours;
use serde_json::Value;
use std::time::Duration;

/// The latency limit (set point), as a multiple of the p99 of the load without a migration. The product is rounded down
/// to 0.1 milliseconds.
const SET_POINT: f64 = 1.1;
/// A transaction is in time if its latency is at most this multiple of the p99 without a migration.
const IN_TIME: f64 = 2.0;
/// A transaction is among the slowest if its latency is more than this multiple of the 99.9th percentile without a
/// migration. It is also the goal for this percentile.
const SLOWEST: f64 = 1.25;
/// The longest duration of the migration, as a multiple of the duration of the load without a migration.
const AT_MOST: u32 = 20;

/// Measures one round: the load without a migration, then during a migration of the other half of the tenants. The
/// migration is aborted when it waits for its approval.
pub(crate) fn round(
    ground: &Ground,
    load: &Load<'_>,
    seconds: u32,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    samples.add("impact.rate", load.most * HALF);
    let alone = load.alone(HALF, seconds)?;
    let set_point = (quantile(&alone, 0.99)? / 100.0 * SET_POINT).floor() / 10.0;
    samples.add("impact.set_point_ms", set_point);

    let mut running = load.start(HALF, seconds * AT_MOST, "beside")?;
    let pid = running.pid();
    let from = now();
    let id = ground.submit(&ours::half())?;
    ground.shardwright(&["set", "latency", &id, &set_point.to_string()])?;
    let waits = |shown: &Value| shown["state"] == "waiting";
    let target = (load, &mut running, "beside");
    if !record_until(ground, target, &id, waits, |_| {})? {
        eprintln!("  the migration took longer than the load, and this round does not count");
        samples.add("impact.late_after_s", f64::from(seconds * AT_MOST));
        drop(running);
        return ours::take_back(ground, &id);
    }
    drop(running);
    let shown = ground.show(&id)?;
    ours::take_back(ground, &id)?;
    let mut beside = load.logged("beside", pid)?;
    beside.retain(|transaction| transaction.at >= from);
    let to = beside.last().map_or(from, |last| last.at);
    samples.profile("impact.beside", (from, to));
    let span = Duration::from_micros(u64::try_from(to - from)?).as_secs_f64();
    samples.add("impact.seconds", span);
    let limit = quantile(&alone, 0.99)? * IN_TIME;
    let loss = late(&beside, limit) - late(&alone, limit);
    samples.add("impact.goodput_loss", loss);
    compare("impact", (&alone, &beside), samples)?;
    let slowest = quantile(&alone, 0.999)? * SLOWEST;
    beside.retain(|transaction| transaction.latency > slowest);
    while_each_step(&shown, &beside, samples)
}

/// Adds the duration of each step, and how many of the slowest transactions ended during it.
fn while_each_step(
    shown: &Value,
    slowest: &[Transaction],
    samples: &mut Samples,
) -> anyhow::Result<()> {
    samples.add("impact.slowest", slowest.len() as f64);
    for kind in ["copy", "build_indexes", "verify"] {
        let (from, to) = ours::span(shown, kind)?;
        let meanwhile = slowest.iter().filter(|one| (from..to).contains(&one.at));
        let seconds = Duration::from_micros(u64::try_from(to - from)?).as_secs_f64();
        samples.add(&format!("impact.{kind}_seconds"), seconds);
        let count = meanwhile.count() as f64;
        samples.add(&format!("impact.slowest_in_{kind}"), count);
    }
    Ok(())
}

/// Returns the fraction of the transactions whose latency is more than `limit` microseconds.
fn late(all: &[Transaction], limit: f64) -> f64 {
    let late = all.iter().filter(|transaction| transaction.latency > limit);
    late.count() as f64 / all.len() as f64
}
