//! Round times for the axis of a picture, each with a label that its neighbours do not have. All times are in UTC.

use chrono::{DateTime, TimeDelta, Utc};

/// The distances between two ticks, in seconds: a second to a week.
const STEPS: [i64; 22] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400, 172_800, 604_800, 1_209_600, 2_419_200,
];
const MINUTE: i64 = 60;
const DAY: i64 = 86_400;

/// A round time on an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeTick {
    pub(crate) at: DateTime<Utc>,
    pub(crate) label: String,
}

/// Returns the round times between `from` and `to`, at most `limit` of them if that is possible.
pub(crate) fn time_ticks(from: DateTime<Utc>, to: DateTime<Utc>, limit: usize) -> Vec<TimeTick> {
    let span = (to - from).num_seconds();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX).max(1);
    let fits = |step: &&i64| span / **step < limit;
    let step = STEPS.iter().find(fits).copied().unwrap_or(span.max(1));
    let first = from.timestamp().div_euclid(step) * step;
    let times = (0..=span / step + 1).filter_map(|n| DateTime::from_timestamp(first + n * step, 0));
    times
        .filter(|at| (from..=to).contains(at))
        .map(|at| TimeTick {
            at,
            label: label(at, step),
        })
        .collect()
}

/// Formats a time for an axis whose ticks are `step` seconds apart. Midnight is shown as a date.
fn label(at: DateTime<Utc>, step: i64) -> String {
    let is_midnight = at.timestamp().rem_euclid(DAY) == 0;
    let format = match step {
        _ if is_midnight => "%b %-d",
        step if step < MINUTE => "%H:%M:%S",
        _ => "%H:%M",
    };
    at.format(format).to_string()
}

/// Formats a time that is not round: with seconds if the axis is short.
pub(crate) fn time_text(at: DateTime<Utc>, span: TimeDelta) -> String {
    let format = match span.num_minutes() {
        ..60 => "%H:%M:%S",
        60..1_440 => "%H:%M",
        _ => "%b %-d %H:%M",
    };
    at.format(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    #[test]
    fn ticks_are_round_and_have_different_labels() {
        for span in [3, 59, 600, 7_000, 90_000, 4_000_000] {
            let ticks = time_ticks(at(0), at(span), 6);
            assert!(ticks.len() >= 2 && ticks.len() <= 7, "{span}: {ticks:?}");
            let mut labels: Vec<_> = ticks.iter().map(|tick| &tick.label).collect();
            labels.dedup();
            assert_eq!(labels.len(), ticks.len(), "{span}: {ticks:?}");
        }
        let labels: Vec<_> = time_ticks(at(0), at(60), 4)
            .into_iter()
            .map(|tick| tick.label)
            .collect();
        assert_eq!(labels, ["08:00:00", "08:00:30", "08:01:00"]);
    }
}
