//! Measures how well a migration keeps the latency of an application at the configured limit (set point) while the load
//! of the application changes. The application reports its latency to the controller.

use super::busy::now;
use super::figures::Samples;
use super::ground::Ground;
use super::load::{Load, OF_THE_LAST, Transaction, quantile, record_until};
use super::ours;
use std::time::Duration;

/// The phases of the load: the name, the load as a fraction of the source's maximum, and the duration in seconds. They
/// are repeated until the copy has ended. They are so short that a copy of about ten seconds overlaps more than one.
const STEPS: [(&str, f64, u32); 3] = [("low", 0.3, 6), ("high", 0.7, 7), ("low", 0.3, 15)];
/// The maximum number of phases that are measured during one copy.
const MOST_STEPS: usize = 6;
/// The latency limit, as a multiple of the p99 of the higher load without a migration.
const ABOVE_ALONE: f64 = 1.3;
/// The time after each change of the load whose reports are left out, in microseconds.
const SETTLING: u128 = 4_000_000;

/// What was observed during a copy.
#[derive(Default)]
struct ThrottleSamples {
    /// Every transaction.
    transactions: Vec<Transaction>,
    /// What was reported once the load of a step had settled, milliseconds, by the name of the step.
    reported: Vec<(&'static str, f64)>,
    /// The number of phases of the load during the copy.
    steps: u32,
}

/// Measures one round: the higher load without a migration, then a copy under a load that changes.
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

/// Returns the p99 of the higher load without a migration, in milliseconds. Also adds the smallest and the largest p99
/// that the application would report in this time.
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

/// Adds the quotient of a p99 and the latency limit, and by how much it differs from 1.
fn add(name: &str, p99: f64, set_point: f64, samples: &mut Samples) {
    let ratio = p99 / set_point;
    samples.add(&format!("throttle.{name}_ratio"), ratio);
    samples.add(&format!("throttle.{name}_deviation"), (ratio - 1.0).abs());
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs the phases of the load until the copy has ended, at most [`MOST_STEPS`].
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
