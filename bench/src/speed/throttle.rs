//! An application that tells its latency, and a migration that holds it at a set point while the load steps.

use super::busy::now;
use super::figures::Samples;
use super::ground::Ground;
use super::load::{Load, OF_THE_LAST, Transaction, quantile, record_until};
use super::ours;
use std::time::Duration;

/// Shares of the most that the source can do, one after the other, again and again until the copy has ended, and how
/// many seconds each lasts: so short that a copy of some ten seconds meets more than one.
const STEPS: [(&str, f64, u32); 3] = [("low", 0.3, 6), ("high", 0.7, 7), ("low", 0.3, 15)];
/// A copy that is held for longer than this has shown enough.
const MOST_STEPS: usize = 6;
/// The set point, in p99s of the heavier load alone.
const ABOVE_ALONE: f64 = 1.3;
/// What is left out behind each step of the load, microseconds.
const SETTLING: u128 = 4_000_000;

/// What was observed during a copy.
#[derive(Default)]
struct ThrottleSamples {
    /// Every transaction.
    transactions: Vec<Transaction>,
    /// What was reported once the load of a step had settled, milliseconds, by the name of the step.
    reported: Vec<(&'static str, f64)>,
    /// Steps that it met.
    steps: u32,
}

/// A round: the heavier load alone, then a copy under a load that steps.
pub(crate) fn round(
    ground: &Ground,
    load: &Load<'_>,
    seconds: u32,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let set_point = (alone(load, seconds, samples)? * ABOVE_ALONE).ceil();
    samples.add("throttle.set_point_ms", set_point);
    let id = ground.submit(&ours::half())?;
    ground.shardwright(&["set", "latency", &id, &set_point.to_string()])?;
    let mut observed = steps(ground, load, &id)?;
    let (from, to) = ours::copied_between(&ground.show(&id)?, now())?;
    observed
        .transactions
        .retain(|done| (from..to).contains(&done.at));
    let span = Duration::from_micros(u64::try_from(to - from)?);
    samples.add("throttle.copy_seconds", span.as_secs_f64());
    samples.add("throttle.steps", f64::from(observed.steps));
    samples.profile("throttle.copy", (from, to));
    ours::take_back(ground, &id)?;
    for name in ["low", "high"] {
        let reported = observed.reported.iter().filter(|(step, _)| *step == name);
        let reported: Vec<f64> = reported.map(|(_, p99)| *p99).collect();
        if reported.is_empty() {
            eprintln!(
                "  throttle.{name}: the copy ended before the load had settled; give it more rows"
            );
        } else {
            add(name, middle(reported), set_point, samples);
        }
    }
    let whole = quantile(&observed.transactions, 0.99)? / 1000.0;
    add("whole", whole, set_point, samples);
    Ok(())
}

/// The p99 of the heavier load alone, milliseconds; also how far those lie apart that would be reported meanwhile.
fn alone(load: &Load<'_>, seconds: u32, samples: &mut Samples) -> anyhow::Result<f64> {
    let all = load.alone(STEPS[1].1, seconds)?;
    let p99 = quantile(&all, 0.99)? / 1000.0;
    let pieces = all.chunk_by(|one, next| one.at / OF_THE_LAST == next.at / OF_THE_LAST);
    let mut reported = Vec::new();
    for piece in pieces {
        reported.push(quantile(piece, 0.99)? / 1000.0);
    }
    reported.sort_by(f64::total_cmp);
    samples.add("throttle.alone_least_ms", reported[0]);
    samples.add("throttle.alone_most_ms", reported[reported.len() - 1]);
    Ok(p99)
}

/// How far a p99 is from the set point.
fn add(name: &str, p99: f64, set_point: f64, samples: &mut Samples) {
    let ratio = p99 / set_point;
    samples.add(&format!("throttle.{name}_ratio"), ratio);
    samples.add(&format!("throttle.{name}_deviation"), (ratio - 1.0).abs());
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lets the load step until the copy has ended.
fn steps(ground: &Ground, load: &Load<'_>, id: &str) -> anyhow::Result<ThrottleSamples> {
    let mut observed = ThrottleSamples::default();
    for (name, share, seconds) in STEPS.into_iter().cycle().take(MOST_STEPS) {
        let begun = now();
        observed.steps += 1;
        let mut running = load.start(share, seconds, "step")?;
        let pid = running.pid();
        let reported = (load, &mut running, "step");
        let ended = record_until(ground, reported, id, ours::is_copied, |p99| {
            if now() > begun + SETTLING {
                observed.reported.push((name, p99));
            }
        })?;
        drop(running);
        observed.transactions.extend(load.logged("step", pid)?);
        if ended {
            break;
        }
    }
    Ok(observed)
}
