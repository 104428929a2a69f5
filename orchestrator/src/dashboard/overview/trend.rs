//! The imbalance of the fleet over the last day, as a line. The line has a gap where nothing was measured.

use crate::controller::FleetMeasure;
use crate::store::{IMBALANCE_INTERVAL, IMBALANCE_KEPT, ImbalanceSample};
use crate::view::figures::seconds;
use askama::Template;
use chrono::{DateTime, Utc};
use std::fmt::Write;

/// The height of the picture, in its own units. Its width is one unit for each interval.
const HEIGHT: f64 = 24.0;
/// The imbalance at the top of the picture is at least this. Otherwise the line of an even fleet would look uneven.
const LEAST_TOP: f64 = 1.5;
/// The imbalance of a fleet in which each shard has its fair share.
const EVEN: f64 = 1.0;

/// The picture.
#[derive(Debug, Template)]
#[template(path = "overview/trend.html")]
pub(super) struct ImbalanceTrend {
    /// The number of intervals.
    width: i64,
    /// The path of the line.
    line: String,
    /// The picture in words.
    label: String,
}

impl ImbalanceTrend {
    /// Draws the samples of one measure; `None` if there are none.
    pub(super) fn new(
        samples: &[ImbalanceSample],
        measure: FleetMeasure,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let begin = ImbalanceSample::interval_of(now - IMBALANCE_KEPT);
        let width = IMBALANCE_KEPT.num_seconds() / IMBALANCE_INTERVAL.num_seconds();
        let place =
            |at: DateTime<Utc>| (at - begin).num_seconds() / IMBALANCE_INTERVAL.num_seconds();
        let points: Vec<(i64, f64)> = samples
            .iter()
            .filter_map(|sample| Some((place(sample.at), *sample.factors.get(measure.name())?)))
            .filter(|(place, factor)| (0..=width).contains(place) && factor.is_finite())
            .collect();
        let factors = || points.iter().map(|(_, factor)| *factor);
        let (least, most) = (factors().reduce(f64::min)?, factors().reduce(f64::max)?);
        Some(Self {
            width,
            line: line(&points, most.max(LEAST_TOP)),
            label: label(measure, (least, most), width + 1 - points.len() as i64),
        })
    }
}

/// Returns the path through the points. It begins anew after an interval without a point; a single point is a dot.
fn line(points: &[(i64, f64)], top: f64) -> String {
    let mut path = String::new();
    let mut last = None;
    for (place, factor) in points {
        let height = (factor - EVEN).max(0.0) / (top - EVEN) * HEIGHT;
        let y = HEIGHT - height;
        // Writing to a text cannot fail.
        let _ = match last {
            Some(last) if last + 1 == *place => write!(path, "L{place} {y:.1}"),
            _ => write!(path, "M{place} {y:.1}h0"),
        };
        last = Some(*place);
    }
    path
}

fn label(measure: FleetMeasure, (least, most): (f64, f64), missing: i64) -> String {
    let mut label = format!(
        "imbalance of {} over the last 24 hours: {least:.2} to {most:.2}",
        measure.name()
    );
    // The first and the last interval are not complete.
    if missing > 1 {
        let unmeasured = missing * IMBALANCE_INTERVAL.num_seconds();
        let _ = write!(label, ", not measured for {}", seconds(unmeasured as f64));
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(now: DateTime<Utc>, intervals_ago: i32, factor: f64) -> ImbalanceSample {
        ImbalanceSample {
            at: ImbalanceSample::interval_of(now) - IMBALANCE_INTERVAL * intervals_ago,
            factors: [("size".to_owned(), factor)].into(),
        }
    }

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_100, 0).unwrap()
    }

    #[test]
    fn the_line_has_a_gap_where_nothing_was_measured() {
        let samples = [(288, 1.0), (287, 1.5), (1, 2.0), (0, 1.5)]
            .map(|(ago, factor)| sample(now(), ago, factor));
        let trend = ImbalanceTrend::new(&samples, FleetMeasure::Size, now()).unwrap();
        assert_eq!(trend.line, "M0 24.0h0L1 12.0M287 0.0h0L288 12.0");
        assert_eq!(
            trend.label,
            "imbalance of size over the last 24 hours: 1.00 to 2.00, not measured for 23 h 45 min"
        );
    }

    #[test]
    fn what_was_never_measured_is_not_drawn() {
        let samples = [sample(now(), 3, 1.2)];
        assert!(ImbalanceTrend::new(&samples, FleetMeasure::Writes, now()).is_none());
        let trend = ImbalanceTrend::new(&samples, FleetMeasure::Size, now()).unwrap();
        assert_eq!(trend.line, "M285 14.4h0");
    }

    #[test]
    fn a_full_day_says_nothing_of_gaps() {
        let samples: Vec<_> = (0..289).rev().map(|ago| sample(now(), ago, 1.1)).collect();
        let trend = ImbalanceTrend::new(&samples, FleetMeasure::Size, now()).unwrap();
        assert_eq!(trend.line.matches('M').count(), 1);
        assert!(trend.label.ends_with("1.10 to 1.10"), "{}", trend.label);
    }
}
