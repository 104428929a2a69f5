//! Charts of a migration over time: rates, lag, and log that the source retains.

use crate::chart::Chart;
use crate::report::charts;
use crate::store::FigureReading;
use crate::view::StepView;
use askama::Template;

/// The charts.
#[derive(Template)]
#[template(path = "migration/course.html")]
pub(super) struct CourseView {
    charts: Vec<Chart>,
}

impl CourseView {
    /// Draws the readings (progress figures) of a migration.
    pub(super) fn new(readings: &[FigureReading], steps: &[StepView]) -> Self {
        Self {
            charts: charts(readings, steps),
        }
    }
}
