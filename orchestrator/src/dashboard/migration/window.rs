//! The write-blocked windows in milliseconds, with their parts.

use crate::view::MigrationView;
use crate::view::figures::count;
use askama::Template;
use plans::id::{AttemptNo, MapVersion};
use plans::request::Mode;
use plans::step::StepKind;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};

/// The write-blocked windows.
#[derive(Template)]
#[template(path = "migration/windows.html")]
pub(super) struct WindowsView {
    windows: Vec<WindowView>,
    /// True for an offline move: its keys were read-only long before the cutover.
    offline: bool,
}

/// One write-blocked window.
struct WindowView {
    title: &'static str,
    total: String,
    budget: u32,
    attempt: AttemptNo,
    map_version: MapVersion,
    dirty_keys: String,
    /// The number of refused writes; empty if they were not counted.
    refused: String,
    parts: Vec<WindowPart>,
}

struct WindowPart {
    name: &'static str,
    ms: String,
    x: f64,
    width: f64,
    class: usize,
}

impl WindowsView {
    /// Returns the write-blocked windows of the cutover and of the rollback, if they happened.
    pub(super) fn new(view: &MigrationView) -> Self {
        let titles = [
            (StepKind::Cutover, "Cutover"),
            (StepKind::Rollback, "Rollback"),
        ];
        let windows = titles.into_iter().filter_map(|(kind, title)| {
            let step = view.steps.iter().find(|step| step.kind == kind)?;
            let output = step.output.clone()?;
            let result: CutoverResult = serde_json::from_value(output).ok()?;
            Some(WindowView {
                title,
                total: format!("{:.1}", result.write_block.total),
                budget: view.plan.options.write_stop_budget_ms,
                attempt: result.attempt,
                map_version: result.map_version,
                dirty_keys: count(result.dirty_keys),
                refused: result.refused.map(count).unwrap_or_default(),
                parts: window_parts(&result.write_block),
            })
        });
        Self {
            windows: windows.collect(),
            offline: view.summary.mode == Mode::Offline,
        }
    }
}

fn window_parts(window: &WriteBlockTimes) -> Vec<WindowPart> {
    let parts = window.parts();
    let sum: f64 = parts.iter().map(|(_, ms)| ms).sum();
    let total = sum.max(window.total).max(f64::MIN_POSITIVE);
    // The time between the measured parts.
    let rest = ("rest", total - sum);
    let mut x = 0.0;
    let part = |(class, (name, ms)): (usize, (&'static str, f64))| {
        let width = ms / total * 100.0;
        let part = WindowPart {
            name,
            ms: format!("{ms:.1}"),
            x,
            width,
            class,
        };
        x += width;
        part
    };
    let named = parts.into_iter().chain([rest]);
    named.enumerate().map(part).collect()
}
