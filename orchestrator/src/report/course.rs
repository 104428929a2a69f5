//! The charts of a migration's readings.

use crate::chart::{Chart, ChartLine};
use crate::store::{FigureReading, StreamReading};
use crate::view::figures::count;
use chrono::{DateTime, Utc};
use plans::render::bytes;

/// Returns charts over time: rows and changes per second, log per second, and the lag of the stream in time and bytes.
pub(crate) fn charts(course: &[FigureReading]) -> Vec<Chart> {
    let of_stream = |figure: fn(&StreamReading) -> i64| {
        let point =
            |reading: &FigureReading| Some((reading.at, figure(reading.stream.as_ref()?) as f64));
        course.iter().filter_map(point).collect::<Vec<_>>()
    };
    let line = |name, points| ChartLine { name, points };
    let copied = course.iter().filter(|reading| reading.rows_total > 0);
    let copied: Vec<_> = copied
        .map(|reading| (reading.at, reading.rows as f64))
        .collect();
    let lag_ms = [line("lag", of_stream(|stream| stream.lag_ms))];
    let lag_bytes = [
        line("behind", of_stream(|stream| stream.lag_bytes)),
        line(
            "log retained upstream",
            of_stream(|stream| stream.retained_bytes),
        ),
    ];
    let rows = [line("rows", rates(&copied))];
    let log = [
        line(
            "written upstream",
            rates(&known(of_stream(|stream| stream.written_at))),
        ),
        line(
            "applied",
            rates(&known(of_stream(|stream| stream.applied_at))),
        ),
    ];
    let changes = [line("changes", rates(&of_stream(|stream| stream.changes)))];
    [
        Chart::of("Rows per second, copied or compared", &rows, per_second),
        Chart::of("Changes applied per second", &changes, per_second),
        Chart::of("Log per second", &log, in_bytes),
        Chart::of("How far the stream is behind, in time", &lag_ms, in_ms),
        Chart::of("How far the stream is behind, in log", &lag_bytes, in_bytes),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Drops the readings with position 0: the agent does not report the position, or the stream has not reported yet.
fn known(points: Vec<(DateTime<Utc>, f64)>) -> Vec<(DateTime<Utc>, f64)> {
    points.into_iter().filter(|(_, at)| *at > 0.0).collect()
}

/// Returns by how much a count grows per second; no point where the count starts again from a lower value.
fn rates(points: &[(DateTime<Utc>, f64)]) -> Vec<(DateTime<Utc>, f64)> {
    let rate = |pair: &[(DateTime<Utc>, f64)]| {
        let [(from, before), (to, after)] = pair else {
            return None;
        };
        let seconds = (*to - *from).num_milliseconds() as f64 / 1e3;
        (after >= before && seconds > 0.0).then(|| (*to, (after - before) / seconds))
    };
    points.windows(2).filter_map(rate).collect()
}

fn per_second(value: f64) -> String {
    count(value as i64)
}

fn in_ms(value: f64) -> String {
    format!("{value:.0} ms")
}

fn in_bytes(value: f64) -> String {
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
    fn the_log_that_is_written_is_drawn_with_what_is_applied() {
        let course = [
            reading(0, 0, 0),
            reading(1, 10 << 20, 9 << 20),
            reading(2, 20 << 20, 13 << 20),
            reading(3, 30 << 20, 30 << 20),
        ];
        let drawn: Vec<String> = charts(&course)
            .iter()
            .map(|chart| chart.render().unwrap())
            .collect();
        let summary = "Log per second: written upstream at most 10.0 MiB, 10.0 MiB at the end; \
                    applied at most 17.0 MiB, 17.0 MiB at the end.";
        assert!(
            drawn.iter().any(|chart| chart.contains(summary)),
            "{drawn:?}"
        );
    }
}
