//! ETA errors: the differences between the end of a step that heartbeats predicted and the actual end.

use crate::store::FigureReading;
use crate::view::StepView;
use plans::id::StepId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Predictions count after this part of a step, in thousandths.
const FIRST_COUNTED: i64 = 300;

/// The ETA error of a step: how far its predicted end was from its actual end. Predictions count after 30 % of the
/// step. An error is a fraction of the duration: for a step of 100 s, 0.1 means that the end was predicted 10 s too
/// late, and -0.1 that it was predicted 10 s too early.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EtaError {
    /// The step.
    pub step: StepId,
    /// The duration of the step, in seconds.
    pub seconds: f64,
    /// The number of predictions that count.
    pub readings: usize,
    /// The error with the largest absolute value.
    pub worst: f64,
    /// The median of the errors.
    pub median: f64,
}

/// Returns the ETA error of each step that has ended and has predictions.
pub(super) fn eta_errors(steps: &[StepView], readings: &[FigureReading]) -> Vec<EtaError> {
    steps
        .iter()
        .filter_map(|step| eta_error(step, readings))
        .collect()
}

/// Returns the ETA error of a step; `None` if it has not ended, has no predictions, or was idle for a time.
fn eta_error(step: &StepView, readings: &[FigureReading]) -> Option<EtaError> {
    let (from, to) = (step.started_at?, step.finished_at?);
    // A prediction cannot know of a time in which no agent works on the step.
    if step.idle_time().is_some() {
        return None;
    }
    let duration = (to - from).num_milliseconds();
    let is_counted = |reading: &&FigureReading| {
        let (done, total) = match reading.rows_total {
            0 => ((reading.at - from).num_milliseconds(), duration),
            total => (reading.rows, total),
        };
        reading.step.as_ref() == Some(&step.id)
            && reading.at >= from
            && reading.at <= to
            && done.saturating_mul(1_000) >= total.saturating_mul(FIRST_COUNTED)
    };
    let error = |reading: &FigureReading| {
        let predicted = (reading.at - from).num_milliseconds() + reading.left_ms?;
        Some((predicted - duration) as f64 / duration as f64)
    };
    let counted = readings.iter().filter(is_counted);
    let mut errors: Vec<f64> = counted.filter_map(error).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let by_size = |a: &f64, b: &f64| a.abs().total_cmp(&b.abs());
    Some(EtaError {
        step: step.id.clone(),
        seconds: duration as f64 / 1e3,
        readings: errors.len(),
        worst: errors.iter().copied().max_by(by_size)?,
        median: *errors.get(errors.len() / 2)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{DateTime, Utc};
    use plans::id::Epoch;
    use plans::state::step::StepState;
    use plans::step::StepKind;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    fn step(finished: Option<i64>) -> StepView {
        StepView {
            id: "copy".into(),
            kind: StepKind::Copy,
            summary: String::new(),
            state: StepState::Done,
            attempt: 1,
            epoch: Epoch(1),
            next_at: None,
            started_at: Some(at(0)),
            finished_at: finished.map(at),
            worked_ms: None,
            output: None,
            failure: None,
            progress: None,
        }
    }

    fn reading(second: i64, rows: i64, left_s: Option<i64>) -> FigureReading {
        FigureReading {
            at: at(second),
            step: Some("copy".into()),
            rows,
            rows_total: 100,
            bytes: 0,
            left_ms: left_s.map(|left| left * 1_000),
            stream: None,
        }
    }

    #[test]
    fn predictions_count_after_thirty_percent() {
        let readings = [
            reading(10, 10, Some(900)),
            reading(30, 30, Some(60)),
            reading(50, 50, None),
            reading(80, 80, Some(25)),
            reading(90, 90, Some(10)),
        ];
        let [eta] = &eta_errors(&[step(Some(100))], &readings)[..] else {
            panic!("one step has predictions");
        };
        assert_eq!(eta.readings, 3);
        assert!((eta.worst + 0.1).abs() < 1e-9, "{eta:?}");
        assert!(eta.median.abs() < 1e-9, "{eta:?}");
    }

    #[test]
    fn a_step_that_runs_or_has_no_predictions_has_no_error() {
        assert_eq!(eta_errors(&[step(None)], &[reading(50, 50, Some(1))]), []);
        assert_eq!(eta_errors(&[step(Some(100))], &[reading(50, 50, None)]), []);
    }

    #[test]
    fn a_step_that_was_paused_has_no_error() {
        let readings = [reading(50, 50, Some(25))];
        let mut paused = step(Some(100));
        assert_eq!(eta_errors(&[paused.clone()], &readings).len(), 1);
        paused.worked_ms = Some(75_000);
        assert_eq!(eta_errors(&[paused], &readings), []);
    }
}
