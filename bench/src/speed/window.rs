//! Measures the write-blocked window: one migration is cut over and rolled back repeatedly while the demo's application
//! writes.

use super::figures::{Figure, Goal, Report};
use demo::WriteBlocks;
use serde_json::{Value, json};
use std::path::Path;

/// The rate of the application, in transactions per second.
const RATE: f64 = 400.0;
/// The size of the demo's data.
const SCALE: f64 = 0.1;

/// Makes `cutovers` cutovers, half of them rollbacks, and adds their figures to the report.
pub(crate) fn measure(programs: &Path, cutovers: u32, report: &mut Report) -> anyhow::Result<()> {
    let options = demo::Options {
        scale: SCALE,
        rate: RATE,
        programs: Some(programs.to_owned()),
        ..demo::Options::default()
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let write_blocks = runtime.block_on(demo::write_stops(&options, cutovers))?;
    report.samples.add_profile("window", write_blocks.between);
    add_figures(&write_blocks, report);
    Ok(())
}

fn add_figures(write_blocks: &WriteBlocks, report: &mut Report) {
    let spreads = write_blocks.spreads();
    let total = spreads.iter().find(|(name, _)| *name == "total");
    let total = total.map(|(_, spread)| *spread);
    let figure = |key, value, limit, about| Figure {
        key,
        value,
        goal: Goal::AtMost(limit),
        about,
        parts: &["window"],
    };
    report.figures.extend([
        figure(
            "window_ms.p50",
            total.map(|spread| spread.p50),
            10.0,
            "median write-blocked window of a cutover under load",
        ),
        figure(
            "window_ms.p99",
            total.map(|spread| spread.p99),
            25.0,
            "the same, 99th percentile",
        ),
        figure(
            "window_ms.max",
            total.map(|spread| spread.max),
            100.0,
            "the same, maximum",
        ),
    ]);
    let parts: serde_json::Map<String, Value> = spreads
        .into_iter()
        .map(|(name, spread)| (name.to_owned(), json!(spread)))
        .collect();
    let window = json!({
        "n": write_blocks.windows.len(), "given_up": write_blocks.given_up, "acknowledged": write_blocks.acknowledged, "parts": parts,
    });
    report.extra.insert("window_ms".to_owned(), window);
}
