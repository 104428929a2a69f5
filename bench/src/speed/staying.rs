//! Measures the latency of an application whose keys do not move, at half of the source's maximum load, during repeated
//! cutovers of other keys.

use super::Options;
use super::busy::now;
use super::cutovers::{Cutovers, ITEMS};
use super::figures::{Figure, Goal, Report, Samples};
use super::load::{HALF_LOAD, Load, add_percentiles};

/// The longest duration of the load in seconds. It ends when the cutovers have ended, which is earlier.
const MAX_SECONDS: u32 = 3600;

/// Measures `options.rounds()` rounds and adds their samples and figures to the report.
pub(crate) fn measure(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    let mut series = Cutovers::start(&options.programs)?;
    let (source, folder) = (series.shards[0].clone(), series.folder().to_owned());
    let load = Load::new(&source, &folder, ITEMS)?;
    let (rounds, work) = (
        options.rounds(),
        (options.load_seconds(), options.cutovers_beside()),
    );
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}: an application on keys that do not move");
        self::round(&mut series, &load, work, &mut report.samples)?;
    }
    add_figures(report);
    Ok(())
}

/// Measures one round: the load without cutovers, then the load during `cutovers` cutovers.
fn round(
    series: &mut Cutovers,
    load: &Load<'_>,
    (seconds, cutovers): (u32, u32),
    samples: &mut Samples,
) -> anyhow::Result<()> {
    samples.add("staying.rate", load.max_rate * HALF_LOAD);
    let alone = load.run_alone(HALF_LOAD, seconds)?;
    let running = load.start(HALF_LOAD, MAX_SECONDS, "beside")?;
    let (pid, from) = (running.pid(), now());
    for _ in 0..cutovers {
        let cut = series.next()?;
        samples.add("staying.write_stop_ms", cut.write_block.total);
    }
    samples.add_profile("staying.beside", (from, now()));
    drop(running);
    let beside = load.logged("beside", pid)?;
    add_percentiles("staying", (&alone, &beside), samples)
}

fn add_figures(report: &mut Report) {
    let samples = &report.samples;
    report.figures.extend([
        Figure {
            key: "staying.p99_ratio",
            value: samples.ratio("staying.p99_beside_ms", "staying.p99_alone_ms"),
            goal: Goal::AtMost(1.10),
            about: "99th percentile of the latency on keys that do not move: during repeated cutovers / alone",
            parts: &["staying.beside"],
        },
        Figure {
            key: "staying.write_stop_ms_p50",
            value: samples.median("staying.write_stop_ms"),
            goal: Goal::AtMost(10.0),
            about: "median write-blocked window of these cutovers, at half of the source's maximum load",
            parts: &["staying.beside"],
        },
    ]);
}
