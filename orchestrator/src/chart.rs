//! Line charts over time. The server draws them as SVG and adds a sentence and a table with the same figures.

use askama::Template;
use chrono::{DateTime, TimeDelta, Utc};

/// The width of the drawing, which is 170 high, and the position of the plot area in it, in units of the SVG.
const WIDTH: f64 = 640.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 146.0;
/// The largest number of points of a line. If there are more, each group of consecutive points is drawn as its highest
/// point.
const POINTS: usize = 280;
/// The largest number of rows of the table.
const ROWS: usize = 12;

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
    /// Draws `lines`; `show` formats their values. Returns `None` if the points do not have two different times.
    pub(crate) fn of(
        title: &str,
        lines: &[ChartLine<'_>],
        show: fn(f64) -> String,
    ) -> Option<Self> {
        let points = || lines.iter().flat_map(|line| &line.points);
        let first = points().map(|(at, _)| *at).min()?;
        let last = points().map(|(at, _)| *at).max().filter(|at| *at > first)?;
        let most = points().map(|(_, value)| *value).fold(0.0, f64::max);
        let top = round_up(most);
        let span = millis(first, last);
        let place = |at: DateTime<Utc>, value: f64| {
            let x = LEFT + millis(first, at) / span * (WIDTH - LEFT - 8.0);
            (x, BOTTOM - value.max(0.0) / top * (BOTTOM - TOP))
        };
        let drawn = |line: &ChartLine<'_>| DrawnLine {
            name: line.name.to_owned(),
            points: thinned(&line.points, POINTS)
                .map(|(at, value)| {
                    let (x, y) = place(at, value);
                    format!("{x:.1},{y:.1}")
                })
                .collect::<Vec<_>>()
                .join(" "),
        };
        let grid = [0.0, 0.5, 1.0].map(|part| AxisLabel {
            at: BOTTOM - part * (BOTTOM - TOP),
            label: show(top * part),
        });
        let times = [0.0, 0.5, 1.0].map(|part| {
            let at = first + TimeDelta::milliseconds((span * part) as i64);
            AxisLabel {
                at: place(at, 0.0).0,
                label: at.format("%H:%M:%S").to_string(),
            }
        });
        Some(Self {
            title: title.to_owned(),
            summary: summary(title, lines, show),
            lines: lines.iter().map(drawn).collect(),
            grid: grid.into(),
            times: times.into(),
            names: lines.iter().map(|line| line.name.to_owned()).collect(),
            rows: table(lines, show),
        })
    }
}

/// Returns the time between two points, in milliseconds.
fn millis(from: DateTime<Utc>, to: DateTime<Utc>) -> f64 {
    (to - from).num_milliseconds() as f64
}

/// Returns the smallest of the numbers 1, 2, 5, 10, 20, ... that is at least `most`.
fn round_up(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(most.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|top| *top >= most).unwrap_or(most)
}

/// Returns at most `most` points: the highest point of each group.
fn thinned(
    points: &[(DateTime<Utc>, f64)],
    most: usize,
) -> impl Iterator<Item = (DateTime<Utc>, f64)> + '_ {
    let stretch = points.len().div_ceil(most).max(1);
    let highest = |points: &[(DateTime<Utc>, f64)]| {
        let higher = |one: &(_, f64), other: &(_, f64)| one.1.total_cmp(&other.1);
        points.iter().copied().max_by(higher)
    };
    points.chunks(stretch).filter_map(highest)
}

/// Returns the sentence that describes the lines.
fn summary(title: &str, lines: &[ChartLine<'_>], show: fn(f64) -> String) -> String {
    let summaries = lines.iter().filter_map(|line| {
        let most = line
            .points
            .iter()
            .map(|(_, value)| *value)
            .reduce(f64::max)?;
        let (_, last) = line.points.last()?;
        let name = line.name;
        Some(format!(
            "{name} at most {}, {} at the end",
            show(most),
            show(*last)
        ))
    });
    format!("{title}: {}.", summaries.collect::<Vec<_>>().join("; "))
}

/// Returns the rows of the table: the points of the first line, with the values of the other lines at that time.
fn table(lines: &[ChartLine<'_>], show: fn(f64) -> String) -> Vec<(String, Vec<String>)> {
    let Some(first) = lines.first() else {
        return Vec::new();
    };
    let row = |(at, value): (DateTime<Utc>, f64)| {
        let further = lines[1..].iter().map(|line| {
            let before = line.points.partition_point(|(other, _)| *other <= at);
            let value = before
                .checked_sub(1)
                .and_then(|index| line.points.get(index));
            value.map_or_else(|| "-".to_owned(), |(_, value)| show(*value))
        });
        let cells = [show(value)].into_iter().chain(further).collect();
        (at.format("%H:%M:%S").to_string(), cells)
    };
    thinned(&first.points, ROWS).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    fn whole(value: f64) -> String {
        format!("{value:.0}")
    }

    #[test]
    fn a_line_lies_between_its_axes() {
        let line = ChartLine {
            name: "lag",
            points: vec![(at(0), 0.0), (at(5), 4.0), (at(10), 1.0)],
        };
        let chart = Chart::of("Lag", &[line], whole).unwrap();
        assert_eq!(chart.lines[0].points, "70.0,146.0 351.0,38.8 632.0,119.2");
        assert_eq!(chart.grid[2].label, "5");
        assert_eq!(chart.summary, "Lag: lag at most 4, 1 at the end.");
        assert_eq!(chart.rows.len(), 3);
        let html = chart.render().unwrap();
        assert!(html.contains("<polyline class=\"line l0\""), "{html}");
    }

    #[test]
    fn one_moment_is_no_line() {
        let line = ChartLine {
            name: "lag",
            points: vec![(at(0), 1.0)],
        };
        assert!(Chart::of("Lag", &[line], whole).is_none());
        assert!(Chart::of("Lag", &[], whole).is_none());
    }

    #[test]
    fn of_many_points_the_highest_are_drawn() {
        let points: Vec<_> = (0..10_000)
            .map(|second| (at(second), if second == 777 { 9.0 } else { 1.0 }))
            .collect();
        let drawn: Vec<_> = thinned(&points, POINTS).collect();
        assert!(drawn.len() <= POINTS);
        assert!(drawn.iter().any(|(_, value)| *value == 9.0));
    }

    #[test]
    fn an_axis_ends_with_a_round_number() {
        assert_eq!(
            [0.0, 1.0, 3.0, 700.0].map(round_up),
            [1.0, 1.0, 5.0, 1_000.0]
        );
    }
}
