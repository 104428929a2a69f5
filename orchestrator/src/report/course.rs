//! The charts of a migration's readings: the figures that its heartbeats reported over time.

use crate::chart::{Chart, ChartFrame, ChartLine, ChartPoint, ChartQuantity, ChartRun};
use crate::store::{FigureReading, StreamReading};
use crate::view::StepView;
use chrono::{DateTime, TimeDelta, Utc};

/// If this many readings in a row are missing, nothing was measured in the meantime.
const MAX_MISSING: i32 = 5;

/// Returns charts over time: rows and changes per second, log per second, and the lag of the stream in time and bytes.
pub(crate) fn charts(readings: &[FigureReading], steps: &[StepView]) -> Vec<Chart> {
    let Some(frame) = frame(readings, steps) else {
        return Vec::new();
    };
    let begun = steps.iter().filter_map(|step| step.started_at).min();
    let begun = begun.map_or(frame.from, |begun| begun.min(frame.from));
    let stream = |figure: fn(&StreamReading) -> i64| {
        let value = |reading: &FigureReading| Some(figure(reading.stream.as_ref()?) as f64);
        runs(readings, begun, value)
    };
    let log = |figure| without_zero(stream(figure));
    let line = |name, runs| ChartLine { name, runs };
    let rows = [line("rows", rates(row_runs(readings, begun)))];
    let changes = [line("changes", rates(stream(|s| s.changes)))];
    let written = line("written upstream", rates(log(|s| s.written_at)));
    let applied = line("applied", rates(log(|s| s.applied_at)));
    let lag_ms = [line("lag", stream(|s| s.lag_ms))];
    let lag_bytes = [
        line("lag", stream(|s| s.lag_bytes)),
        line("log retained upstream", stream(|s| s.retained_bytes)),
    ];
    let chart =
        |title, quantity, lines: &[ChartLine<'_>]| Chart::of(title, quantity, lines, &frame);
    [
        chart(
            "Rows per second, copied or compared",
            ChartQuantity::Rate("rows/s"),
            &rows,
        ),
        chart(
            "Changes applied per second",
            ChartQuantity::Rate("changes/s"),
            &changes,
        ),
        chart(
            "Log per second",
            ChartQuantity::Bytes("/s"),
            &[written, applied],
        ),
        chart("Lag of the stream, in time", ChartQuantity::Millis, &lag_ms),
        chart(
            "Lag of the stream, in log",
            ChartQuantity::Bytes(""),
            &lag_bytes,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the time axis of all charts: from the first to the last reading, with a mark where a step began. `None`
/// without two readings.
fn frame(readings: &[FigureReading], steps: &[StepView]) -> Option<ChartFrame> {
    let (from, to) = (readings.first()?.at, readings.last()?.at);
    let mark = |step: &StepView| Some((step.started_at?, step.id.to_string()));
    let marks = steps.iter().filter_map(mark);
    (to > from).then(|| ChartFrame {
        from,
        to,
        marks: marks.filter(|(at, _)| (from..=to).contains(at)).collect(),
    })
}

/// Returns the values of a figure in runs: a run ends where the figure is missing, or where too many readings are.
/// `begun` is the start of the migration, whose age determines how often it has readings.
fn runs(
    readings: &[FigureReading],
    begun: DateTime<Utc>,
    value: impl Fn(&FigureReading) -> Option<f64>,
) -> Vec<ChartRun> {
    let mut runs: Vec<ChartRun> = Vec::new();
    let mut last: Option<DateTime<Utc>> = None;
    for reading in readings {
        let Some(value) = value(reading) else {
            last = None;
            continue;
        };
        let longest = max_distance(reading.at - begun);
        let continues = last.is_some_and(|last| reading.at - last <= longest);
        match runs.last_mut().filter(|_| continues) {
            Some(run) => run.push((reading.at, value)),
            None => runs.push(vec![(reading.at, value)]),
        }
        last = Some(reading.at);
    }
    runs
}

/// Returns the longest time between two readings of one run, for a migration of this age.
fn max_distance(age: TimeDelta) -> TimeDelta {
    FigureReading::interval_at(age) * MAX_MISSING
}

/// Returns the number of done rows in runs. Each step counts its own rows, so a run ends with its step.
fn row_runs(readings: &[FigureReading], begun: DateTime<Utc>) -> Vec<ChartRun> {
    let mut all = Vec::new();
    for readings in readings.chunk_by(|a, b| a.step == b.step) {
        let rows =
            |reading: &FigureReading| (reading.rows_total > 0).then_some(reading.rows as f64);
        all.extend(runs(readings, begun, rows));
    }
    all
}

/// Ends a run at readings with position 0: the agent does not report the position, or the stream has not reported yet.
fn without_zero(runs: Vec<ChartRun>) -> Vec<ChartRun> {
    let is_known = |point: &ChartPoint| point.1 > 0.0;
    let runs = runs.iter();
    let known = runs.flat_map(|run| run.split(move |point| !is_known(point)));
    known
        .filter(|run| !run.is_empty())
        .map(<[ChartPoint]>::to_vec)
        .collect()
}

/// Returns by how much a count grows per second. A run ends where the count decreases, because it was reset.
fn rates(runs: Vec<ChartRun>) -> Vec<ChartRun> {
    let growing = runs
        .iter()
        .flat_map(|run| run.chunk_by(|(_, first), (_, second)| second >= first));
    let rates = growing.map(|run| run.windows(2).filter_map(rate).collect());
    rates.filter(|run: &ChartRun| !run.is_empty()).collect()
}

fn rate(pair: &[ChartPoint]) -> Option<ChartPoint> {
    let [(start, first), (end, second)] = pair else {
        return None;
    };
    let seconds = (*end - *start).num_milliseconds() as f64 / 1e3;
    (seconds > 0.0).then(|| (*end, (second - first) / seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use askama::Template;
    use plans::names::Direction;

    fn reading(second: i64, written_at: i64, applied_at: i64) -> FigureReading {
        FigureReading {
            at: DateTime::from_timestamp(1_800_000_000, 0).unwrap() + TimeDelta::seconds(second),
            step: None,
            rows: 0,
            rows_total: 0,
            bytes: 0,
            left_ms: None,
            stream: Some(StreamReading {
                direction: Direction::Forward,
                lag_bytes: 0,
                lag_ms: 0,
                changes: 0,
                retained_bytes: 0,
                spooled_bytes: 0,
                written_at,
                applied_at,
            }),
        }
    }

    #[test]
    fn one_chart_shows_the_log_that_is_written_and_the_log_that_is_applied() {
        let readings = [
            reading(0, 0, 0),
            reading(1, 10 << 20, 9 << 20),
            reading(2, 20 << 20, 13 << 20),
            reading(3, 30 << 20, 30 << 20),
        ];
        let texts: Vec<String> = charts(&readings, &[])
            .iter()
            .map(|chart| chart.render().unwrap())
            .collect();
        let summary = "Log per second: written upstream at most 10.0 MiB/s, 10.0 MiB/s at the end; \
                    applied at most 17.0 MiB/s, 17.0 MiB/s at the end.";
        assert!(
            texts.iter().any(|chart| chart.contains(summary)),
            "{texts:?}"
        );
    }

    fn copying(second: i64, step: &str, rows: i64) -> FigureReading {
        FigureReading {
            step: Some(step.into()),
            rows,
            rows_total: 1_000,
            stream: None,
            ..reading(second, 0, 0)
        }
    }

    #[test]
    fn a_series_with_missing_samples_has_a_gap() {
        let readings = [
            copying(0, "copy", 0),
            copying(1, "copy", 100),
            copying(2, "copy", 300),
            // Nothing was reported for 18 seconds.
            copying(20, "copy", 400),
            copying(21, "copy", 450),
        ];
        let rows = rates(row_runs(&readings, readings[0].at));
        let expected = [
            vec![(readings[1].at, 100.0), (readings[2].at, 200.0)],
            vec![(readings[4].at, 50.0)],
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_rate_is_not_computed_over_the_end_of_a_step() {
        let readings = [
            copying(0, "copy", 0),
            copying(1, "copy", 45_000),
            copying(2, "verify", 50_000),
            copying(3, "verify", 60_000),
        ];
        let rows = rates(row_runs(&readings, readings[0].at));
        let expected = [
            vec![(readings[1].at, 45_000.0)],
            vec![(readings[3].at, 10_000.0)],
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn an_old_migration_has_readings_less_often() {
        let begun = DateTime::from_timestamp(1_800_000_000, 0).unwrap() - TimeDelta::days(10);
        let readings = [copying(0, "copy", 0), copying(1_000, "copy", 1_000)];
        assert_eq!(runs(&readings, begun, |_| Some(1.0)).len(), 1);
    }
}
