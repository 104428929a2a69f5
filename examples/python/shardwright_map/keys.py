"""Keys of a shard map: their JSON form, their order and their hash, as PostgreSQL has them.

A key is given as Python has it: int, str, uuid.UUID, bytes, datetime.date, an aware datetime.datetime, or a tuple of
these for a composite key. Text stands for itself in a text column and for the text form of every other type.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from typing import Any

Key = tuple[tuple[str, Any], ...]
"""Columns as pairs of a kind (int, text, uuid, bytea, date, timestamptz) and a value as PostgreSQL stores it."""

_INTEGERS = {"smallint": 16, "integer": 32, "bigint": 64}
_DATE = re.compile(r"(\d{4,7})-(\d\d)-(\d\d)( BC)?")
_TIMESTAMP = re.compile(r"(\d{4,6}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?\+00( BC)?")
_EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.timezone.utc)
_DAY = 86_400_000_000
_MASK32 = 0xFFFF_FFFF
_MASK64 = 0xFFFF_FFFF_FFFF_FFFF


class KeyError_(ValueError):
    """The value is no key of the map: another type, or another number of columns."""


def accept(types: list[str], value: Any) -> Key:
    """The value as a key of a map whose key columns have these types."""
    parts = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(parts) != len(types):
        raise KeyError_(f"{len(parts)} value(s) for {len(types)} key column(s)")
    return tuple(_accept(kind, part) for kind, part in zip(types, parts))


def _accept(kind: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, dict):
        [(named, value)] = value.items()
        if named != kind:
            raise KeyError_(f"a {named} is no {kind}")
    if kind in _INTEGERS:
        if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
            value = int(value)
        limit = 1 << (_INTEGERS[kind] - 1)
        if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
            raise KeyError_(f"{value!r} is no {kind}")
        return ("int", value)
    reader = {"text": _text, "uuid": _uuid, "bytea": _bytea, "date": _date, "timestamptz": _timestamp}[kind]
    return (kind, reader(value))


def _text(value: Any) -> bytes:
    if not isinstance(value, str) or "\0" in value:
        raise KeyError_(f"{value!r} is no text")
    return value.encode()


def _uuid(value: Any) -> bytes:
    try:
        return (value if isinstance(value, uuid.UUID) else uuid.UUID(value)).bytes
    except (AttributeError, TypeError, ValueError) as error:
        raise KeyError_(f"{value!r} is no uuid") from error


def _bytea(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str) and value.startswith("\\x"):
        try:
            return bytes.fromhex(value[2:])
        except ValueError:
            pass
    raise KeyError_(f"{value!r} is no bytea")


def _date(value: Any) -> int:
    """Days since 2000-01-01."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return (value - _EPOCH.date()).days
    if value in ("infinity", "-infinity"):
        return (1 << 31) - 1 if value == "infinity" else -(1 << 31)
    match = _DATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise KeyError_(f"{value!r} is no date")
    year, month, day, before = match.groups()
    return _days(1 - int(year) if before else int(year), int(month), int(day))


def _timestamp(value: Any) -> int:
    """Microseconds since 2000-01-01 00:00:00+00."""
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            raise KeyError_(f"{value!r} has no time zone")
        return (value - _EPOCH) // dt.timedelta(microseconds=1)
    if value in ("infinity", "-infinity"):
        return (1 << 63) - 1 if value == "infinity" else -(1 << 63)
    match = _TIMESTAMP.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise KeyError_(f"{value!r} is no timestamptz in UTC")
    date, hours, minutes, seconds, part, before = match.groups()
    time = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return _date(date + (before or "")) * _DAY + time * 1_000_000 + int((part or "0").ljust(6, "0"))


def _days(year: int, month: int, day: int) -> int:
    """Days since 2000-01-01 in the Gregorian calendar, also before it was there; year 0 is 1 BC."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise KeyError_(f"{year}-{month}-{day} is no date")
    # Years begin in March, so that the day that some years have more comes last.
    year -= month <= 2
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 730_425


def ordered(key: Key) -> bytes:
    """Bytes whose order is the order of keys of one type."""
    return b"".join(_ordered(*part) for part in key)


def _ordered(kind: str, value: Any) -> bytes:
    if kind in ("int", "timestamptz"):
        return (value + (1 << 63)).to_bytes(8, "big")
    if kind == "date":
        return (value + (1 << 31)).to_bytes(4, "big")
    if kind == "uuid":
        return value
    return value.replace(b"\0", b"\0\xff") + b"\0\0"


def bucket(key: Key, of: int) -> int:
    """The virtual shard of a key, of so many (a power of two)."""
    return hash64(key) & (of - 1)


def hash64(key: Key) -> int:
    """PostgreSQL's 64-bit hash with seed 0, without its sign; of a composite key that of a record."""
    if len(key) == 1:
        return _hash(*key[0])
    total = 0
    for part in key:
        total = ((total << 5) - total + _hash(*part)) & _MASK64
    return total


def _hash(kind: str, value: Any) -> int:
    if kind in ("int", "timestamptz"):
        low, high = value & _MASK32, (value >> 32) & _MASK32
        return _hash_u32(low ^ (high if value >= 0 else high ^ _MASK32))
    if kind == "date":
        return _hash_u32(value & _MASK32)
    return _hash_bytes(value.hex().encode() if kind == "bytea" else value)


# What follows is Bob Jenkins' lookup3, as PostgreSQL has it in hash_bytes_extended.


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _MASK32


def _start(length: int) -> list[int]:
    return [(0x9E37_79B9 + length + 3_923_095) & _MASK32] * 3


def _mix(state: list[int]) -> None:
    for x, y, z, by in ((0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4)):
        state[x] = ((state[x] - state[y]) & _MASK32) ^ _rotated(state[y], by)
        state[y] = (state[y] + state[z]) & _MASK32


def _finish(state: list[int]) -> int:
    for x, y, by in ((2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)):
        state[x] = ((state[x] ^ state[y]) - _rotated(state[y], by)) & _MASK32
    return (state[1] << 32) | state[2]


def _hash_u32(value: int) -> int:
    state = _start(4)
    state[0] = (state[0] + value) & _MASK32
    return _finish(state)


def _hash_bytes(data: bytes) -> int:
    state = _start(len(data))
    whole = len(data) - len(data) % 12
    for at in range(0, whole, 12):
        _add(state, data[at : at + 4], data[at + 4 : at + 8], int.from_bytes(data[at + 8 : at + 12], "little"))
        _mix(state)
    rest = data[whole:]
    # The lowest byte of the third word is the length's.
    _add(state, rest[0:4], rest[4:8], int.from_bytes(rest[8:11], "little") << 8)
    return _finish(state)


def _add(state: list[int], first: bytes, second: bytes, third: int) -> None:
    state[0] = (state[0] + int.from_bytes(first, "little")) & _MASK32
    state[1] = (state[1] + int.from_bytes(second, "little")) & _MASK32
    state[2] = (state[2] + third) & _MASK32
