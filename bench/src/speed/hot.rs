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
const WINDOW_FRACTION: f64 = 0.25;
/// The goal for the longest time from the flip until the new owner accepts writes, in milliseconds.
const MAX_FLIP_TO_OPEN: f64 = 250.0;
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
    let (mut longest, mut longest_flip_to_open) = (0.0_f64, 0.0_f64);
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
            let write_blocks = runtime.block_on(demo::write_stops(&options, cutovers));
            let write_blocks = write_blocks.with_context(|| name.clone())?;
            report.samples.add_profile("hot", write_blocks.between);
            let flip_to_open = write_blocks
                .windows
                .iter()
                .map(|window| window.flip + window.open);
            let flip_to_open = flip_to_open.fold(0.0, f64::max);
            let total = total_spread(&write_blocks).context("no cutover was measured")?;
            eprintln!(
                "  {name}: p50 {:.0} ms, longest {:.0} ms, flip to open {flip_to_open:.0} ms at most, {} given up",
                total.p50, total.max, write_blocks.given_up
            );
            longest = longest.max(total.max);
            longest_flip_to_open = longest_flip_to_open.max(flip_to_open);
            rows.insert(
                name,
                json!({"n": write_blocks.windows.len(), "p50": total.p50, "max": total.max, "flip_to_open_max": flip_to_open,
                    "given_up": write_blocks.given_up}),
            );
        }
    }
    report.extra.insert("hot".to_owned(), Value::Object(rows));
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
            BUDGET * WINDOW_FRACTION,
            "longest write-blocked window of a hot tenant",
        ),
        figure(
            "hot.flip_to_open_ms.max",
            longest_flip_to_open,
            MAX_FLIP_TO_OPEN,
            "longest time from the request of the flip until the new owner accepts writes",
        ),
    ]);
    Ok(())
}

/// Returns the distribution of the total length of the windows.
fn total_spread(write_blocks: &WriteBlocks) -> Option<demo::TimeSpread> {
    let spreads = write_blocks.spreads();
    let total = spreads.iter().find(|(name, _)| *name == "total");
    total.map(|(_, spread)| *spread)
}
