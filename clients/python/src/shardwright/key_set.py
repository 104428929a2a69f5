"""Sets of keys, and the SQL condition for the rows of a set.

A set is kept in normal form: ordered, without empty parts, and with adjacent parts joined. `contains` and the condition
agree with what PostgreSQL computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from . import _keys, _predicate
from ._document import JsonKeySet
from ._keys import Key, KeyType, KeyValue
from .errors import MapError, NotAKey


class KeySet(Protocol):
    """A set of keys of one map."""

    @property
    def types(self) -> tuple[KeyType, ...]:
        """The types of the key's columns."""

    def contains(self, key: Key) -> bool:
        """Whether a key that was converted to the types is in the set."""

    def conditions(self, columns: Sequence[str]) -> list[str]:
        """SQL conditions, one of which is true for each row of the set."""


@dataclass(frozen=True, slots=True)
class RangeSet:
    """Ranges of keys, each from its start to its end, which is excluded. `None` is unbounded."""

    types: tuple[KeyType, ...]
    ranges: tuple[tuple[Key | None, Key | None], ...]

    def contains(self, key: Key) -> bool:
        """Whether the key is in the set."""
        at: Any = key
        return any((start is None or start <= at) and (end is None or at < end) for start, end in self.ranges)

    def conditions(self, columns: Sequence[str]) -> list[str]:
        """SQL conditions, one for each range."""
        return [_predicate.of_range(self.types, columns, *ends) for ends in self.ranges]


@dataclass(frozen=True, slots=True)
class HashSet:
    """Ranges of virtual shards, and single keys that differ from their virtual shard."""

    types: tuple[KeyType, ...]
    of: int
    ranges: tuple[tuple[int, int], ...]
    exceptions: frozenset[Key] = frozenset()

    def contains(self, key: Key) -> bool:
        """Whether the key is in the set."""
        return self.has_bucket_of(key) != (key in self.exceptions)

    def has_bucket_of(self, key: Key) -> bool:
        """Whether the virtual shard of the key is in a range of the set."""
        bucket = _keys.bucket(self.types, key, self.of)
        return any(start <= bucket < end for start, end in self.ranges)

    def conditions(self, columns: Sequence[str]) -> list[str]:
        """SQL conditions for the ranges without their missing keys, and for the single keys."""
        conditions = _predicate.of_buckets(self.types, columns, self.of, self.ranges)
        exceptions = sorted(self.exceptions, key=_keys.columns)
        missing = [key for key in exceptions if self.has_bucket_of(key)]
        single = [key for key in exceptions if not self.has_bucket_of(key)]
        if missing:
            unlisted = _predicate.of_list(self.types, columns, missing)
            conditions = [f"(({' or '.join(conditions)}) and not {unlisted})"]
        return conditions + ([_predicate.of_list(self.types, columns, single)] if single else [])


@dataclass(frozen=True, slots=True)
class ListSet:
    """Single keys."""

    types: tuple[KeyType, ...]
    keys: frozenset[Key]

    def contains(self, key: Key) -> bool:
        """Whether the key is in the set."""
        return key in self.keys

    def conditions(self, columns: Sequence[str]) -> list[str]:
        """One SQL condition with all keys."""
        keys = sorted(self.keys, key=_keys.columns)
        return [_predicate.of_list(self.types, columns, keys)] if keys else []


def predicate(keys: KeySet, columns: Sequence[str]) -> str:
    """Returns the SQL condition for the rows of the set. `columns` are the SQL names of the key's columns."""
    if len(columns) != len(keys.types):
        raise NotAKey(f"{', '.join(columns)}: {len(columns)} column(s), the key has {len(keys.types)}")
    conditions = keys.conditions(columns)
    if not conditions:
        return "(false)"
    return conditions[0] if len(conditions) == 1 else f"({' or '.join(conditions)})"


def read_key_set(types: Sequence[KeyType], document: JsonKeySet) -> KeySet:
    """Converts a set from a map's JSON."""
    types = tuple(types)

    def accept_all(keys: Iterable[KeyValue]) -> frozenset[Key]:
        return frozenset(_keys.accept(types, key) for key in keys)

    if document.buckets is not None:
        buckets = document.buckets
        ranges = joined((entry.start, entry.end) for entry in buckets.ranges)
        return HashSet(types, buckets.of, tuple(ranges), accept_all(buckets.exceptions))
    if document.single is not None:
        return ListSet(types, accept_all(document.single))
    if document.ranges is None:
        raise MapError("a set of keys has neither ranges nor virtual shards nor a list")
    ends = ((_end(types, entry.start), _end(types, entry.end)) for entry in document.ranges)
    return RangeSet(types, tuple(joined(ends)))


def _end(types: Sequence[KeyType], value: KeyValue | None) -> Key | None:
    return None if value is None else _keys.accept_end(types, value)


def joined(intervals: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Intervals in order, without empty ones, with adjacent and overlapping ones joined. `None` is unbounded."""
    filled = [(start, end) for start, end in intervals if start is None or end is None or start < end]
    first = [interval for interval in filled if interval[0] is None]
    rest = sorted((interval for interval in filled if interval[0] is not None), key=lambda interval: interval[0])
    merged: list[tuple[Any, Any]] = []
    for start, end in first + rest:
        reaches = merged and (merged[-1][1] is None or start is None or start <= merged[-1][1])
        if not reaches:
            merged.append((start, end))
        elif merged[-1][1] is not None and (end is None or end > merged[-1][1]):
            merged[-1] = (merged[-1][0], end)
    return merged
