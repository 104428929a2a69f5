//! ETA errors: the differences between the end of a step that heartbeats predicted and the actual end.

use crate::store::FigureReading;
use crate::view::StepView;
use plans::id::StepId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Predictions count from this part of a step on, in thousandths.
const FROM: i64 = 300;

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
pub(super) fn of(steps: &[StepView], course: &[FigureReading]) -> Vec<EtaError> {
    steps
        .iter()
        .filter_map(|step| of_step(step, course))
        .collect()
}

fn of_step(step: &StepView, course: &[FigureReading]) -> Option<EtaError> {
    let (from, to) = (step.started_at?, step.finished_at?);
    // No prediction can take a pause into account.
    if step.idle_time().is_some() {
        return None;
    }
    let whole = (to - from).num_milliseconds();
    let counts = |reading: &&FigureReading| {
        let (done, total) = match reading.rows_total {
            0 => ((reading.at - from).num_milliseconds(), whole),
            total => (reading.rows, total),
        };
        reading.step.as_ref() == Some(&step.id)
            && reading.at >= from
            && reading.at <= to
            && done.saturating_mul(1_000) >= total.saturating_mul(FROM)
    };
    let error = |reading: &FigureReading| {
        let expected = (reading.at - from).num_milliseconds() + reading.left_ms?;
        Some((expected - whole) as f64 / whole as f64)
    };
    let counted = course.iter().filter(counts);
    let mut errors: Vec<f64> = counted.filter_map(error).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let farther = |one: &f64, other: &f64| one.abs().total_cmp(&other.abs());
    Some(EtaError {
        step: step.id.clone(),
        seconds: whole as f64 / 1e3,
        readings: errors.len(),
        worst: errors.iter().copied().max_by(farther)?,
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
    fn errors_count_from_thirty_per_cent_on() {
        let course = [
            reading(10, 10, Some(900)),
            reading(30, 30, Some(60)),
            reading(50, 50, None),
            reading(80, 80, Some(25)),
            reading(90, 90, Some(10)),
        ];
        let [eta] = &of(&[step(Some(100))], &course)[..] else {
            panic!("one step has an expected end");
        };
        assert_eq!(eta.readings, 3);
        assert!((eta.worst + 0.1).abs() < 1e-9, "{eta:?}");
        assert!(eta.median.abs() < 1e-9, "{eta:?}");
    }

    #[test]
    fn a_step_that_runs_or_has_no_expected_end_has_no_error() {
        assert_eq!(of(&[step(None)], &[reading(50, 50, Some(1))]), []);
        assert_eq!(of(&[step(Some(100))], &[reading(50, 50, None)]), []);
    }
    #[test]
    fn a_step_that_was_paused_has_no_error() {
        let course = [reading(50, 50, Some(25))];
        let mut paused = step(Some(100));
        assert_eq!(of(&[paused.clone()], &course).len(), 1);
        paused.worked_ms = Some(75_000);
        assert_eq!(of(&[paused], &course), []);
    }
}
