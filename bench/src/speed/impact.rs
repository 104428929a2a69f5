//! What an application on keys that stay feels of a migration that holds its latency.

use super::busy::now;
use super::figures::Samples;
use super::ground::Ground;
use super::load::{HALF, Load, Transaction, compare, quantile, record_until};
use super::ours;
use serde_json::Value;
use std::time::Duration;

/// The set point, in p99s of the load alone, rounded down to a tenth of a millisecond.
const SET_POINT: f64 = 1.1;
/// A transaction is done in time within so many p99s of the load alone.
const IN_TIME: f64 = 2.0;
/// A transaction is among the slowest beyond so many 99.9th percentiles of the load alone, which is what is wanted of that
/// percentile.
const SLOWEST: f64 = 1.25;
/// The migration may take this many times as long as the load alone ran.
const AT_MOST: u32 = 20;

/// A round: the load alone, then beside a migration of the other half up to its approval, which is taken back.
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

/// Adds how long each step took, and how many of the slowest transactions ended meanwhile.
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

/// Share of transactions that took longer than `limit`, microseconds, from when they were due.
fn late(all: &[Transaction], limit: f64) -> f64 {
    let late = all.iter().filter(|transaction| transaction.latency > limit);
    late.count() as f64 / all.len() as f64
}
