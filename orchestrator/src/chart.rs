//! Line charts over time. The server draws them as SVG and adds a sentence and a table with the same figures.
//!
//! A line consists of runs. Nothing was measured between two runs, so nothing is drawn there. The charts of a page have
//! the same time axis, with a mark where a step began.

mod axis;

use crate::time_axis::{TimeTick, time_text, time_ticks};
use askama::Template;
pub(crate) use axis::{ChartQuantity, ValueAxis};
use chrono::{DateTime, Utc};

/// The width of the drawing, in units of the SVG. The template sets the height, 170.
const WIDTH: f64 = 640.0;
/// The edges of the plot area in the drawing.
const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 142.0;
/// The largest number of points of a line. If there are more, each group of consecutive points is drawn as its highest
/// point.
const MAX_POINTS: usize = 280;
/// The largest number of rows of the table, without those for gaps.
const MAX_ROWS: usize = 12;
/// The largest number of ticks of the time axis.
const MAX_TIMES: usize = 6;
/// A label that is nearer to an edge than this would be cut.
const EDGE: f64 = 28.0;

/// A value and its time.
pub(crate) type ChartPoint = (DateTime<Utc>, f64);

/// Values that were measured one after the other, oldest first.
pub(crate) type ChartRun = Vec<ChartPoint>;

/// One line: its name, and its runs, oldest first.
pub(crate) struct ChartLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) runs: Vec<ChartRun>,
}

impl ChartLine<'_> {
    fn points(&self) -> impl Iterator<Item = &ChartPoint> {
        self.runs.iter().flatten()
    }

    /// Returns the value at a time in a run: the last one that is not later; `None` if nothing was measured then.
    fn value_at(&self, at: DateTime<Utc>) -> Option<f64> {
        let covers = |run: &&ChartRun| {
            let ends = run.first().zip(run.last());
            ends.is_some_and(|((from, _), (to, _))| (*from..=*to).contains(&at))
        };
        let run = self.runs.iter().find(covers)?;
        let not_later = run.partition_point(|(time, _)| *time <= at);
        Some(run.get(not_later.checked_sub(1)?)?.1)
    }
}

/// The time axis that all charts of a page have in common.
#[derive(Debug, Clone)]
pub(crate) struct ChartFrame {
    pub(crate) from: DateTime<Utc>,
    pub(crate) to: DateTime<Utc>,
    /// Names of steps, and when they began.
    pub(crate) marks: Vec<(DateTime<Utc>, String)>,
}

impl ChartFrame {
    fn x(&self, at: DateTime<Utc>) -> f64 {
        let millis = |from: DateTime<Utc>, to: DateTime<Utc>| (to - from).num_milliseconds() as f64;
        let x = LEFT + millis(self.from, at) / millis(self.from, self.to) * (RIGHT - LEFT);
        (x * 10.0).round() / 10.0
    }

    fn text(&self, at: DateTime<Utc>) -> String {
        time_text(at, self.to - self.from)
    }
}

/// A chart with several lines over the same time.
#[derive(Template)]
#[template(path = "chart.html")]
pub(crate) struct Chart {
    title: String,
    unit: String,
    summary: String,
    lines: Vec<DrawnLine>,
    grid: Vec<ValueTick>,
    times: Vec<PlacedTime>,
    marks: Vec<StepMark>,
    names: Vec<String>,
    rows: Vec<ChartRow>,
}

struct DrawnLine {
    name: String,
    /// The outline as an SVG path, with a `M` for each run.
    path: String,
}

struct ValueTick {
    y: f64,
    label: String,
}

/// A label of the time axis.
struct PlacedTime {
    x: f64,
    label: String,
    anchor: &'static str,
}

/// Where a step began.
struct StepMark {
    x: f64,
    /// The step and the time, as in `copy at 08:00:00`.
    name: String,
}

/// A row of the table. A row without cells is a time in which nothing was measured.
struct ChartRow {
    time: String,
    cells: Vec<String>,
}

