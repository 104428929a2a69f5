//! Measures cutovers while writers delay them: writers that change many keys immediately before the cutover, and
//! transactions that stay open for longer than the budget of the write-blocked window.

use super::cutovers::Cutovers;
use super::database::Database;
use super::figures::{Figure, Goal, Report, Samples};
use super::shardwright;
use plans::request::Options as RequestOptions;
use plans::step::cutover::CutoverResult;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The numbers of keys that a transaction changes. The transaction is open when the agent sets the register to fenced,
/// so its keys are compared inside the write-blocked window.
const KEY_COUNTS: [(&str, u64); 2] = [("check.1000", 1000), ("check.4000", 4000)];
/// How long a transaction that changes many keys is open, in seconds. The fence waits for its end.
const SHORT_SECONDS: f64 = 0.5;
/// How long a transaction of a long writer is open, as a multiple of the budget of the write-blocked window.
const LONG_FACTOR: f64 = 1.5;

/// A writer that executes one transaction after the other, on the shard that owns the keys. It ends when it is dropped.
struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts a writer. Each of its transactions changes `keys` accounts whose keys move, and is open for `seconds`.
    fn start(shards: &[Database; 2], keys: u64, seconds: f64) -> Self {
        let transaction = format!(
            "begin; update accounts set email = 'at ' || clock_timestamp() where (tenant_id, id) in
               (select tenant_id, id from accounts where {} order by id limit {keys});
             select pg_sleep({seconds}); commit",
            shardwright::moving_predicate()
        );
        let stop = Arc::new(AtomicBool::new(false));
        let (shards, is_stopped) = (shards.clone(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let [mut owner, mut other] = shards;
            while !is_stopped.load(Ordering::Relaxed) {
                // A shard that does not own the keys refuses the transaction immediately.
                if owner.run(&[&transaction]).is_err() {
                    std::mem::swap(&mut owner, &mut other);
                }
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Makes `cutovers` cutovers for each kind of writer, and adds their samples and figures to the report.
pub(crate) fn measure(programs: &Path, cutovers: u32, report: &mut Report) -> anyhow::Result<()> {
    let mut series = Cutovers::start(programs)?;
    let samples = &mut report.samples;
    eprintln!("{cutovers} cutovers without writers, and as many with each writer of many keys");
    let (from, quiet) = (
        samples.cpu.take_sample(),
        make_cutovers(&mut series, cutovers)?.0,
    );
    add_samples("check.0", &quiet, samples);
    for (name, keys) in KEY_COUNTS {
        let writer = Writer::start(&series.shards, keys, SHORT_SECONDS);
        let (cuts, _) = make_cutovers(&mut series, cutovers)?;
        drop(writer);
        add_samples(name, &cuts, samples);
        for cost in ms_per_1000_keys(&quiet, &cuts, keys) {
            samples.add(&format!("{name}.ms_per_1000"), cost);
        }
    }
    samples.add_profile("check", (from, samples.cpu.take_sample()));
    eprintln!("{cutovers} cutovers with a long writer");
    let budget = f64::from(RequestOptions::default().write_stop_budget_ms);
    let from = samples.cpu.take_sample();
    let writer = Writer::start(&series.shards, 1, budget / 1000.0 * LONG_FACTOR);
    let (cuts, given_up) = make_cutovers(&mut series, cutovers)?;
    drop(writer);
    samples.add_profile("long_writers", (from, samples.cpu.take_sample()));
    add_samples("long_writers", &cuts, samples);
    samples.add("long_writers.given_up", given_up as f64);
    add_figures(&cuts, budget, report);
    Ok(())
}

/// Makes `cutovers` cutovers. Returns their results, and how many attempts were given up and repeated.
fn make_cutovers(
    series: &mut Cutovers,
    cutovers: u32,
) -> anyhow::Result<(Vec<CutoverResult>, i64)> {
    let before = series.given_up();
    let mut cuts = Vec::new();
    for _ in 0..cutovers {
        cuts.push(series.next()?);
    }
    Ok((cuts, series.given_up() - before))
}

/// Adds the samples of the cutovers under `name`.
fn add_samples(name: &str, cuts: &[CutoverResult], samples: &mut Samples) {
    for cut in cuts {
        samples.add(&format!("{name}.keys"), cut.dirty_keys as f64);
        samples.add(&format!("{name}.check_ms"), cut.write_block.check);
        samples.add(&format!("{name}.total_ms"), cut.write_block.total);
    }
}

/// Returns how many milliseconds each additional thousand keys took, for each cutover whose fence waited for the
/// writer's transaction. Those are the cutovers that compared at least half of its keys.
fn ms_per_1000_keys(quiet: &[CutoverResult], cuts: &[CutoverResult], keys: u64) -> Vec<f64> {
    let median = |part: fn(&CutoverResult) -> f64| {
        let mut values: Vec<f64> = quiet.iter().map(part).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let (quiet_keys, quiet_check) = (
        median(|cut| cut.dirty_keys as f64),
        median(|cut| cut.write_block.check),
    );
    let waited = cuts
        .iter()
        .filter(|cut| cut.dirty_keys as f64 >= keys as f64 / 2.0);
    waited
        .map(|cut| {
            (cut.write_block.check - quiet_check) / (cut.dirty_keys as f64 - quiet_keys) * 1000.0
        })
        .collect()
}

/// Adds the figures. `long` are the cutovers with long writers; `budget` is in milliseconds.
fn add_figures(long: &[CutoverResult], budget: f64, report: &mut Report) {
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
            about: "time to compare a thousand changed keys inside the write-blocked window",
            parts: &["check"],
        },
        Figure {
            key: "window_check.ms_per_1000_of_4000",
            value: samples.median("check.4000.ms_per_1000"),
            goal: Goal::AtMost(1.0),
            about: "the same, per thousand of four thousand keys",
            parts: &["check"],
        },
        Figure {
            key: "window_ms.with_long_writers_max",
            value: longest,
            goal: Goal::AtMost(budget),
            about: "longest write-blocked window if transactions stay open for longer than the budget",
            parts: &["long_writers"],
        },
        Figure {
            key: "window_ms.with_long_writers_given_up",
            value: samples.median("long_writers.given_up"),
            goal: Goal::None,
            about: "attempts of these cutovers that were given up and repeated",
            parts: &["long_writers"],
        },
    ]);
}
