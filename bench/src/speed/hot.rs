//! Measures the write-blocked window if one tenant has most of the writes. The tenant is isolated on each kind of map,
//! and moved.
//!
//! Each operation has its own fleet. While the tenant writes, the migration is cut over and rolled back repeatedly.

use super::figures::{Figure, Goal, Report};
use anyhow::Context;
use demo::{DemoTask, MapOperation, WriteBlocks};
use plans::shard_map::Strategy;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The budget of the write-blocked window in the demo's requests, in milliseconds.
const BUDGET: f64 = 2_000.0;
/// The goal: no window is longer than this fraction of the budget, if the machine does nothing else.
const PART: f64 = 0.25;
/// The goal for the longest time from the flip until the new owner accepts writes, in milliseconds.
const APART: f64 = 250.0;
/// The sizes of the demo's data.
const SCALES: [f64; 2] = [0.2, 1.0];
/// The fraction of the transactions of the hot tenant that is moved. A tenant that is isolated has the demo's fraction,
/// ten of thirteen.
const SHARE: f64 = 0.9;

/// Returns the operations, by the names in the output.
fn tasks() -> [(&'static str, DemoTask); 4] {
    let isolate = |strategy| DemoTask {
        operation: MapOperation::Isolate,
        strategy,
        ..DemoTask::default()
    };
    let moved = DemoTask {
        operation: MapOperation::Move,
        hot: Some(SHARE),
        ..DemoTask::default()
    };
    [
        ("isolate by list", isolate(Strategy::List)),
        ("isolate by range", isolate(Strategy::Range)),
        ("isolate by hash", isolate(Strategy::Hash)),
        ("move of one tenant", moved),
    ]
}

/// Makes `cutovers` cutovers of each operation, half of them rollbacks, and adds their samples and figures.
pub(crate) fn measure(programs: &Path, cutovers: u32, report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let (mut longest, mut apart) = (0.0_f64, 0.0_f64);
    let mut rows = Map::new();
    for scale in SCALES {
        for (name, task) in tasks() {
            let options = demo::Options {
                task,
                scale,
                programs: Some(programs.to_owned()),
                ..demo::Options::default()
            };
            let name = format!("{name}, scale {scale}");
            let stops = runtime.block_on(demo::write_stops(&options, cutovers));
            let stops = stops.with_context(|| name.clone())?;
            report.samples.profile("hot", stops.between);
            let opened = stops.windows.iter().map(|window| window.flip + window.open);
            let opened = opened.fold(0.0, f64::max);
            let total = total(&stops).context("a cutover at least")?;
            eprintln!(
                "  {name}: p50 {:.0} ms, longest {:.0} ms, flip to open {opened:.0} ms at most, {} given up",
                total.p50, total.max, stops.given_up
            );
            longest = longest.max(total.max);
            apart = apart.max(opened);
            rows.insert(
                name,
                json!({"n": stops.windows.len(), "p50": total.p50, "max": total.max, "flip_to_open_max": opened,
                    "given_up": stops.given_up}),
            );
        }
    }
    report.more.insert("hot".to_owned(), Value::Object(rows));
    let figure = |key, value, limit, about| Figure {
        key,
        value: Some(value),
        goal: Goal::AtMost(limit),
        about,
        parts: &["hot"],
    };
    report.figures.extend([
        figure(
            "hot.window_ms.max",
            longest,
            BUDGET * PART,
            "longest write-blocked window of a hot tenant",
        ),
        figure(
            "hot.flip_to_open_ms.max",
            apart,
            APART,
            "longest time from the flip to the opening, the flip's answer included",
        ),
    ]);
    Ok(())
}

/// Returns the distribution of the total length of the windows.
fn total(stops: &WriteBlocks) -> Option<demo::TimeSpread> {
    let spreads = stops.spreads();
    let total = spreads.iter().find(|(name, _)| *name == "total");
    total.map(|(_, spread)| *spread)
}
