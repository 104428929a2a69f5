//! Measures the time and memory of the controller for a fleet of many shards, keys and unfinished migrations, and how
//! they grow with the size of the fleet.
//!
//! The controller and its store are real. The agents only send requests, and there is no data on shards. For each size
//! the benchmark fills the store (`store`), starts the controller (`controller`), claims every migration and ends one
//! step of each (`agents`) while heartbeats report all claimed migrations, then reads maps and lists (`reads`).

mod agents;
mod controller;
mod reads;
mod store;

use super::database::Database;
use super::figures::{Figure, Goal, Report, Samples};
use super::resident::resident;
use agents::AgentGroup;
use cluster::Cluster;
use controller::RunningController;
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
        let database = Database::new(&server, &format!("fleet{part}"))?;
        database.recreate()?;
        let size = Size::part(part);
        eprintln!("{size:?}");
        let span = runtime.block_on(measure_size(programs, &database, (part, size), samples))?;
        if parts.last() == Some(&part) {
            samples.add_profile("fleet", span);
        }
    }
    add_figures(report, parts);
    Ok(())
}

/// Measures one fleet size. Returns when the agents sent requests, in microseconds since 1970.
async fn measure_size(
    programs: &Path,
    database: &Database,
    (part, size): (u32, Size),
    samples: &mut Samples,
) -> anyhow::Result<(u128, u128)> {
    let watch = samples.cpu.clone();
    let mut add = |name: &str, value: f64| samples.add(&key(part, name), value);
    store::fill(&database.dsn(), size).await?;
    database.run(&["vacuum analyze"])?;
    let controller = RunningController::start(programs, &database.dsn())?;
    let started = controller.wait_until_all_started(size.migrations).await?;
    add("start_s", started);
    let idle = resident(controller.id())?;
    add("rss_started_mib", idle.now);
    let from = watch.take_sample();
    let agents = AgentGroup::new(controller.url(), size)?;
    let claims = agents.claim_first_steps(size.migrations).await?;
    add("claim_p50_ms", claims.percentile(50));
    add("claim_p99_ms", claims.percentile(99));
    let steps = agents.claim_next_steps(size.migrations).await?;
    add("next_p50_ms", steps.percentile(50));
    add("next_p99_ms", steps.percentile(99));
    let beats = agents.heartbeat_latencies();
    add("beat_p99_ms", beats.percentile(99));
    reads::measure(&controller, &mut add).await?;
    let memory = resident(controller.id())?;
    add("rss_mib", memory.now);
    add("hwm_mib", memory.max);
    Ok((from, watch.take_sample()))
}

/// Adds the figures. `parts` are the divisors of the measured sizes, the smallest fleet first.
fn add_figures(report: &mut Report, parts: &[u32]) {
    let samples = &report.samples;
    let (smallest, largest) = (parts[0], parts[parts.len() - 1]);
    let full = |name: &str| samples.median(&key(largest, name));
    let figure = |key, value, limit, about| Figure {
        key,
        value,
        goal: Goal::AtMost(limit),
        about,
        parts: &["fleet"],
    };
    let growth = |name: &str| {
        let small = samples.median(&key(smallest, name))?;
        Some((full(name)? / small).ln() / (f64::from(smallest) / f64::from(largest)).ln())
    };
    let figures = vec![
        figure(
            "fleet.claim_p99_ms",
            full("claim_p99_ms"),
            50.0,
            "p99 of the claims of first steps, in the largest fleet (fleet_size)",
        ),
        figure(
            "fleet.next_p99_ms",
            full("next_p99_ms"),
            50.0,
            "p99 of the claims of next steps",
        ),
        figure(
            "fleet.overview_ms",
            full("overview_ms"),
            200.0,
            "time of the dashboard's list of migrations",
        ),
        figure(
            "fleet.rss_mib",
            full("rss_mib"),
            256.0,
            "memory of the controller at the end",
        ),
        figure(
            "fleet.hwm_mib",
            full("hwm_mib"),
            256.0,
            "maximum memory of the controller",
        ),
        figure(
            "fleet.claim_growth",
            growth("claim_p50_ms"),
            1.0,
            "exponent of the growth of the median claim, from the smallest fleet (1/16) to the largest",
        ),
        figure(
            "fleet.overview_growth",
            growth("overview_ms"),
            1.0,
            "the same, for the dashboard's list",
        ),
        figure(
            "fleet.map_growth",
            growth("map_s"),
            1.0,
            "the same, for a read of the whole map",
        ),
    ];
    report.figures.extend(figures);
    let size = Size::part(largest);
    let sizes = json!({
        "shards": size.shards, "mappings": size.mappings, "migrations": size.migrations, "agents": size.agents(),
    });
    report.extra.insert("fleet_size".to_owned(), sizes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_an_exponent() {
        let mut report = Report::default();
        report.samples.add(&key(16, "map_s"), 1.0);
        report.samples.add(&key(1, "map_s"), 256.0);
        add_figures(&mut report, &PARTS);
        let mut figures = report.figures.iter();
        let growth = figures.find(|figure| figure.key == "fleet.map_growth");
        assert!((growth.unwrap().value.unwrap() - 2.0).abs() < 1e-9);
    }
}
