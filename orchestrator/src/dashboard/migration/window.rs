//! The write-blocked windows in milliseconds, with their parts.

use crate::chart::{ChartQuantity, ValueAxis};
use crate::view::MigrationView;
use crate::view::figures::count;
use askama::Template;
use plans::id::{AttemptNo, MapVersion};
use plans::request::Mode;
use plans::step::StepKind;
use plans::step::cutover::{CutoverResult, WriteBlockTimes};
use std::collections::BTreeMap;

/// The write-blocked windows.
#[derive(Template)]
#[template(path = "migration/windows.html")]
pub(super) struct WindowsView {
    windows: Vec<WindowView>,
    /// The ticks of the axis that all windows have in common, in percent of the width.
    ticks: Vec<(f64, String)>,
    /// True on a page on which the section is hidden until there is a window.
    is_optional: bool,
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
    /// The number of writes that were blocked; empty if they were not counted.
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

/// A part that is narrower than this, in percent, has its name only below the strip.
const MIN_LABEL_WIDTH: f64 = 9.0;

impl WindowPart {
    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    fn has_label(&self) -> bool {
        self.width >= MIN_LABEL_WIDTH
    }
}

impl WindowsView {
    /// Returns the write-blocked windows for the page of the cutover, which shows the section before there is a window.
    pub(super) fn on_cutover_page(view: &MigrationView) -> Self {
        Self {
            is_optional: false,
            ..Self::new(view)
        }
    }

    /// Returns the write-blocked windows of the cutover and of the rollback, if they happened.
    pub(super) fn new(view: &MigrationView) -> Self {
        let results = results(view);
        let longest = results.iter().map(|(_, result)| result.write_block.total);
        let axis = ValueAxis::new(ChartQuantity::Millis, longest.fold(0.0, f64::max));
        let budget = view.plan.options.write_stop_budget_ms;
        let windows = results.iter();
        let windows = windows.map(|(title, result)| window(title, result, budget, &axis));
        Self {
            windows: windows.collect(),
            ticks: axis
                .ticks()
                .map(|(fraction, label)| (fraction * 100.0, format!("{label} {}", axis.unit)))
                .collect(),
            is_optional: true,
            offline: view.summary.mode == Mode::Offline,
        }
    }

    fn is_hidden(&self) -> bool {
        self.is_optional && self.windows.is_empty() && !self.offline
    }
}

/// Returns how long writes were blocked, in milliseconds, by the number of the attempt.
pub(super) fn blocked_ms(view: &MigrationView) -> BTreeMap<String, f64> {
    let results = results(view).into_iter();
    results
        .map(|(_, result)| (result.attempt.to_string(), result.write_block.total))
        .collect()
}

/// Returns the results of the cutover and of the rollback, if they happened, with their titles.
fn results(view: &MigrationView) -> Vec<(&'static str, CutoverResult)> {
    let titles = [
        (StepKind::Cutover, "Cutover"),
        (StepKind::Rollback, "Rollback"),
    ];
    let results = titles.into_iter().filter_map(|(kind, title)| {
        let step = view.steps.iter().find(|step| step.kind == kind)?;
        let result: CutoverResult = serde_json::from_value(step.output.clone()?).ok()?;
        Some((title, result))
    });
    results.collect()
}

fn window(
    title: &'static str,
    result: &CutoverResult,
    budget: u32,
    axis: &ValueAxis,
) -> WindowView {
    WindowView {
        title,
        total: format!("{:.1}", result.write_block.total),
        budget,
        attempt: result.attempt,
        map_version: result.map_version,
        dirty_keys: count(result.dirty_keys),
        refused: result.refused.map(count).unwrap_or_default(),
        parts: window_parts(&result.write_block, axis),
    }
}

fn window_parts(window: &WriteBlockTimes, axis: &ValueAxis) -> Vec<WindowPart> {
    let parts = window.parts().map(|(name, ms)| match name {
        // The protocol's name would be a second one for the block.
        "fence" => ("block writes", ms),
        name => (name, ms),
    });
    let sum: f64 = parts.iter().map(|(_, ms)| ms).sum();
    // The time between the measured parts.
    let rest = ("between the parts", (window.total - sum).max(0.0));
    let mut x = 0.0;
    let part = |(class, (name, ms)): (usize, (&'static str, f64))| {
        let width = axis.fraction(ms) * 100.0;
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
