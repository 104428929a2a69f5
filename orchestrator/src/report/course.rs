//! The charts of a migration's readings: the figures that its heartbeats reported over time.

use crate::chart::{Chart, ChartLine};
use crate::store::{FigureReading, StreamReading};
use crate::view::figures::count;
use chrono::{DateTime, Utc};
use plans::render::bytes;

/// Returns charts over time: rows and changes per second, log per second, and the lag of the stream in time and bytes.
pub(crate) fn charts(readings: &[FigureReading]) -> Vec<Chart> {
    let stream_points = |figure: fn(&StreamReading) -> i64| {
        let point =
            |reading: &FigureReading| Some((reading.at, figure(reading.stream.as_ref()?) as f64));
        readings.iter().filter_map(point).collect::<Vec<_>>()
    };
    let line = |name, points| ChartLine { name, points };
    let with_rows = readings.iter().filter(|reading| reading.rows_total > 0);
    let row_points: Vec<_> = with_rows
        .map(|reading| (reading.at, reading.rows as f64))
        .collect();
    let lag_ms = [line("lag", stream_points(|stream| stream.lag_ms))];
    let lag_bytes = [
        line("lag", stream_points(|stream| stream.lag_bytes)),
        line(
            "log retained upstream",
            stream_points(|stream| stream.retained_bytes),
        ),
    ];
    let rows = [line("rows", rates(&row_points))];
    let log = [
        line(
            "written upstream",
            rates(&without_zero(stream_points(|stream| stream.written_at))),
        ),
        line(
            "applied",
            rates(&without_zero(stream_points(|stream| stream.applied_at))),
        ),
    ];
    let changes = [line(
        "changes",
        rates(&stream_points(|stream| stream.changes)),
    )];
    [
        Chart::of("Rows per second, copied or compared", &rows, format_rate),
        Chart::of("Changes applied per second", &changes, format_rate),
        Chart::of("Log per second", &log, format_bytes),
        Chart::of("Lag of the stream, in time", &lag_ms, format_ms),
        Chart::of("Lag of the stream, in log", &lag_bytes, format_bytes),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Drops the readings with position 0: the agent does not report the position, or the stream has not reported yet.
fn without_zero(points: Vec<(DateTime<Utc>, f64)>) -> Vec<(DateTime<Utc>, f64)> {
    points.into_iter().filter(|(_, at)| *at > 0.0).collect()
}

/// Returns by how much a count grows per second. If the count decreases, because it was reset, there is no point.
fn rates(points: &[(DateTime<Utc>, f64)]) -> Vec<(DateTime<Utc>, f64)> {
    let rate_of_pair = |pair: &[(DateTime<Utc>, f64)]| {
        let [(start, first), (end, second)] = pair else {
            return None;
        };
        let seconds = (*end - *start).num_milliseconds() as f64 / 1e3;
        (second >= first && seconds > 0.0).then(|| (*end, (second - first) / seconds))
    };
    points.windows(2).filter_map(rate_of_pair).collect()
}

fn format_rate(value: f64) -> String {
    count(value as i64)
}

fn format_ms(value: f64) -> String {
    format!("{value:.0} ms")
}

fn format_bytes(value: f64) -> String {
    bytes(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use askama::Template;
    use chrono::TimeDelta;
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
        let texts: Vec<String> = charts(&readings)
            .iter()
            .map(|chart| chart.render().unwrap())
            .collect();
        let summary = "Log per second: written upstream at most 10.0 MiB, 10.0 MiB at the end; \
                    applied at most 17.0 MiB, 17.0 MiB at the end.";
        assert!(
            texts.iter().any(|chart| chart.contains(summary)),
            "{texts:?}"
        );
    }
}
