//! Cutovers beside writers that are in their way: of many keys that changed last, and of transactions that stay open
//! for longer than writes may be refused.

use super::cutovers::Cutovers;
use super::figures::{Figure, Goal, Report, Samples};
use super::ours;
use super::place::Place;
use plans::request::Options as Usual;
use plans::step::cutover::CutoverResult;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Keys that a transaction changes which is open when the fence comes, so that they are compared behind it.
const MANY: [(&str, u64); 2] = [("check.1000", 1000), ("check.4000", 4000)];
/// How long a transaction of many keys is open, seconds: the fence waits for it.
const SHORT: f64 = 0.5;
/// How long a long one is open, in budgets of a write stop.
const LONG: f64 = 1.5;

/// A writer that opens one transaction after the other, on the shard that takes it.
struct Writer {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Each transaction changes so many accounts whose keys move, and stays open for so long.
    fn start(shards: &[Place; 2], keys: u64, seconds: f64) -> Self {
        let transaction = format!(
            "begin; update accounts set email = 'at ' || clock_timestamp() where (tenant_id, id) in
               (select tenant_id, id from accounts where {} order by id limit {keys});
             select pg_sleep({seconds}); commit",
            ours::moving()
        );
        let over = Arc::new(AtomicBool::new(false));
        let (shards, is_over) = (shards.clone(), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            let [mut here, mut there] = shards;
            while !is_over.load(Ordering::Relaxed) {
                // A shard that does not have the keys refuses them at once.
                if here.run(&[&transaction]).is_err() {
                    std::mem::swap(&mut here, &mut there);
                }
            }
        });
        Self {
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Makes so many cutovers beside each of the writers, and adds what they say.
pub(crate) fn measure(programs: &Path, cutovers: u32, report: &mut Report) -> anyhow::Result<()> {
    let mut series = Cutovers::start(programs)?;
    let samples = &mut report.samples;
    eprintln!("{cutovers} cutovers without writers, and as many beside each writer of many keys");
    let (from, quiet) = (samples.watch.take_sample(), made(&mut series, cutovers)?.0);
    keep("check.0", &quiet, samples);
    for (name, keys) in MANY {
        let writer = Writer::start(&series.shards, keys, SHORT);
        let (cuts, _) = made(&mut series, cutovers)?;
        drop(writer);
        keep(name, &cuts, samples);
        for cost in costs(&quiet, &cuts, keys) {
            samples.add(&format!("{name}.ms_per_1000"), cost);
        }
    }
    samples.profile("check", (from, samples.watch.take_sample()));
    eprintln!("{cutovers} cutovers beside a long writer");
    let budget = f64::from(Usual::default().write_stop_budget_ms);
    let from = samples.watch.take_sample();
    let writer = Writer::start(&series.shards, 1, budget / 1000.0 * LONG);
    let (cuts, given_up) = made(&mut series, cutovers)?;
    drop(writer);
    samples.profile("long_writers", (from, samples.watch.take_sample()));
    keep("long_writers", &cuts, samples);
    samples.add("long_writers.given_up", given_up as f64);
    judge(&cuts, budget, report);
    Ok(())
}

/// So many cutovers, and how many attempts of them were given up.
fn made(series: &mut Cutovers, cutovers: u32) -> anyhow::Result<(Vec<CutoverResult>, i64)> {
    let before = series.given_up();
    let mut cuts = Vec::new();
    for _ in 0..cutovers {
        cuts.push(series.next()?);
    }
    Ok((cuts, series.given_up() - before))
}

fn keep(name: &str, cuts: &[CutoverResult], samples: &mut Samples) {
    for cut in cuts {
        samples.add(&format!("{name}.keys"), cut.dirty_keys as f64);
        samples.add(&format!("{name}.check_ms"), cut.write_block.check);
        samples.add(&format!("{name}.total_ms"), cut.write_block.total);
    }
}

/// What a thousand keys more took in each cutover whose fence met the writer's transaction, milliseconds.
fn costs(quiet: &[CutoverResult], cuts: &[CutoverResult], keys: u64) -> Vec<f64> {
    let middle = |part: fn(&CutoverResult) -> f64| {
        let mut values: Vec<f64> = quiet.iter().map(part).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let (few, check) = (
        middle(|cut| cut.dirty_keys as f64),
        middle(|cut| cut.write_block.check),
    );
    let met = cuts
        .iter()
        .filter(|cut| cut.dirty_keys as f64 >= keys as f64 / 2.0);
    met.map(|cut| (cut.write_block.check - check) / (cut.dirty_keys as f64 - few) * 1000.0)
        .collect()
}

fn judge(long: &[CutoverResult], budget: f64, report: &mut Report) {
    let longest = long
        .iter()
        .map(|cut| cut.write_block.total)
        .reduce(f64::max);
    let samples = &report.samples;
    report.figures.extend([
        Figure {
            key: "window_check.ms_per_1000",
            value: samples.median("check.1000.ms_per_1000"),
            goal: Goal::AtMost(1.0),
            about: "comparison inside the window of a thousand keys that changed last",
            parts: &["check"],
        },
        Figure {
            key: "window_check.ms_per_1000_of_4000",
            value: samples.median("check.4000.ms_per_1000"),
            goal: Goal::AtMost(1.0),
            about: "the same for each thousand of four",
            parts: &["check"],
        },
        Figure {
            key: "window_ms.with_long_writers_max",
            value: longest,
            goal: Goal::AtMost(budget),
            about: "the longest write stop beside transactions that stay open for longer than the budget",
            parts: &["long_writers"],
        },
        Figure {
            key: "window_ms.with_long_writers_given_up",
            value: samples.median("long_writers.given_up"),
            goal: Goal::Told,
            about: "attempts of these cutovers that were given up after as long, and made again",
            parts: &["long_writers"],
        },
    ]);
}
