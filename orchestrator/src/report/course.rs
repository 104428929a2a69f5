//! Charts of a migration's readings.

use crate::chart::{Chart, Line};
use crate::dashboard::figures::count;
use crate::store::{Reading, StreamReading};
use chrono::{DateTime, Utc};
use plans::render::bytes;

/// Lag in time and bytes, retained log, rows copied and changes applied, over time.
pub(crate) fn charts(course: &[Reading]) -> Vec<Chart> {
    let of_stream = |figure: fn(&StreamReading) -> i64| {
        let point = |reading: &Reading| Some((reading.at, figure(reading.stream.as_ref()?) as f64));
        course.iter().filter_map(point).collect::<Vec<_>>()
    };
    let line = |name, points| Line { name, points };
    let copied = course.iter().filter(|reading| reading.rows_total > 0);
    let copied: Vec<_> = copied
        .map(|reading| (reading.at, reading.rows as f64))
        .collect();
    let lag_ms = [line("lag", of_stream(|stream| stream.lag_ms))];
    let lag_bytes = [
        line("behind", of_stream(|stream| stream.lag_bytes)),
        line(
            "log kept at the origin",
            of_stream(|stream| stream.retained_bytes),
        ),
    ];
    let rows = [line("rows", rates(&copied))];
    let changes = [line("changes", rates(&of_stream(|stream| stream.changes)))];
    [
        Chart::of("Rows per second, copied or compared", &rows, per_second),
        Chart::of("Changes applied per second", &changes, per_second),
        Chart::of("How far the stream is behind, in time", &lag_ms, in_ms),
        Chart::of("How far the stream is behind, in log", &lag_bytes, in_bytes),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What a count grows by in a second; nothing where it begins anew.
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
