//! The errors of the estimated end times of steps, from the controller's report.

use serde::{Deserialize, Serialize};

/// The errors of the estimates for one step of a migration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepForecast {
    /// The name of the step.
    pub step: String,
    /// The duration in seconds.
    pub seconds: f64,
    /// The number of estimates after 30 % of the step.
    pub readings: usize,
    /// The greatest error, as a part of the duration. A positive value means that the estimated end was too late.
    pub worst: f64,
    /// The median error.
    pub median: f64,
}

impl StepForecast {
    /// Returns the errors as text.
    pub(crate) fn text(all: &[Self]) -> Option<String> {
        let line = |forecast: &Self| {
            format!(
                "{} ({:.1} s) {:+.0} % at worst, {:+.0} % median",
                forecast.step,
                forecast.seconds,
                forecast.worst * 100.0,
                forecast.median * 100.0
            )
        };
        let steps: Vec<String> = all.iter().map(line).collect();
        (!steps.is_empty()).then(|| {
            let steps = steps.join("; ");
            format!("ETA error    measured after 30 % of a step: {steps}.")
        })
    }
}
