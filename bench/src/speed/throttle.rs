//! An application that tells its latency, and a migration that holds it at a set point while the load steps.

use super::figures::Samples;
use super::ground::Ground;
use super::impact::{Load, Running, Transaction, now, quantile};
use super::ours;
use std::time::Duration;

/// Shares of the most that the source can do, one after the other, again and again until the copy has ended.
const STEPS: [f64; 3] = [0.3, 0.7, 0.3];
/// A copy that is held for longer than this has shown enough.
const MOST_STEPS: usize = 6;
/// The set point, in p99s of the heavier load alone.
const ABOVE_ALONE: f64 = 2.0;
/// The application tells its p99 this often, of as long before.
const REPORTS: Duration = Duration::from_secs(1);
const OF_THE_LAST: u128 = 2_000_000;
/// What is left out behind each step of the load, microseconds.
const SETTLING: u128 = 5_000_000;

/// What was logged during the copy of one step of the load.
struct Step {
    share: f64,
    transactions: Vec<Transaction>,
}

/// A round: the heavier load alone, then a copy under a load that steps.
pub(crate) fn round(
    ground: &Ground,
    load: &Load<'_>,
    seconds: u32,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let alone = load.start(STEPS[1], seconds, "alone")?;
    let pid = alone.pid();
    alone.finish()?;
    let log = load.logged("alone", pid)?;
    let first = log.first().map_or(0, |t| t.at);
    for w in 0..u128::from(seconds) / 2 {
        let of: Vec<_> = log
            .iter()
            .filter(|t| (first + w * 2_000_000..first + (w + 1) * 2_000_000).contains(&t.at))
            .map(|t| Transaction {
                at: t.at,
                latency: t.latency,
            })
            .collect();
        if !of.is_empty() {
            eprintln!(
                "TT alone n {} p50 {:.1} p99 {:.1}",
                of.len(),
                quantile(&of, 0.5)? / 1000.0,
                quantile(&of, 0.99)? / 1000.0
            );
        }
    }
    let alone = quantile(&log, 0.99)?;
    let milliseconds = (alone * ABOVE_ALONE / 1000.0).ceil();
    samples.add("throttle.set_point_ms", milliseconds);
    let set_point = milliseconds * 1000.0;
    let id = ground.submit(&ours::half())?;
    ground.shardwright(&["set", "latency", &id, &milliseconds.to_string()])?;
    let begun = now();
    let steps = steps(ground, load, seconds, &id)?;
    let span = Duration::from_micros(u64::try_from(now() - begun)?);
    samples.add("throttle.copy_seconds", span.as_secs_f64());
    ours::take_back(ground, &id)?;
    for (name, share) in [("low", STEPS[0]), ("high", STEPS[1])] {
        let of_share = steps.iter().filter(|step| step.share == share);
        add(&format!("throttle.{name}"), of_share, set_point, samples);
    }
    add("throttle.whole", steps.iter(), set_point, samples);
    Ok(())
}

/// How far the p99 of some steps together is from the set point.
fn add<'a>(
    name: &str,
    steps: impl Iterator<Item = &'a Step>,
    set_point: f64,
    samples: &mut Samples,
) {
    let mut latencies: Vec<&Transaction> =
        steps.flat_map(|step| step.transactions.iter()).collect();
    if latencies.is_empty() {
        eprintln!("  {name}: the copy ended before the load had settled; give it more rows");
        return;
    }
    latencies.sort_by(|one, other| one.latency.total_cmp(&other.latency));
    let at = latencies.len() * 99 / 100;
    let ratio = latencies[at].latency / set_point;
    samples.add(&format!("{name}_ratio"), ratio);
    samples.add(&format!("{name}_deviation"), (ratio - 1.0).abs());
}

/// Lets the load step until the copy has ended.
fn steps(ground: &Ground, load: &Load<'_>, seconds: u32, id: &str) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for share in STEPS.into_iter().cycle().take(MOST_STEPS) {
        let begun = now();
        let mut running = load.start(share, seconds, "step")?;
        let pid = running.pid();
        let ended = report_until(ground, load, &mut running, id)?;
        let until = now();
        drop(running);
        let mut transactions = load.logged("step", pid)?;
        let counts = |at: u128| (begun + SETTLING..until).contains(&at);
        transactions.retain(|transaction| counts(transaction.at));
        steps.push(Step {
            share,
            transactions,
        });
        if ended {
            return Ok(steps);
        }
    }
    Ok(steps)
}

/// Tells the p99 until the load or the copy is over; whether the copy is.
fn report_until(
    ground: &Ground,
    load: &Load<'_>,
    running: &mut Running,
    id: &str,
) -> anyhow::Result<bool> {
    while !running.is_over()? {
        std::thread::sleep(REPORTS);
        let mut last = load.logged("step", running.pid())?;
        let from = now() - OF_THE_LAST;
        last.retain(|transaction| transaction.at >= from);
        if !last.is_empty() {
            ground.report_latency("bench", quantile(&last, 0.99)? / 1000.0)?;
        }
        let shown = ground.show(id)?;
        let p = |q| quantile(&last, q).unwrap_or(0.0) / 1000.0;
        let st = shown["steps"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|s| s["state"] == "running")
            .cloned()
            .unwrap_or_default();
        eprintln!(
            "TT n {} p50 {:.1} p90 {:.1} p99 {:.1} p999 {:.1} max {:.1} step {} slowed {}",
            last.len(),
            p(0.5),
            p(0.9),
            p(0.99),
            p(0.999),
            p(1.0),
            st["kind"],
            st["progress"]["slowed"]
        );
        if ours::is_copied(&shown) {
            return Ok(true);
        }
    }
    Ok(false)
}
