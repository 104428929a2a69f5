//! Where a time is drawn on the timeline, in percent of its width.
//!
//! A long time in which no agent worked, such as a night before an approval, would leave no room for the work. It is
//! drawn as a break of fixed width.

use crate::time_axis::time_ticks;
use crate::view::figures::seconds;
use chrono::{DateTime, TimeDelta, Utc};

/// A time without work that is longer than this part of the whole, and than this time, becomes a break.
const MIN_BREAK_PART: i32 = 3;
const MIN_BREAK: TimeDelta = TimeDelta::minutes(10);
/// The width of a break, as a part of all other time.
const BREAK_WIDTH: f64 = 0.12;
/// Ticks are at least this far apart, in percent.
const TICK_DISTANCE: f64 = 15.0;
/// The largest number of ticks.
const MAX_TICKS: f64 = 6.0;

/// A part of the time axis.
#[derive(Debug, Clone, PartialEq)]
struct ScalePart {
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    x: f64,
    width: f64,
    is_break: bool,
}

/// Converts times to percent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TimeScale {
    parts: Vec<ScalePart>,
}

/// A label of the time axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AxisTick {
    pub(super) x: f64,
    pub(super) label: String,
    pub(super) anchor: &'static str,
}

/// A break of the time axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AxisBreak {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) label: String,
}

impl TimeScale {
    /// Returns the scale from `from` to `to`. `work` are the times in which an agent worked.
    pub(super) fn new(
        from: DateTime<Utc>,
        to: DateTime<Utc>,
        work: Vec<(DateTime<Utc>, DateTime<Utc>)>,
    ) -> Self {
        let to = to.max(from + TimeDelta::seconds(1));
        let shortest = MIN_BREAK.max((to - from) / MIN_BREAK_PART);
        let breaks: Vec<_> = idle_times(from, to, work)
            .into_iter()
            .filter(|(from, to)| *to - *from > shortest)
            .collect();
        let millis =
            |(from, to): (DateTime<Utc>, DateTime<Utc>)| (to - from).num_milliseconds() as f64;
        let idle: f64 = breaks.iter().map(|each| millis(*each)).sum();
        let rest = millis((from, to)) - idle;
        // Without any work there is nothing for which a break would leave room.
        let breaks = if rest < 1_000.0 { Vec::new() } else { breaks };
        let mut parts = Vec::new();
        let mut begin = from;
        for (from, to) in breaks {
            parts.push((begin, from, millis((begin, from)), false));
            parts.push((from, to, rest * BREAK_WIDTH, true));
            begin = to;
        }
        parts.push((begin, to, millis((begin, to)), false));
        let total: f64 = parts.iter().map(|(_, _, weight, _)| weight).sum();
        let mut x = 0.0;
        let part = |(from, to, weight, is_break)| {
            let width = weight / total * 100.0;
            let part = ScalePart {
                from,
                to,
                x,
                width,
                is_break,
            };
            x += width;
            part
        };
        Self {
            parts: parts.into_iter().map(part).collect(),
        }
    }

    /// Returns the position of a time. Earlier and later times are at the edges.
    pub(super) fn x(&self, at: DateTime<Utc>) -> f64 {
        let part = self.parts.iter().find(|part| at <= part.to);
        let Some(part) = part.filter(|part| part.to > part.from) else {
            return if part.is_some() { 0.0 } else { 100.0 };
        };
        let millis = |from: DateTime<Utc>, to: DateTime<Utc>| (to - from).num_milliseconds() as f64;
        let fraction = millis(part.from, at) / millis(part.from, part.to);
        let x = part.x + fraction.max(0.0) * part.width;
        (x * 100.0).round() / 100.0
    }

    /// Returns the labels of round times outside of breaks.
    pub(super) fn ticks(&self) -> Vec<AxisTick> {
        let mut ticks: Vec<AxisTick> = Vec::new();
        for part in self.parts.iter().filter(|part| !part.is_break) {
            let limit = (part.width / 100.0 * MAX_TICKS).ceil() as usize;
            for tick in time_ticks(part.from, part.to, limit) {
                let x = self.x(tick.at);
                let last = ticks.last().map_or(f64::MIN, |tick| tick.x);
                if x - last >= TICK_DISTANCE {
                    let (anchor, label) = (anchor(x), tick.label);
                    ticks.push(AxisTick { x, label, anchor });
                }
            }
        }
        ticks
    }

    pub(super) fn breaks(&self) -> Vec<AxisBreak> {
        let breaks = self.parts.iter().filter(|part| part.is_break);
        breaks
            .map(|part| AxisBreak {
                x: part.x,
                width: part.width,
                label: seconds((part.to - part.from).num_seconds() as f64),
            })
            .collect()
    }
}

fn anchor(x: f64) -> &'static str {
    match x {
        ..4.0 => "start",
        4.0..94.0 => "middle",
        _ => "end",
    }
}

/// Returns the times between `from` and `to` that no part of `work` covers.
fn idle_times(
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    mut work: Vec<(DateTime<Utc>, DateTime<Utc>)>,
) -> Vec<(DateTime<Utc>, DateTime<Utc>)> {
    work.sort_unstable();
    let mut idle = Vec::new();
    let mut end = from;
    for (begin, until) in work {
        if begin > end {
            idle.push((end, begin));
        }
        end = end.max(until);
    }
    if to > end {
        idle.push((end, to));
    }
    idle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn without_long_waits_the_axis_is_linear() {
        let scale = TimeScale::new(at(0), at(100), vec![(at(0), at(40)), (at(50), at(100))]);
        assert_eq!(scale.breaks(), []);
        assert_eq!([0, 25, 100].map(|s| scale.x(at(s))), [0.0, 25.0, 100.0]);
        assert_eq!(scale.x(at(-5)), 0.0);
        assert_eq!(scale.x(at(500)), 100.0);
    }

    #[test]
    fn a_long_wait_is_a_break_that_leaves_room_for_the_work() {
        let work = vec![(at(0), at(50)), (at(86_450), at(86_500))];
        let scale = TimeScale::new(at(0), at(86_500), work);
        let [night] = &scale.breaks()[..] else {
            panic!("{scale:?}");
        };
        assert_eq!(night.label, "24 h 0 min");
        assert!((night.width - 10.7).abs() < 0.1, "{night:?}");
        assert!((scale.x(at(50)) - 44.6).abs() < 0.1, "{scale:?}");
        assert!((scale.x(at(86_450)) - 55.4).abs() < 0.1, "{scale:?}");
        let distances: Vec<f64> = scale.ticks().windows(2).map(|t| t[1].x - t[0].x).collect();
        assert!(distances.iter().all(|distance| *distance >= TICK_DISTANCE));
    }
}
