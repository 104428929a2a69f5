"""The SQL of a set of keys: the conditions that Shardwright itself uses in guards, copies and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import _keys
from ._keys import Column, Key, KeyType


def of_range(types: Sequence[KeyType], columns: Sequence[str], start: Key | None, end: Key | None) -> str:
    """The condition for a range of keys."""
    ends = [(">=", start), ("<", end)]
    parts = [_comparison(types, columns, operator, key) for operator, key in ends if key is not None]
    return f"({' and '.join(parts)})" if parts else "(true)"


def of_buckets(
    types: Sequence[KeyType], columns: Sequence[str], of: int, ranges: Iterable[tuple[int, int]]
) -> list[str]:
    """The conditions for ranges of virtual shards."""
    bucket = f"({_hash(types, columns)} operator(pg_catalog.&) {of - 1}::pg_catalog.int8)"
    return [
        f"({bucket} operator(pg_catalog.>=) {start} and {bucket} operator(pg_catalog.<) {end})" for start, end in ranges
    ]


def of_list(types: Sequence[KeyType], columns: Sequence[str], keys: Iterable[Key]) -> str:
    """The condition for single keys."""
    kind = types[0]
    texts = (_keys.text(kind, _keys.columns(key)[0]) for key in keys)
    elements = ",".join(f'"{_escaped(text)}"' for text in texts)
    array = f"{_literal(f'{{{elements}}}')}::pg_catalog.{_keys.catalog_name(kind)}[]"
    return f"({_comparable(kind, columns[0])} operator(pg_catalog.=) any ({array}))"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _comparison(types: Sequence[KeyType], columns: Sequence[str], operator: str, key: Key) -> str:
    left = [_comparable(kind, column) for kind, column in zip(types, columns, strict=True)]
    right = [_typed(kind, value) for kind, value in zip(types, _keys.columns(key), strict=True)]
    if len(left) == 1:
        return f"{left[0]} operator(pg_catalog.{operator}) {right[0]}"
    return f"row({', '.join(left)}) operator(pg_catalog.{operator}) row({', '.join(right)})"


def _typed(kind: KeyType, value: Column) -> str:
    return f"{_literal(_keys.text(kind, value))}::pg_catalog.{_keys.catalog_name(kind, value)}"


def _comparable(kind: KeyType, column: str) -> str:
    return f'({column}::pg_catalog.text collate pg_catalog."C")' if kind == "text" else column


def _hash(types: Sequence[KeyType], columns: Sequence[str]) -> str:
    if len(columns) > 1:
        compared = (_comparable(kind, column) for kind, column in zip(types, columns, strict=True))
        return f"pg_catalog.hash_record_extended(row({', '.join(compared)}), 0)"
    kind, column = types[0], columns[0]
    if kind in ("smallint", "integer", "bigint"):
        return f"pg_catalog.hashint8extended({column}::pg_catalog.int8, 0)"
    if kind == "text":
        return f'pg_catalog.hashtextextended({column}::pg_catalog.text collate pg_catalog."C", 0)'
    if kind == "uuid":
        return f"pg_catalog.uuid_hash_extended({column}, 0)"
    if kind == "bytea":
        # The hash function of bytea itself exists in SQL only since PostgreSQL 18.
        return f"pg_catalog.hashtextextended(pg_catalog.encode({column}, 'hex') collate pg_catalog.\"C\", 0)"
    return f"pg_catalog.hash_record_extended(row({column}), 0)"


def _literal(text: str) -> str:
    quoted = text.replace("'", "''")
    return "e'" + quoted.replace("\\", "\\\\") + "'" if "\\" in text else f"'{quoted}'"
