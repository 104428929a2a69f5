//! Dates and times in PostgreSQL's numbers: days and microseconds since 2000-01-01 in the proleptic Gregorian calendar.
//!
//! Texts are ISO, times in UTC; years before 1 have the suffix `BC`. A time without an offset is refused, because it
//! would mean another time on each server.

use std::ops::Range;

const DAYS_TO_2000: i64 = 730_425;
const MICROS_PER_DAY: i64 = 86_400_000_000;
/// The dates that PostgreSQL supports, as days since 2000-01-01: from 24 November 4714 BC to the day after the last
/// supported date (excluded).
const DATES: Range<i32> = -2_451_545..2_145_031_949;
/// The timestamps that PostgreSQL supports, as microseconds since 2000-01-01: from the beginning of 24 November 4714 BC
/// to the beginning of the year 294277 (excluded).
const TIMESTAMPS: Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// Returns true if a column of type `date` can hold this value.
pub(super) fn is_date(days: i32) -> bool {
    matches!(days, i32::MIN | i32::MAX) || DATES.contains(&days)
}

/// Returns true if a column of type `timestamptz` can hold this value.
pub(super) fn is_timestamp(micros: i64) -> bool {
    matches!(micros, i64::MIN | i64::MAX) || TIMESTAMPS.contains(&micros)
}

/// Returns the next value of the type. The infinities are the first and the last value.
pub(super) fn date_after(days: i32) -> Option<i32> {
    let next = days.checked_add(1)?.max(DATES.start);
    Some(if next < DATES.end { next } else { i32::MAX })
}

/// Returns the next value of the type. The infinities are the first and the last value.
pub(super) fn timestamp_after(micros: i64) -> Option<i64> {
    let next = micros.checked_add(1)?.max(TIMESTAMPS.start);
    Some(if next < TIMESTAMPS.end {
        next
    } else {
        i64::MAX
    })
}

/// Converts a date to days since 0000-03-01. Years begin in March, as in Howard Hinnant's `days_from_civil`: `era` is a
/// cycle of 400 years, `of_era` the year in the cycle, and `of_year` the day in the year.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year
}

/// Converts days since 2000-01-01 to year (0 is 1 BC), month and day. `era` is a cycle of 400 years, `of_era` the day
/// in the cycle, `of_year` the day in a year that begins in March, and `shifted` the number of months since March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_2000;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Returns a date's text without its suffix, and the suffix: ` BC` for years before 1, otherwise empty.
fn date_parts(days: i64) -> (String, &'static str) {
    let (year, month, day) = civil(days);
    let (year, era) = if year > 0 {
        (year, "")
    } else {
        (1 - year, " BC")
    };
    (format!("{year:04}-{month:02}-{day:02}"), era)
}

pub(super) fn date_text(days: i32) -> String {
    match days {
        i32::MIN => "-infinity".to_owned(),
        i32::MAX => "infinity".to_owned(),
        days => {
            let (date, era) = date_parts(days.into());
            format!("{date}{era}")
        }
    }
}

pub(super) fn timestamp_text(micros: i64) -> String {
    match micros {
        i64::MIN => return "-infinity".to_owned(),
        i64::MAX => return "infinity".to_owned(),
        _ => {}
    }
    let (date, era) = date_parts(micros.div_euclid(MICROS_PER_DAY));
    let of_day = micros.rem_euclid(MICROS_PER_DAY);
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    let mut text = format!(
        "{date} {:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if fraction > 0 {
        text.push_str(format!(".{fraction:06}").trim_end_matches('0'));
    }
    format!("{text}+00{era}")
}

/// Reads `YYYY-MM-DD`, optionally with ` BC`, or an infinity, as days since 2000-01-01.
pub(super) fn read_date(text: &str) -> Option<i32> {
    match text {
        "-infinity" => return Some(i32::MIN),
        "infinity" => return Some(i32::MAX),
        _ => {}
    }
    let (text, before) = era_of(text);
    let days = i32::try_from(days_since(text, before)?).ok()?;
    DATES.contains(&days).then_some(days)
}

