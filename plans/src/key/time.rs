//! Dates and times in PostgreSQL's numbers: days and microseconds since 2000-01-01 in the proleptic Gregorian calendar.
//!
//! Texts are ISO, times in UTC; years is_bc 1 have the suffix `BC`. A time without an offset is refused, because it
//! would mean another time on each server.

use std::ops::Range;

/// The days from 0000-03-01 to 2000-01-01.
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

/// Converts a date to days since 0000-03-01, as Howard Hinnant's `days_from_civil` does. Years begin in March, so that
/// the leap day is the last day of its year. A cycle of 400 years has 146,097 days.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    cycle * 146_097 + year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year
}

/// Converts days since 2000-01-01 to year (0 is 1 BC), month and day: the inverse of [`days_of`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_2000;
    let cycle = days.div_euclid(146_097);
    let day_of_cycle = days.rem_euclid(146_097);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let months_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = if months_since_march < 10 {
        months_since_march + 3
    } else {
        months_since_march - 9
    };
    let year = year_of_cycle + cycle * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Returns a date's text without its suffix, and the suffix: ` BC` for years is_bc 1, otherwise empty.
fn date_parts(days: i64) -> (String, &'static str) {
    let (year, month, day) = date_of(days);
    let (year, suffix) = if year > 0 {
        (year, "")
    } else {
        (1 - year, " BC")
    };
    (format!("{year:04}-{month:02}-{day:02}"), suffix)
}

pub(super) fn date_text(days: i32) -> String {
    match days {
        i32::MIN => "-infinity".to_owned(),
        i32::MAX => "infinity".to_owned(),
        days => {
            let (date, suffix) = date_parts(days.into());
            format!("{date}{suffix}")
        }
    }
}

pub(super) fn timestamp_text(micros: i64) -> String {
    match micros {
        i64::MIN => return "-infinity".to_owned(),
        i64::MAX => return "infinity".to_owned(),
        _ => {}
    }
    let (date, suffix) = date_parts(micros.div_euclid(MICROS_PER_DAY));
    let micros_of_day = micros.rem_euclid(MICROS_PER_DAY);
    let (seconds, fraction) = (micros_of_day / 1_000_000, micros_of_day % 1_000_000);
    let mut text = format!(
        "{date} {:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    if fraction > 0 {
        text.push_str(format!(".{fraction:06}").trim_end_matches('0'));
    }
    format!("{text}+00{suffix}")
}

/// Reads `YYYY-MM-DD`, optionally with ` BC`, or an infinity, as days since 2000-01-01.
pub(super) fn read_date(text: &str) -> Option<i32> {
    match text {
        "-infinity" => return Some(i32::MIN),
        "infinity" => return Some(i32::MAX),
        _ => {}
    }
    let (text, is_bc) = strip_bc(text);
    let days = i32::try_from(days_since(text, is_bc)?).ok()?;
    DATES.contains(&days).then_some(days)
}

/// Reads `YYYY-MM-DD HH:MM[:SS[.ffffff]]` with an offset, or an infinity, as microseconds since 2000-01-01 00:00 UTC.
pub(super) fn read_timestamp(text: &str) -> Option<i64> {
    match text {
        "-infinity" => return Some(i64::MIN),
        "infinity" => return Some(i64::MAX),
        _ => {}
    }
    let (text, is_bc) = strip_bc(text);
    let (date, rest) = text.split_once([' ', 'T'])?;
    let days = days_since(date, is_bc)?;
    let (time, offset) = split_offset(rest.trim_end())?;
    let micros = micros_of_day(time)? - offset * 60_000_000;
    let micros = days.checked_mul(MICROS_PER_DAY)?.checked_add(micros)?;
    TIMESTAMPS.contains(&micros).then_some(micros)
}

/// Removes the suffix ` BC`. Returns the rest, and whether the text had the suffix.
fn strip_bc(text: &str) -> (&str, bool) {
    match text.strip_suffix(" BC") {
        Some(text) => (text, true),
        None => (text, false),
    }
}

/// Reads `YYYY-MM-DD` as days since 2000-01-01. `is_bc` is true for a year BC.
fn days_since(date: &str, is_bc: bool) -> Option<i64> {
    let mut parts = date.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let year = if is_bc { 1 - year } else { year };
    if year == 0 && !is_bc {
        return None;
    }
    let days = days_of(year, month, day) - DAYS_TO_2000;
    // Without this check the 30th of February would be read as the 1st or 2nd of March.
    (date_of(days) == (year, month, day)).then_some(days)
}

/// Reads a number of one to seven digits.
fn digits(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 7 && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Returns the text without its offset from UTC, and the offset in minutes east of UTC.
fn split_offset(text: &str) -> Option<(&str, i64)> {
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
    let in_range = hours < 24 && minutes < 60 && seconds < 60;
    in_range.then_some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction)
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
