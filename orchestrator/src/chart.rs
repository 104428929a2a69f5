//! Line charts over time. The server draws them as SVG and adds a sentence and a table with the same figures.

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};

/// The width of the drawing, in units of the SVG. The template sets the height, 170.
const WIDTH: f64 = 640.0;
/// The edges of the plot area in the drawing.
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 146.0;
/// The largest number of points of a line. If there are more, each group of consecutive points is drawn as its highest
/// point.
const MAX_POINTS: usize = 280;
/// The largest number of rows of the table.
const MAX_ROWS: usize = 12;

/// One line: its name, and its values by time, oldest first.
pub(crate) struct ChartLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) points: Vec<(DateTime<Utc>, f64)>,
}

/// A chart with several lines over the same time.
#[derive(Template)]
#[template(path = "chart.html")]
pub(crate) struct Chart {
    title: String,
    summary: String,
    lines: Vec<DrawnLine>,
    grid: Vec<AxisLabel>,
    times: Vec<AxisLabel>,
    names: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

struct DrawnLine {
    name: String,
    points: String,
}

/// A label at a position of an axis.
struct AxisLabel {
    /// The coordinate along the axis.
    at: f64,
    label: String,
}

impl Chart {
    /// Draws `lines`; `format_value` formats their values. Returns `None` if the points do not have two different
    /// times.
    pub(crate) fn of(
        title: &str,
        lines: &[ChartLine<'_>],
        format_value: fn(f64) -> String,
    ) -> Option<Self> {
        let points = || lines.iter().flat_map(|line| &line.points);
        let first = points().map(|(at, _)| *at).min()?;
        let last = points().map(|(at, _)| *at).max().filter(|at| *at > first)?;
        let highest = points().map(|(_, value)| *value).fold(0.0, f64::max);
        let top = round_up(highest);
        let span = millis_between(first, last);
        let position = |at: DateTime<Utc>, value: f64| {
            let x = LEFT + millis_between(first, at) / span * (RIGHT - LEFT);
            (x, BOTTOM - value.max(0.0) / top * (BOTTOM - TOP))
        };
        let drawn_line = |line: &ChartLine<'_>| DrawnLine {
            name: line.name.to_owned(),
            points: thin_out(&line.points, MAX_POINTS)
                .map(|(at, value)| {
                    let (x, y) = position(at, value);
                    format!("{x:.1},{y:.1}")
                })
                .collect::<Vec<_>>()
                .join(" "),
        };
        let grid = [0.0, 0.5, 1.0].map(|fraction| AxisLabel {
            at: BOTTOM - fraction * (BOTTOM - TOP),
            label: format_value(top * fraction),
        });
        let times = [0.0, 0.5, 1.0].map(|fraction| {
            let at = first + TimeDelta::milliseconds((span * fraction) as i64);
            AxisLabel {
                at: position(at, 0.0).0,
                label: at.format("%H:%M:%S").to_string(),
            }
        });
        Some(Self {
            title: title.to_owned(),
            summary: summary(title, lines, format_value),
            lines: lines.iter().map(drawn_line).collect(),
            grid: grid.into(),
            times: times.into(),
            names: lines.iter().map(|line| line.name.to_owned()).collect(),
            rows: table(lines, format_value),
        })
    }
}

/// Returns the time between two points, in milliseconds.
fn millis_between(from: DateTime<Utc>, to: DateTime<Utc>) -> f64 {
    (to - from).num_milliseconds() as f64
}

/// Returns the smallest of the numbers 1, 2, 5, 10, 20, ... (and 0.5, 0.2, 0.1, ...) that is at least `value`; 1 for 0.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|top| *top >= value).unwrap_or(value)
}

/// Returns at most `limit` points: the highest point of each group of consecutive points.
fn thin_out(
    points: &[(DateTime<Utc>, f64)],
    limit: usize,
) -> impl Iterator<Item = (DateTime<Utc>, f64)> + '_ {
    let group_size = points.len().div_ceil(limit).max(1);
    let highest = |points: &[(DateTime<Utc>, f64)]| {
        let higher = |a: &(_, f64), b: &(_, f64)| a.1.total_cmp(&b.1);
        points.iter().copied().max_by(higher)
    };
    points.chunks(group_size).filter_map(highest)
}

/// Returns the sentence that describes the lines.
fn summary(title: &str, lines: &[ChartLine<'_>], format_value: fn(f64) -> String) -> String {
    let summaries = lines.iter().filter_map(|line| {
        let highest = line
            .points
            .iter()
            .map(|(_, value)| *value)
            .reduce(f64::max)?;
        let (_, last) = line.points.last()?;
        let name = line.name;
        Some(format!(
            "{name} at most {}, {} at the end",
            format_value(highest),
            format_value(*last)
        ))
    });
    format!("{title}: {}.", summaries.collect::<Vec<_>>().join("; "))
}

/// Returns the rows of the table: the points of the first line, with the values of the other lines at that time.
fn table(lines: &[ChartLine<'_>], format_value: fn(f64) -> String) -> Vec<(String, Vec<String>)> {
    let Some(first) = lines.first() else {
        return Vec::new();
    };
    let row = |(at, value): (DateTime<Utc>, f64)| {
        let other_values = lines[1..].iter().map(|line| {
            // The last value of the other line that is not later than `at`.
            let not_later = line.points.partition_point(|(time, _)| *time <= at);
            let value = not_later
                .checked_sub(1)
                .and_then(|index| line.points.get(index));
            value.map_or_else(|| "-".to_owned(), |(_, value)| format_value(*value))
        });
        let cells = [format_value(value)]
            .into_iter()
            .chain(other_values)
            .collect();
        (at.format("%H:%M:%S").to_string(), cells)
    };
    thin_out(&first.points, MAX_ROWS).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    fn format_integer(value: f64) -> String {
        format!("{value:.0}")
    }

    #[test]
    fn a_line_lies_between_its_axes() {
        let line = ChartLine {
            name: "lag",
            points: vec![(at(0), 0.0), (at(5), 4.0), (at(10), 1.0)],
        };
        let chart = Chart::of("Lag", &[line], format_integer).unwrap();
        assert_eq!(chart.lines[0].points, "70.0,146.0 351.0,38.8 632.0,119.2");
        assert_eq!(chart.grid[2].label, "5");
        assert_eq!(chart.summary, "Lag: lag at most 4, 1 at the end.");
        assert_eq!(chart.rows.len(), 3);
        let html = chart.render().unwrap();
        assert!(html.contains("<polyline class=\"line l0\""), "{html}");
    }

    #[test]
    fn points_of_one_time_give_no_chart() {
        let line = ChartLine {
            name: "lag",
            points: vec![(at(0), 1.0)],
        };
        assert!(Chart::of("Lag", &[line], format_integer).is_none());
        assert!(Chart::of("Lag", &[], format_integer).is_none());
    }

    #[test]
    fn thinning_out_keeps_the_highest_points() {
        let points: Vec<_> = (0..10_000)
            .map(|second| (at(second), if second == 777 { 9.0 } else { 1.0 }))
            .collect();
        let remaining: Vec<_> = thin_out(&points, MAX_POINTS).collect();
        assert!(remaining.len() <= MAX_POINTS);
        assert!(remaining.iter().any(|(_, value)| *value == 9.0));
    }

    #[test]
    fn an_axis_ends_with_a_round_number() {
        assert_eq!(
            [0.0, 1.0, 3.0, 700.0].map(round_up),
            [1.0, 1.0, 5.0, 1_000.0]
        );
    }
}