/// Reads `YYYY-MM-DD HH:MM[:SS[.ffffff]]` with an offset, or an infinity, as microseconds since 2000-01-01 00:00 UTC.
pub(super) fn read_timestamp(text: &str) -> Option<i64> {
    match text {
        "-infinity" => return Some(i64::MIN),
        "infinity" => return Some(i64::MAX),
        _ => {}
    }
    let (text, before) = era_of(text);
    let (date, rest) = text.split_once([' ', 'T'])?;
    let days = days_since(date, before)?;
    let (time, offset) = offset_of(rest.trim_end())?;
    let micros = micros_of_day(time)? - offset * 60_000_000;
    let micros = days.checked_mul(MICROS_PER_DAY)?.checked_add(micros)?;
    TIMESTAMPS.contains(&micros).then_some(micros)
}

/// Removes the suffix ` BC`. Returns the rest, and whether the text had the suffix.
fn era_of(text: &str) -> (&str, bool) {
    match text.strip_suffix(" BC") {
        Some(text) => (text, true),
        None => (text, false),
    }
}

/// Reads `YYYY-MM-DD` as days since 2000-01-01. `before` is true for a year BC.
fn days_since(date: &str, before: bool) -> Option<i64> {
    let mut parts = date.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let year = if before { 1 - year } else { year };
    if year == 0 && !before {
        return None;
    }
    let days = days_of(year, month, day) - DAYS_TO_2000;
    // Without this check the 30th of February would be read as the 1st or 2nd of March.
    (civil(days) == (year, month, day)).then_some(days)
}

/// Reads a number of one to seven digits.
fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.len() <= 7 && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Splits off the offset, in minutes east of UTC.
fn offset_of(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let at = text.rfind(['+', '-'])?;
    let (time, offset) = text.split_at(at);
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = match offset[1..].split_once(':') {
        Some((hours, minutes)) => (digits(hours)?, digits(minutes)?),
        None => (digits(&offset[1..])?, 0),
    };
    (hours < 16 && minutes < 60).then_some((time, sign * (hours * 60 + minutes)))
}

/// Reads `HH:MM[:SS[.ffffff]]` as microseconds since midnight.
fn micros_of_day(time: &str) -> Option<i64> {
    let mut parts = time.split(':');
    let (hours, minutes) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let seconds = parts.next().unwrap_or("00");
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    if parts.next().is_some() || fraction.len() > 6 {
        return None;
    }
    let seconds = digits(seconds)?;
    let fraction = digits(&format!("{fraction:0<6}"))?;
    // Whether each field is in its range.
    let whole = hours < 24 && minutes < 60 && seconds < 60;
    whole.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (text, days) in [
            ("2000-01-01", 0),
            ("1999-12-31", -1),
            ("2024-02-29", 8825),
            ("0001-01-01", -730_119),
            ("0001-12-31 BC", -730_120),
            ("infinity", i32::MAX),
            ("-infinity", i32::MIN),
        ] {
            assert_eq!(read_date(text), Some(days), "{text}");
            assert_eq!(date_text(days), text);
        }
        for bad in [
            "2023-02-29",
            "2023-13-01",
            "0000-01-01",
            "x",
            "2023-1",
            "4714-11-23 BC",
            "5874898-06-03",
        ] {
            assert_eq!(read_date(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_need_an_offset() {
        assert_eq!(read_timestamp("2000-01-01 00:00:00+00"), Some(0));
        assert_eq!(read_timestamp("2000-01-01T02:30:00.5+02:30"), Some(500_000));
        assert_eq!(read_timestamp("1999-12-31 23:00:00-01"), Some(0));
        assert_eq!(read_timestamp("2000-01-01 00:00:00"), None);
        assert_eq!(read_timestamp("294277-01-01 00:00:00+00"), None);
        assert_eq!(timestamp_text(-1), "1999-12-31 23:59:59.999999+00");
    }
    #[test]
    fn the_infinities_are_next_to_the_ends() {
        assert_eq!(date_after(i32::MIN), Some(DATES.start));
        assert_eq!(date_after(DATES.end - 1), Some(i32::MAX));
        assert_eq!(date_after(i32::MAX), None);
        assert_eq!(timestamp_after(i64::MIN), Some(TIMESTAMPS.start));
        assert_eq!(timestamp_after(TIMESTAMPS.end - 1), Some(i64::MAX));
        assert_eq!(timestamp_after(i64::MAX), None);
    }
}
