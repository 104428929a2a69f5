//! How far a migration is, how fast, and when its current step will end.

use super::super::done_part::counted_words;
use super::super::step_words::step_words;
use crate::store::FigureReading;
use crate::view::figures::{bytes, count};
use crate::view::sentence::{current, has_ended, progress_percent, tables_percent};
use crate::view::{MigrationView, StepView};
use chrono::{DateTime, DurationRound, SecondsFormat, TimeDelta, Utc};
use plans::id::StepId;
use plans::state::migration::MigrationState;
use plans::state::step::StepState;
use plans::wire::Progress;

/// Predictions of this part of the time since the first one count: the last third.
const RECENT: i32 = 3;
/// A prediction can be wrong by at least this part of the remaining time.
const MIN_ERROR: i32 = 10;

/// The line with the progress bar.
pub(super) struct ProgressLine {
    pub(super) percent: u8,
    /// What the percentage is a part of.
    pub(super) of: String,
    /// Rows, and rows and bytes per second; or the current step.
    pub(super) figures: Vec<String>,
    /// When the step will end: the earliest and the latest time, as HTML.
    pub(super) ends: Option<(String, String)>,
}

impl ProgressLine {
    /// Returns the progress of the running step if it counts rows, otherwise that of all steps. `None` if the migration
    /// has ended, or does not go forward.
    pub(super) fn new(
        view: &MigrationView,
        readings: &[FigureReading],
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let all = progress_percent(view).filter(|_| view.summary.finished_at.is_none())?;
        let step = current(view).filter(|_| view.summary.state != MigrationState::Planned);
        let counted = step.and_then(|step| step_line(step, readings, now));
        counted.or_else(|| {
            let done = view.steps.iter().filter(|step| has_ended(step)).count();
            let named = |step: &StepView| match step.state {
                StepState::Running => format!("now: {}", step_words(step.kind)),
                StepState::Pending
                | StepState::Backoff
                | StepState::Failed
                | StepState::Done
                | StepState::Skipped => format!("next: {}", step_words(step.kind)),
            };
            Some(Self {
                percent: all,
                of: format!("of the steps done ({done} of {})", view.steps.len()),
                figures: current(view).map(named).into_iter().collect(),
                ends: None,
            })
        })
    }
}

fn step_line(
    step: &StepView,
    readings: &[FigureReading],
    now: DateTime<Utc>,
) -> Option<ProgressLine> {
    let progress = step.progress.as_ref()?;
    let percent = tables_percent(&progress.tables)?;
    let is_running = step.state == StepState::Running;
    let left = progress.eta_seconds.filter(|_| is_running);
    let left = left.and_then(|left| TimeDelta::try_milliseconds((left * 1e3) as i64));
    let mut figures = vec![rows_text(progress)];
    figures.extend(rate_text(progress).filter(|_| is_running));
    Some(ProgressLine {
        percent,
        of: format!("of the {}", counted_words(step)),
        figures,
        ends: left.map(|left| {
            let (from, to) = predicted_ends(&step.id, readings, now, left);
            end_texts(from, to, now)
        }),
    })
}

fn rows_text(progress: &Progress) -> String {
    let done = progress.tables.iter().map(|table| table.rows_done).sum();
    let total = progress.tables.iter().map(|table| table.rows_total).sum();
    if total <= done {
        return format!("{} rows", count(done));
    }
    format!("{} of {} rows", count(done), count(total))
}

fn rate_text(progress: &Progress) -> Option<String> {
    let rows = progress.rows_per_second;
    (rows > 0.0).then(|| {
        let bytes = bytes(progress.bytes_per_second as i64);
        format!("{} rows/s, {bytes}/s", count(rows as i64))
    })
}

/// Returns the earliest and the latest of the ends of a step that were predicted recently, with a minimum error.
fn predicted_ends(
    step: &StepId,
    readings: &[FigureReading],
    now: DateTime<Utc>,
    left: TimeDelta,
) -> (DateTime<Utc>, DateTime<Utc>) {
    let of_step = readings
        .iter()
        .filter(|reading| reading.step.as_ref() == Some(step));
    let predictions: Vec<_> = of_step
        .filter_map(|reading| Some((reading.at, TimeDelta::milliseconds(reading.left_ms?))))
        .collect();
    let first = predictions.first().map_or(now, |(at, _)| *at);
    let since = now - (now - first) / RECENT;
    let recent = predictions.iter().filter(|(at, _)| *at >= since);
    let ends = recent.map(|(at, left)| *at + *left);
    let error = left / MIN_ERROR;
    let (mut earliest, mut latest) = (now + left - error, now + left + error);
    for end in ends {
        (earliest, latest) = (earliest.min(end), latest.max(end));
    }
    (earliest.max(now), latest)
}

/// Formats two times, rounded outwards so that they do not change all the time.
fn end_texts(from: DateTime<Utc>, to: DateTime<Utc>, now: DateTime<Utc>) -> (String, String) {
    let (unit, format) = match (to - now).num_minutes() {
        ..2 => (5, "%H:%M:%S"),
        2..10 => (10, "%H:%M:%S"),
        10..720 => (60, "%H:%M"),
        _ => (900, "%b %-d %H:%M"),
    };
    let unit = TimeDelta::seconds(unit);
    let text = |at: DateTime<Utc>| {
        let exact = at.to_rfc3339_opts(SecondsFormat::Secs, true);
        let full = at.format("%Y-%m-%d %H:%M:%S UTC");
        let short = at.format(format);
        format!("<time datetime=\"{exact}\" title=\"{full}\">{short}</time>")
    };
    let down = |at: DateTime<Utc>| at.duration_trunc(unit).unwrap_or(at);
    (text(down(from)), text(down(to) + unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    fn prediction(second: i64, left_s: i64) -> FigureReading {
        FigureReading {
            at: at(second),
            step: Some("copy".into()),
            rows: 1,
            rows_total: 10,
            bytes: 1,
            left_ms: Some(left_s * 1_000),
            stream: None,
        }
    }

    #[test]
    fn the_end_is_a_range_of_recent_predictions() {
        let readings = [
            // Too old to count: it predicted the end at 1000.
            prediction(0, 1_000),
            prediction(80, 220),
            prediction(90, 160),
        ];
        let (from, to) =
            predicted_ends(&"copy".into(), &readings, at(100), TimeDelta::seconds(180));
        assert_eq!((from, to), (at(250), at(300)));
    }

    #[test]
    fn a_single_prediction_is_not_exact() {
        let (from, to) = predicted_ends(&"copy".into(), &[], at(0), TimeDelta::seconds(100));
        assert_eq!((from, to), (at(90), at(110)));
        let (from, to) = end_texts(from, to, at(0));
        assert!(from.ends_with(">08:01:30</time>"), "{from}");
        assert!(to.ends_with(">08:01:55</time>"), "{to}");
    }
}
