//! Charts of a migration over time: rates, lag, and log that the source retains.

use crate::chart::Chart;
use crate::controller::{ControlError, Controller};
use crate::report::charts;
use crate::view::StepView;
use askama::Template;
use plans::id::MigrationId;

/// The charts.
#[derive(Template)]
#[template(path = "migration/course.html")]
pub(super) struct CourseView {
    charts: Vec<Chart>,
    id: String,
}

impl CourseView {
    /// Reads the readings (progress figures) of a migration.
    pub(super) async fn read(
        controller: &Controller,
        id: &MigrationId,
        steps: &[StepView],
    ) -> Result<Self, ControlError> {
        let readings = controller.readings(id).await?;
        Ok(Self {
            charts: charts(&readings, steps),
            id: id.to_string(),
        })
    }
}
