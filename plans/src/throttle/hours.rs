//! A daily period, from one minute to another. It may include midnight.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::fmt;

const DAY: i64 = 24 * 60;
const MINUTE_MS: i64 = 60_000;
const FORM: &str = "hours are written HH:MM-HH:MM, in UTC or followed by an offset, for example 22:00-06:00 or 22:00-06:00+02:00";

/// A daily period from one minute up to but without another, in UTC or with the given offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hours {
    /// The first minute, counted from midnight.
    from: i64,
    /// The minute after the last, counted from midnight; never equal to `from`.
    to: i64,
    /// The minutes by which local time is ahead of UTC.
    offset: i64,
}

impl Hours {
    /// Parses `22:00-06:00` or `22:00-06:00+02:00`.
    ///
    /// # Errors
    /// Returns a sentence that describes the syntax.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let error = || format!("{text:?} are no hours: {FORM}");
        let read = |at: std::ops::Range<usize>| text.get(at).and_then(minutes_of_day);
        let dash = text.as_bytes().get(5) == Some(&b'-');
        let (from, to) = read(0..5)
            .zip(read(6..11))
            .filter(|_| dash)
            .ok_or_else(error)?;
        let offset = match text.get(11..).map(str::trim) {
            None | Some("" | "Z" | "UTC") => 0,
            Some(rest) => offset(rest).ok_or_else(error)?,
        };
        if from == to {
            return Err(format!(
                "{text:?} is an empty period; omit hours if heavy work may begin at any time"
            ));
        }
        Ok(Self { from, to, offset })
    }

    /// Returns whether `now_ms` (milliseconds since 1970 in UTC) is in the period.
    #[must_use]
    pub fn contains(&self, now_ms: i64) -> bool {
        (self.minute(now_ms) - self.from).rem_euclid(DAY) < (self.to - self.from).rem_euclid(DAY)
    }

    /// Returns the beginning of the next period, or `now_ms` if a period has begun, in milliseconds since 1970.
    #[must_use]
    pub fn next(&self, now_ms: i64) -> i64 {
        if self.contains(now_ms) {
            return now_ms;
        }
        let minutes = (self.from - self.minute(now_ms)).rem_euclid(DAY);
        (now_ms.div_euclid(MINUTE_MS) + minutes) * MINUTE_MS
    }

    /// Returns the local minute of the day.
    fn minute(&self, now_ms: i64) -> i64 {
        (now_ms.div_euclid(MINUTE_MS) + self.offset).rem_euclid(DAY)
    }
}

/// Converts `HH:MM` to minutes since midnight.
fn minutes_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let two_digits = |digits: &str, below: i64| {
        let is_number = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
        let number: Option<i64> = is_number.then(|| digits.parse().ok()).flatten();
        number.filter(|number| *number < below)
    };
    Some(two_digits(hours, 24)? * 60 + two_digits(minutes, 60)?)
}

/// Converts an offset from UTC to minutes: `+02:00` or `-05:30`.
fn offset(text: &str) -> Option<i64> {
    let minutes = |rest: &str| minutes_of_day(rest).filter(|minutes| *minutes <= 14 * 60);
    match text.strip_prefix('-') {
        Some(rest) => minutes(rest).map(|minutes| -minutes),
        None => minutes(text.strip_prefix('+')?),
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hh_mm = |minutes: i64| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        write!(f, "{}-{}", hh_mm(self.from), hh_mm(self.to))?;
        match self.offset {
            0 => Ok(()),
            ahead if ahead > 0 => write!(f, "+{}", hh_mm(ahead)),
            negative => write!(f, "-{}", hh_mm(-negative)),
        }
    }
}

impl TryFrom<String> for Hours {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Hours> for String {
    fn from(hours: Hours) -> Self {
        hours.to_string()
    }
}

impl JsonSchema for Hours {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hours".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "From one minute of the day to another, in UTC or with an offset: `22:00-06:00`, `22:00-06:00+02:00`.",
            "type": "string"
        })
    }
}
