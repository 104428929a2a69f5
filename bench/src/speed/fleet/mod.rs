//! Measures the time and memory of the controller for a fleet of many shards, keys and unfinished migrations, and how
//! they grow with the size of the fleet.
//!
//! The controller and its store are real. The agents only send requests, and there is no data on shards. For each size
//! the benchmark fills the store (`stock`), starts the controller (`controller`), claims every migration and ends one
//! step of each (`agents`) while heartbeats report all claimed migrations, then reads maps and lists (`reads`).

mod agents;
mod controller;
mod reads;
mod stock;

use super::figures::{Figure, Goal, Report, Samples};
use super::place::Place;
use super::resident::resident;
use agents::Crowd;
use cluster::Cluster;
use controller::Serving;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// The size of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    shards: u32,
    mappings: u32,
    migrations: u32,
}

/// The fleets that are measured, the smallest first. The number is the divisor of the full size.
const PARTS: [u32; 3] = [16, 4, 1];

impl Size {
    fn part(part: u32) -> Self {
        Self {
            shards: 10_000 / part,
            mappings: 1_000_000 / part,
            migrations: 1_000 / part,
        }
    }

    /// Returns the number of agents that execute migrations. Half as many additional agents wait for work.
    fn agents(self) -> u32 {
        self.migrations.div_ceil(10)
    }
}

/// Returns the key of the sample `name` of a fleet size.
fn key(part: u32, name: &str) -> String {
    format!("fleet.{part}.{name}")
}

/// Measures every fleet size and adds the samples and figures. The quick form leaves the full size out.
pub(crate) fn measure(programs: &Path, quick: bool, report: &mut Report) -> anyhow::Result<()> {
    let parts = if quick { &PARTS[..2] } else { &PARTS };
    cluster::sweep(&cluster::temporary_base())?;
    let options = cluster::Options::temporary("bench-fleet").setting("shared_buffers", "1GB");
    let server = Arc::new(Cluster::launch(options)?);
    let runtime = tokio::runtime::Runtime::new()?;
    let samples = &mut report.samples;
    for &part in parts {
        let place = Place::new(&server, &format!("fleet{part}"))?;
        place.remake()?;
        let size = Size::part(part);
        eprintln!("{size:?}");
        let spoken = runtime.block_on(one(programs, &place, (part, size), samples))?;
        if parts.last() == Some(&part) {
            samples.profile("fleet", spoken);
        }
    }
    judge(report, parts);
    Ok(())
}

/// Measures one fleet size. Returns when the agents sent requests, in microseconds since 1970.
async fn one(
    programs: &Path,
    place: &Place,
    (part, size): (u32, Size),
    samples: &mut Samples,
) -> anyhow::Result<(u128, u128)> {
    let watch = samples.watch.clone();
    let mut add = |name: &str, value: f64| samples.add(&key(part, name), value);
    stock::fill(&place.dsn(), size).await?;
    place.run(&["vacuum analyze"])?;
    let serving = Serving::start(programs, &place.dsn())?;
    let started = serving.all_started(size.migrations).await?;
    add("start_s", started);
    let idle = resident(serving.id())?;
    add("rss_started_mib", idle.now);
    let from = watch.take_sample();
    let crowd = Crowd::new(serving.url(), size)?;
    let claims = crowd.take_up(size.migrations).await?;
    add("claim_p50_ms", claims.percentile(50));
    add("claim_p99_ms", claims.percentile(99));
    let steps = crowd.go_on(size.migrations).await?;
    add("next_p50_ms", steps.percentile(50));
    add("next_p99_ms", steps.percentile(99));
    let beats = crowd.beats();
    add("beat_p99_ms", beats.percentile(99));
    reads::measure(&serving, &mut add).await?;
    let memory = resident(serving.id())?;
    add("rss_mib", memory.now);
    add("hwm_mib", memory.most);
    Ok((from, watch.take_sample()))
}

/// Adds the figures. `parts` are the divisors of the measured sizes, the smallest fleet first.
fn judge(report: &mut Report, parts: &[u32]) {
    let samples = &report.samples;
    let (least, most) = (parts[0], parts[parts.len() - 1]);
    let whole = |name: &str| samples.median(&key(most, name));
    let figure = |key, value, limit, about| Figure {
        key,
        value,
        goal: Goal::AtMost(limit),
        about,
        parts: &["fleet"],
    };
    let growth = |name: &str| {
        let small = samples.median(&key(least, name))?;
        Some((whole(name)? / small).ln() / (f64::from(least) / f64::from(most)).ln())
    };
    let figures = vec![
        figure(
            "fleet.claim_p99_ms",
            whole("claim_p99_ms"),
            50.0,
            "claim of an agent in the largest fleet (fleet_size)",
        ),
        figure(
            "fleet.next_p99_ms",
            whole("next_p99_ms"),
            50.0,
            "claim of the step after the one that ended",
        ),
        figure(
            "fleet.overview_ms",
            whole("overview_ms"),
            200.0,
            "the dashboard's list of migrations",
        ),
        figure(
            "fleet.rss_mib",
            whole("rss_mib"),
            256.0,
            "memory of the controller at the end",
        ),
        figure(
            "fleet.hwm_mib",
            whole("hwm_mib"),
            256.0,
            "the most that it ever had",
        ),
        figure(
            "fleet.claim_growth",
            growth("claim_p50_ms"),
            1.0,
            "exponent of a claim's median from a sixteenth to the largest",
        ),
        figure(
            "fleet.overview_growth",
            growth("overview_ms"),
            1.0,
            "the same of the dashboard's list",
        ),
        figure(
            "fleet.map_growth",
            growth("map_s"),
            1.0,
            "the same of the whole map",
        ),
    ];
    report.figures.extend(figures);
    let size = Size::part(most);
    let sizes = json!({
        "shards": size.shards, "mappings": size.mappings, "migrations": size.migrations, "agents": size.agents(),
    });
    report.more.insert("fleet_size".to_owned(), sizes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_an_exponent() {
        let mut report = Report::default();
        report.samples.add(&key(16, "map_s"), 1.0);
        report.samples.add(&key(1, "map_s"), 256.0);
        judge(&mut report, &PARTS);
        let mut figures = report.figures.iter();
        let growth = figures.find(|figure| figure.key == "fleet.map_growth");
        assert!((growth.unwrap().value.unwrap() - 2.0).abs() < 1e-9);
    }
}
