//! Formats numbers and times for people.

use chrono::{DateTime, SecondsFormat, Utc};
pub(crate) use plans::render::bytes;

/// Formats a count with a narrow space between groups of thousands.
pub(crate) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    if number < 0 {
        out.insert(0, '-');
    }
    out
}

/// Formats a duration in seconds, rounded for people.
pub(crate) fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".to_owned();
    }
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    let rounded = seconds.round();
    if rounded < 60.0 {
        return format!("{rounded:.0} s");
    }
    let minutes = (rounded / 60.0).floor();
    if minutes < 60.0 {
        return format!("{minutes:.0} min {:.0} s", rounded % 60.0);
    }
    format!(
        "{:.0} h {:.0} min",
        (minutes / 60.0).floor(),
        minutes % 60.0
    )
}

/// Formats a duration in milliseconds if it is below a second, otherwise in seconds.
pub(crate) fn millis(ms: i64) -> String {
    if ms < 1000 {
        format!("{ms} ms")
    } else {
        seconds(ms as f64 / 1000.0)
    }
}

/// Returns `done` as a percentage of `total`, rounded down, so that it is 100 only if everything is done.
pub(crate) fn percent(done: i64, total: i64) -> u8 {
    if total <= 0 {
        return 0;
    }
    let percent = i128::from(done.clamp(0, total)) * 100 / i128::from(total);
    u8::try_from(percent).unwrap_or(100)
}

/// Formats a time in UTC as HTML: short for people, and exact in the attribute `datetime`.
pub(crate) fn moment(at: DateTime<Utc>) -> String {
    time_element("", at, "%Y-%m-%d %H:%M:%S")
}

/// Formats a time as [`moment`] does, for a list in which its age matters. The dashboard's script replaces the text by
/// the age, as in `3 min ago`, and keeps it up to date.
pub(crate) fn ago(at: DateTime<Utc>) -> String {
    time_element(" class=\"ago\"", at, "%Y-%m-%d %H:%M:%S UTC")
}

fn time_element(class: &str, at: DateTime<Utc>, format: &str) -> String {
    let exact = at.to_rfc3339_opts(SecondsFormat::Millis, true);
    let whole = at.format("%Y-%m-%d %H:%M:%S UTC");
    let text = at.format(format);
    format!("<time{class} datetime=\"{exact}\" title=\"{whole}\">{text}</time>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(count(1_234_567).replace('\u{202f}', " "), "1 234 567");
        assert_eq!(count(-12), "-12");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn durations_are_short() {
        assert_eq!(seconds(3.23), "3.2 s");
        assert_eq!(seconds(59.7), "1 min 0 s");
        assert_eq!(seconds(3_700.0), "1 h 1 min");
        assert_eq!(millis(12), "12 ms");
    }

    #[test]
    fn a_time_has_its_zone_and_its_exact_value() {
        let at = DateTime::from_timestamp_millis(1_800_000_000_250).unwrap();
        let title = "title=\"2027-01-15 08:00:00 UTC\"";
        let exact = "datetime=\"2027-01-15T08:00:00.250Z\"";
        assert_eq!(
            moment(at),
            format!("<time {exact} {title}>2027-01-15 08:00:00</time>")
        );
        assert_eq!(
            ago(at),
            format!("<time class=\"ago\" {exact} {title}>2027-01-15 08:00:00 UTC</time>")
        );
    }

    #[test]
    fn a_percentage_is_at_most_a_hundred() {
        assert_eq!(percent(7, 5), 100);
        assert_eq!(percent(999, 1000), 99);
        assert_eq!(percent(1, 0), 0);
    }
}
