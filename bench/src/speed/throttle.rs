//! Measures how well a migration keeps the latency of an application at the configured limit (set point) while the load
//! of the application changes. The application reports its latency to the controller.

use super::busy::now;
use super::figures::Samples;
use super::load::{Load, REPORT_PERIOD, Transaction, quantile, report_until};
use super::setup::BenchmarkSetup;
use super::shardwright;
use std::time::Duration;

/// The phases of the load: the name, the load as a fraction of the source's maximum, and the duration in seconds. They
/// are repeated until the copy has ended. They are so short that a copy of about ten seconds overlaps more than one.
const LOAD_PHASES: [(&str, f64, u32); 3] = [("low", 0.3, 6), ("high", 0.7, 7), ("low", 0.3, 15)];
/// The maximum number of phases that are measured during one copy.
const MAX_PHASES: usize = 6;
/// The latency limit, as a multiple of the p99 of the higher load without a migration.
const SET_POINT_FACTOR: f64 = 1.3;
/// The time after each change of the load whose reports are left out, in microseconds.
const SETTLING_TIME: u128 = 4_000_000;

/// What was observed during a copy.
#[derive(Default)]
struct ThrottleSamples {
    /// Every transaction.
    transactions: Vec<Transaction>,
    /// What was reported after the load of a phase had settled, in milliseconds, with the name of the phase.
    reported: Vec<(&'static str, f64)>,
    /// The number of phases of the load during the copy.
    phases: u32,
}

/// Measures one round: the higher load without a migration, then a copy under a load that changes.
pub(crate) fn round(
    setup: &BenchmarkSetup,
    load: &Load<'_>,
    seconds: u32,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    let set_point = (alone_p99(load, seconds, samples)? * SET_POINT_FACTOR).ceil();
    samples.add("throttle.set_point_ms", set_point);
    let id = setup.submit(&shardwright::half_request())?;
    setup.shardwright(&["set", "latency", &id, &set_point.to_string()])?;
    let mut observed = run_load_phases(setup, load, &id)?;
    let (from, to) = shardwright::copy_span(&setup.show(&id)?, now())?;
    observed
        .transactions
        .retain(|done| (from..to).contains(&done.at));
    let span = Duration::from_micros(u64::try_from(to - from)?);
    samples.add("throttle.copy_seconds", span.as_secs_f64());
    samples.add("throttle.steps", f64::from(observed.phases));
    samples.add_profile("throttle.copy", (from, to));
    shardwright::abort(setup, &id)?;
    for name in ["low", "high"] {
        let reported = observed.reported.iter().filter(|(phase, _)| *phase == name);
        let reported: Vec<f64> = reported.map(|(_, p99)| *p99).collect();
        if reported.is_empty() {
            eprintln!(
                "  throttle.{name}: the copy ended before the load had settled; give it more rows"
            );
        } else {
            add_deviation(name, median(reported), set_point, samples);
        }
    }
    let whole = quantile(&observed.transactions, 0.99)? / 1000.0;
    add_deviation("whole", whole, set_point, samples);
    Ok(())
}

/// Returns the p99 of the higher load without a migration, in milliseconds. Also adds the smallest and the largest p99
/// that the application would report in this time.
fn alone_p99(load: &Load<'_>, seconds: u32, samples: &mut Samples) -> anyhow::Result<f64> {
    let all = load.run_alone(LOAD_PHASES[1].1, seconds)?;
    let p99 = quantile(&all, 0.99)? / 1000.0;
    let pieces = all.chunk_by(|one, next| one.at / REPORT_PERIOD == next.at / REPORT_PERIOD);
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
fn add_deviation(name: &str, p99: f64, set_point: f64, samples: &mut Samples) {
    let ratio = p99 / set_point;
    samples.add(&format!("throttle.{name}_ratio"), ratio);
    samples.add(&format!("throttle.{name}_deviation"), (ratio - 1.0).abs());
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs the phases of the load until the copy has ended, at most [`MAX_PHASES`].
fn run_load_phases(
    setup: &BenchmarkSetup,
    load: &Load<'_>,
    id: &str,
) -> anyhow::Result<ThrottleSamples> {
    let mut observed = ThrottleSamples::default();
    for (name, share, seconds) in LOAD_PHASES.into_iter().cycle().take(MAX_PHASES) {
        let begun = now();
        observed.phases += 1;
        let mut running = load.start(share, seconds, "step")?;
        let pid = running.pid();
        let reported = (load, &mut running, "step");
        let ended = report_until(setup, reported, id, shardwright::is_copied, |p99| {
            if now() > begun + SETTLING_TIME {
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
