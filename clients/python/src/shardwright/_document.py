"""The JSON of a shard map (docs/types.md). Unknown fields are ignored, as the API requires."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ._keys import KeyType
from .errors import MapError

JsonColumn: TypeAlias = int | str | dict[str, str]
JsonKey: TypeAlias = int | str | dict[str, str] | list[JsonColumn]


class JsonRange(msgspec.Struct, rename={"start": "from", "end": "to"}, gc=False):
    """A range of keys. It contains its start and excludes its end; a missing one is unbounded."""

    start: JsonKey | None = None
    end: JsonKey | None = None


class JsonBucketRange(msgspec.Struct, rename={"start": "from", "end": "to"}, gc=False):
    """A range of virtual shards."""

    start: int
    end: int


class JsonBuckets(msgspec.Struct, rename={"exceptions": "except"}, gc=False):
    """Ranges of virtual shards, and single keys that differ from their virtual shard."""

    of: int
    ranges: list[JsonBucketRange]
    exceptions: list[JsonKey] = []


class JsonKeySet(msgspec.Struct, rename={"ranges": "range", "buckets": "hash", "single": "list"}, gc=False):
    """A set of keys; exactly one field is present."""

    ranges: list[JsonRange] | None = None
    buckets: JsonBuckets | None = None
    single: list[JsonKey] | None = None


class JsonMapping(msgspec.Struct, gc=False):
    """A set of keys and its owner."""

    keys: JsonKeySet
    shard: str


class Settings(msgspec.Struct, frozen=True):
    """The settings of a map: its tables with their key columns, and tables that have the same rows on every shard."""

    keyed_by: str = "column"
    tables: dict[str, str | list[str]] = {}
    groups: dict[str, list[str]] = {}
    through: dict[str, object] = {}
    reference: list[str] = []
    ignore: list[str] = []


class JsonMap(msgspec.Struct):
    """One version of a shard map."""

    name: str
    strategy: str
    key: list[KeyType]
    version: int
    incarnation: str
    mappings: list[JsonMapping]
    buckets: int = 0
    settings: Settings = Settings()


_MAPS = msgspec.json.Decoder(JsonMap)


def read_map(text: bytes | str) -> JsonMap:
    """Reads the JSON of a map."""
    try:
        return _MAPS.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MapError(f"the JSON is not a shard map: {error}") from error
