"""Dates and times in PostgreSQL's numbers: days and microseconds since 2000-01-01 in the proleptic Gregorian calendar.

Texts are ISO, times in UTC; years before 1 have the suffix `BC`. A time without an offset is refused, because it would
mean another time on each server.
"""

from __future__ import annotations

import re

DATE_INFINITY = (1 << 31) - 1
TIMESTAMP_INFINITY = (1 << 63) - 1
_DAY = 86_400_000_000
# The days from 0000-03-01 to 2000-01-01.
_DAYS_TO_2000 = 730_425
_DATES = range(-2_451_545, 2_145_031_949)
_TIMESTAMPS = range(-211_813_488_000_000_000, 9_223_371_331_200_000_000)
_DATE = re.compile(r"([0-9]{1,7})-([0-9]{1,7})-([0-9]{1,7})( BC)?")
_TIMESTAMP = re.compile(
    r"([0-9]{1,7}-[0-9]{1,7}-[0-9]{1,7})[ T]([0-9]{1,7}):([0-9]{1,7})(?::([0-9]{1,7})(?:\.([0-9]{1,6}))?)?"
    r"(?:[Zz]|([+-])([0-9]{1,2})(?::([0-9]{1,2}))?)( BC)?"
)


def is_date(days: int) -> bool:
    """Whether a column of type `date` can hold this value."""
    return days in _DATES or days in (DATE_INFINITY, ~DATE_INFINITY)


def is_timestamp(micros: int) -> bool:
    """Whether a column of type `timestamptz` can hold this value."""
    return micros in _TIMESTAMPS or micros in (TIMESTAMP_INFINITY, ~TIMESTAMP_INFINITY)


def read_date(text: str) -> int | None:
    """Reads `YYYY-MM-DD`, optionally with ` BC`, or an infinity."""
    if text in ("infinity", "-infinity"):
        return DATE_INFINITY if text == "infinity" else ~DATE_INFINITY
    match = _DATE.fullmatch(text)
    days = None if match is None else _days_since_2000(match[1], match[2], match[3], match[4] is not None)
    return days if days is not None and days in _DATES else None


def read_timestamp(text: str) -> int | None:
    """Reads `YYYY-MM-DD HH:MM[:SS[.ffffff]]` with an offset, or an infinity."""
    if text in ("infinity", "-infinity"):
        return TIMESTAMP_INFINITY if text == "infinity" else ~TIMESTAMP_INFINITY
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    date, *time, fraction, sign, offset_hours, offset_minutes, bc = match.groups()
    year, month, day = date.split("-")
    days = _days_since_2000(year, month, day, bc is not None)
    hours, minutes, seconds = (int(part or 0) for part in time)
    east = int(offset_hours or 0) * 60 + int(offset_minutes or 0)
    in_range = hours < 24 and minutes < 60 and seconds < 60 and int(offset_hours or 0) < 16
    if days is None or not in_range or int(offset_minutes or 0) > 59:
        return None
    minutes_of_day = hours * 60 + minutes - (-east if sign == "-" else east)
    micros = days * _DAY + (minutes_of_day * 60 + seconds) * 1_000_000 + int((fraction or "0").ljust(6, "0"))
    return micros if micros in _TIMESTAMPS else None


def date_text(days: int) -> str:
    """The text of a date as PostgreSQL prints it."""
    if abs(days) >= DATE_INFINITY:
        return "infinity" if days > 0 else "-infinity"
    date, bc = _date_parts(days)
    return date + bc


def timestamp_text(micros: int) -> str:
    """The text of a time as PostgreSQL prints it in time zone UTC."""
    if abs(micros) >= TIMESTAMP_INFINITY:
        return "infinity" if micros > 0 else "-infinity"
    days, rest = divmod(micros, _DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    date, bc = _date_parts(days)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{date} {time}{f'.{fraction:06}'.rstrip('0') if fraction else ''}+00{bc}"


def _days_since_2000(year_text: str, month_text: str, day_text: str, is_bc: bool) -> int | None:
    year, month, day = int(year_text), int(month_text), int(day_text)
    if year == 0 and not is_bc:
        return None
    year = 1 - year if is_bc else year
    # Years begin in March, so that the leap day is the last day of its year.
    march_year = year - (month <= 2)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    leap_days = march_year // 4 - march_year // 100 + march_year // 400
    days = march_year * 365 + leap_days + day_of_year - _DAYS_TO_2000
    # Without this check the 30th of February would be read as the 1st or 2nd of March.
    return days if _date_of(days) == (year, month, day) else None


def _date_of(days: int) -> tuple[int, int, int]:
    """Year (0 is 1 BC), month and day: the inverse of `_days_since_2000`."""
    cycle, day = divmod(days + _DAYS_TO_2000, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day_of_year = day - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day_of_month = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + cycle * 400 + (month <= 2), month, day_of_month


def _date_parts(days: int) -> tuple[str, str]:
    year, month, day = _date_of(days)
    shown, bc = (year, "") if year > 0 else (1 - year, " BC")
    return f"{shown:04}-{month:02}-{day:02}", bc
