//! How well the ends of steps were foreseen, as the controller's report tells.

use serde::{Deserialize, Serialize};

/// One step of a migration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepForecast {
    /// Its name.
    pub step: String,
    /// How long it took, seconds.
    pub seconds: f64,
    /// Readings that foresaw its end, from 30 % of it on.
    pub readings: usize,
    /// The error farthest from zero, as a part of its time; above zero is too late.
    pub worst: f64,
    /// The error in the middle.
    pub median: f64,
}

impl StepForecast {
    /// In plain words.
    pub(crate) fn text(all: &[Self]) -> Option<String> {
        let one = |foreseen: &Self| {
            format!(
                "{} ({:.1} s) {:+.0} % at worst, {:+.0} % median",
                foreseen.step,
                foreseen.seconds,
                foreseen.worst * 100.0,
                foreseen.median * 100.0
            )
        };
        let steps: Vec<String> = all.iter().map(one).collect();
        (!steps.is_empty()).then(|| {
            let steps = steps.join("; ");
            format!("ETA error    measured after 30 % of a step: {steps}.")
        })
    }
}
