"""Keys of a shard map: their types, their order, their texts and their virtual shards, as in PostgreSQL.

A key of one column is an `int` (also days and microseconds since 2000-01-01), a `str` (text) or `bytes` (uuid, bytea).
A composite key is a tuple of these. Python compares all of them as PostgreSQL does: texts by code points, which is the
order of their bytes in UTF-8.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from . import _hash, _times
from .errors import NotAKey

KeyType: TypeAlias = Literal["smallint", "integer", "bigint", "text", "uuid", "bytea", "date", "timestamptz"]
"""The type of one column of a key."""
ColumnValue: TypeAlias = "int | str | bytes | uuid.UUID | dt.date | dt.datetime | Mapping[str, str]"
"""A value of the application for one column; a mapping is the form in JSON, such as `{"uuid": "…"}`."""
KeyValue: TypeAlias = "ColumnValue | Sequence[ColumnValue]"
"""A value of the application that can be a key. A tuple or a list is a composite key."""
Column: TypeAlias = "int | str | bytes"
Key: TypeAlias = "int | str | bytes | tuple[int | str | bytes, ...]"

_BITS: Mapping[str, int] = {"smallint": 15, "integer": 31, "bigint": 63}
_CATALOG_NAMES = {"smallint": "int2", "integer": "int4", "bigint": "int8"}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_UUID = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BYTEA = re.compile(r"\\x((?:[0-9a-fA-F]{2})*)")
_EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.timezone.utc)
_MASK64 = (1 << 64) - 1


def accept(types: Sequence[KeyType], value: KeyValue) -> Key:
    """Converts a value of the application to a key with these types."""
    parts = value if isinstance(value, tuple | list) else (value,)
    if len(parts) != len(types):
        raise NotAKey(f"{value!r} has {len(parts)} value(s), the key has {len(types)} column(s)")
    if len(types) == 1:
        return accept_column(types[0], parts[0])
    return tuple(accept_column(kind, part) for kind, part in zip(types, parts, strict=True))


def accept_column(kind: KeyType, value: object) -> Column:
    """Converts a value of the application to a value of a column."""
    accepted = _converted(kind, value)
    if accepted is None:
        raise NotAKey(f"{value!r} is not a {kind}")
    return accepted


def _converted(kind: KeyType, value: object) -> Column | None:
    if isinstance(value, Mapping):
        [(name, value)] = value.items() if len(value) == 1 else [("", None)]
        if name != kind or not isinstance(value, str):
            return None
    bits = _BITS.get(kind)
    if bits is not None:
        return _integer(bits, value)
    if kind == "text":
        return value if isinstance(value, str) and _is_text(value) else None
    if kind == "uuid":
        return _uuid(value)
    if kind == "bytea":
        return _bytea(value)
    return _date(value) if kind == "date" else _timestamp(value)


def _integer(bits: int, value: object) -> int | None:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -(1 << bits) <= value < 1 << bits else None


def _is_text(value: str) -> bool:
    """Whether PostgreSQL can store the text: it has no zero byte, and no half of a surrogate pair."""
    return "\0" not in value and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


def _uuid(value: object) -> bytes | None:
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, str) and _UUID.fullmatch(value):
        return bytes.fromhex(value.replace("-", ""))
    return None


def _bytea(value: object) -> bytes | None:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    match = _BYTEA.fullmatch(value) if isinstance(value, str) else None
    return None if match is None else bytes.fromhex(match[1])


def _date(value: object) -> int | None:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return (value - _EPOCH.date()).days
    return _times.read_date(value) if isinstance(value, str) else None


def _timestamp(value: object) -> int | None:
    if isinstance(value, dt.datetime):
        return None if value.tzinfo is None else (value - _EPOCH) // dt.timedelta(microseconds=1)
    return _times.read_timestamp(value) if isinstance(value, str) else None


def accept_end(types: Sequence[KeyType], value: KeyValue) -> Key:
    """Converts the end of a range. After the last value of a small integer type comes a value of a larger one."""
    wide: list[KeyType] = ["bigint" if kind in _BITS else kind for kind in types]
    return accept(wide, value)


def columns(key: Key) -> tuple[Column, ...]:
    """The values of a key, one for each column."""
    return key if isinstance(key, tuple) else (key,)


def bucket(types: Sequence[KeyType], key: Key, of: int) -> int:
    """The number of the key's virtual shard among `of`, a power of two."""
    return hash64(types, key) & (of - 1)


def hash64(types: Sequence[KeyType], key: Key) -> int:
    """PostgreSQL's 64-bit hash with seed 0, without its sign; of a composite key that of a record."""
    if not isinstance(key, tuple):
        return _hash_column(types[0], key)
    total = 0
    for kind, value in zip(types, key, strict=True):
        total = ((total << 5) - total + _hash_column(kind, value)) & _MASK64
    return total


def _hash_column(kind: KeyType, value: Column) -> int:
    if isinstance(value, int):
        return _hash.hash_word(value & 0xFFFF_FFFF) if kind == "date" else _hash.hash_int8(value)
    if isinstance(value, str):
        return _hash.hash_bytes(value.encode())
    return _hash.hash_bytes(value.hex().encode() if kind == "bytea" else value)


def text(kind: KeyType, value: Column) -> str:
    """The text of a column's value, as PostgreSQL prints it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return str(uuid.UUID(bytes=value)) if kind == "uuid" else f"\\x{value.hex()}"
    if kind == "date":
        return _times.date_text(value)
    return _times.timestamp_text(value) if kind == "timestamptz" else str(value)


def display(types: Sequence[KeyType], key: Key) -> str:
    """The key in messages."""
    texts = [
        repr(value) if isinstance(value, str) else text(kind, value)
        for kind, value in zip(types, columns(key), strict=True)
    ]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def catalog_name(kind: KeyType, value: Column | None = None) -> str:
    """The name of the type in `pg_type`; for the end of a range, that of a type that can hold the value."""
    bits = _BITS.get(kind)
    if bits is not None and isinstance(value, int) and not -(1 << bits) <= value < 1 << bits:
        return "int8"
    return _CATALOG_NAMES.get(kind, kind)