impl Chart {
    /// Draws `lines`. Returns `None` if nothing was measured.
    pub(crate) fn of(
        title: &str,
        quantity: ChartQuantity,
        lines: &[ChartLine<'_>],
        frame: &ChartFrame,
    ) -> Option<Self> {
        let points = || lines.iter().flat_map(ChartLine::points);
        points().next()?;
        let highest = points().map(|(_, value)| *value).fold(0.0, f64::max);
        let axis = ValueAxis::new(quantity, highest);
        let y = |fraction: f64| BOTTOM - fraction * (BOTTOM - TOP);
        let drawn = |line: &ChartLine<'_>| DrawnLine {
            name: line.name.to_owned(),
            path: path(line, |at, value| (frame.x(at), y(axis.fraction(value)))),
        };
        Some(Self {
            title: title.to_owned(),
            summary: summary(title, lines, &axis),
            lines: lines.iter().map(drawn).collect(),
            grid: axis
                .ticks()
                .map(|(fraction, label)| ValueTick {
                    y: y(fraction).round(),
                    label,
                })
                .collect(),
            times: placed_times(frame),
            marks: frame
                .marks
                .iter()
                .map(|(at, name)| StepMark {
                    x: frame.x(*at),
                    name: format!("{name} at {}", frame.text(*at)),
                })
                .collect(),
            names: lines.iter().map(|line| line.name.to_owned()).collect(),
            rows: table(lines, &axis, frame),
            unit: axis.unit,
        })
    }
}

/// Returns the labels of the time axis. Those near an edge end or begin there.
fn placed_times(frame: &ChartFrame) -> Vec<PlacedTime> {
    let place = |tick: TimeTick| {
        let x = frame.x(tick.at);
        let anchor = match x {
            x if x < LEFT + EDGE => "start",
            x if x > RIGHT - EDGE => "end",
            _ => "middle",
        };
        PlacedTime {
            x,
            label: tick.label,
            anchor,
        }
    };
    let ticks = time_ticks(frame.from, frame.to, MAX_TIMES);
    ticks.into_iter().map(place).collect()
}

/// Returns the outline of a line. A run of one point is drawn as a dot, because its round end is visible.
fn path(line: &ChartLine<'_>, position: impl Fn(DateTime<Utc>, f64) -> (f64, f64)) -> String {
    let group = group_size(line, MAX_POINTS);
    let mut path = String::new();
    for run in &line.runs {
        for (index, (at, value)) in thin_out(run, group).enumerate() {
            let (x, y) = position(at, value);
            let command = if index == 0 { 'M' } else { 'L' };
            path += &format!("{command}{x:.1} {y:.1}");
        }
        if run.len() <= group {
            path.push_str("h0");
        }
    }
    path
}

/// Returns how many consecutive points become one, so that at most about `limit` remain.
fn group_size(line: &ChartLine<'_>, limit: usize) -> usize {
    line.points().count().div_ceil(limit).max(1)
}

/// Returns the highest point of each group of consecutive points.
fn thin_out(points: &[ChartPoint], group: usize) -> impl Iterator<Item = ChartPoint> + '_ {
    let highest = |points: &[ChartPoint]| {
        let higher = |a: &(_, f64), b: &(_, f64)| a.1.total_cmp(&b.1);
        points.iter().copied().max_by(higher)
    };
    points.chunks(group).filter_map(highest)
}

/// Returns the sentence that describes the lines.
fn summary(title: &str, lines: &[ChartLine<'_>], axis: &ValueAxis) -> String {
    let summaries = lines.iter().filter_map(|line| {
        let values = || line.points().map(|(_, value)| *value);
        let highest = values().reduce(f64::max)?;
        let gaps = match line.runs.len() - 1 {
            0 => String::new(),
            1 => ", not measured once in between".to_owned(),
            gaps => format!(", not measured {gaps} times in between"),
        };
        Some(format!(
            "{} at most {}, {} at the end{gaps}",
            line.name,
            axis.text(highest),
            axis.text(values().last()?)
        ))
    });
    format!("{title}: {}.", summaries.collect::<Vec<_>>().join("; "))
}

/// Returns the rows of the table: points of the first line, with the values of the other lines at that time, and the
/// times in which nothing was measured.
fn table(lines: &[ChartLine<'_>], axis: &ValueAxis, frame: &ChartFrame) -> Vec<ChartRow> {
    let Some(first) = lines.first() else {
        return Vec::new();
    };
    let row = |(at, value): ChartPoint| {
        let others = lines[1..].iter().map(|line| line.value_at(at));
        let cells = [Some(value)].into_iter().chain(others);
        ChartRow {
            time: frame.text(at),
            cells: cells
                .map(|value| value.map_or_else(|| "not measured".to_owned(), |v| axis.text(v)))
                .collect(),
        }
    };
    let group = group_size(first, MAX_ROWS);
    let mut rows: Vec<ChartRow> = Vec::new();
    let mut end: Option<DateTime<Utc>> = None;
    for run in &first.runs {
        if let Some((end, (begin, _))) = end.zip(run.first()) {
            rows.push(ChartRow {
                time: format!("{} to {}", frame.text(end), frame.text(*begin)),
                cells: Vec::new(),
            });
        }
        rows.extend(thin_out(run, group).map(row));
        end = run.last().map(|(at, _)| *at);
    }
    rows
}

#[cfg(test)]
mod tests;
