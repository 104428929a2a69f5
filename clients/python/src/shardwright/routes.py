"""One version of a shard map, with an index from keys to shards. The index is built when the version arrives.

The index has the bounds of the mappings in key order, or the listed keys, and for each the number of an owner. Numeric
keys are stored as 64-bit numbers without an object for each, so that a map of a million keys needs about 12 MiB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from . import _keys
from ._document import JsonBuckets, JsonMap, JsonMapping, Settings, read_map
from ._keys import Key, KeyType, KeyValue
from .errors import MapError, NotAKey, Unmapped
from .key_set import HashSet, KeySet, ListSet, RangeSet, joined

_NUMERIC = ("smallint", "integer", "bigint", "date", "timestamptz")
_STRATEGIES = {"range": "range", "hash": "hash", "list": "list"}
_MAX_BUCKETS = 1 << 24


class Routes:
    """One version of a map, prepared for lookups: the version of a `Map`, or a map from another source."""

    def __init__(self, document: bytes | str) -> None:
        """Reads the JSON of a map, checks it and builds the index. Raises `MapError`."""
        parsed = read_map(document)
        self.name: str = parsed.name
        self.version: int = parsed.version
        self.incarnation: str = parsed.incarnation
        self.strategy: str = parsed.strategy
        self.key_types: tuple[KeyType, ...] = tuple(parsed.key)
        self.buckets: int = parsed.buckets
        self.settings: Settings = parsed.settings
        self.shards: tuple[str, ...] = tuple(sorted({mapping.shard for mapping in parsed.mappings}))
        """The shards that own keys, ordered by name."""
        self._check_form()
        try:
            index = _Builder(self, parsed)
        except NotAKey as error:
            raise MapError(f"map {self.name}: {error}") from error
        self._bounds, self._owners, self._exceptions = index.bounds, index.owners, index.exceptions

    def shard_for(self, key: KeyValue) -> str:
        """Returns the shard that owns `key`. Raises `Unmapped`, or `NotAKey` if it is no key of this map."""
        return self.shard_of(self.accept(key))

    def accept(self, key: KeyValue) -> Key:
        """Converts `key` to the key types of this map. Raises `NotAKey`."""
        try:
            return _keys.accept(self.key_types, key)
        except NotAKey as error:
            raise NotAKey(f"{error}, and so no key of map {self.name}") from None

    def shard_of(self, key: Key) -> str:
        """Returns the owner of a key that `accept` has converted. Raises `Unmapped`."""
        owner = self._exceptions.get(key, 0) if self._exceptions else 0
        owner = owner or self._owner_in_index(key)
        if not owner:
            shown = _keys.display(self.key_types, key)
            raise Unmapped(f"key {shown} is in no mapping of map {self.name} version {self.version}")
        return self.shards[owner - 1]

    def has_same_key_as(self, other: Routes) -> bool:
        """Whether a key of the other version is the same key in this one: neither its types nor its columns differ."""
        return self.key_types == other.key_types and self.settings.tables == other.settings.tables

    def owned_by(self, shard: str) -> KeySet:
        """Returns all keys that `shard` owns."""
        number = self._owner_number(shard)
        if self.strategy == "list":
            owned = zip(self._bounds, self._owners, strict=True)
            return ListSet(self.key_types, frozenset(key for key, owner in owned if owner == number))
        ranges = joined(self._pieces_of(number))
        if self.strategy == "range":
            return RangeSet(self.key_types, tuple(ranges))
        plain = HashSet(self.key_types, self.buckets, tuple(ranges))
        exceptions = (key for key, owner in self._exceptions.items() if plain.has_bucket_of(key) != (owner == number))
        return HashSet(self.key_types, self.buckets, plain.ranges, frozenset(exceptions))

    def _owner_number(self, shard: str) -> int:
        at = bisect_left(self.shards, shard)
        return at + 1 if at < len(self.shards) and self.shards[at] == shard else 0

    def _owner_in_index(self, key: Key) -> int:
        if self.strategy == "list":
            at = bisect_left(self._bounds, key)
            return self._owners[at] if at < len(self._bounds) and self._bounds[at] == key else 0
        place = _keys.bucket(self.key_types, key, self.buckets) if self.buckets else key
        return self._owners[bisect_right(self._bounds, place)]

    def _pieces_of(self, number: int) -> Iterator[tuple[Any, Any]]:
        ends = [None, *self._bounds, None]
        for at, owner in enumerate(self._owners):
            if owner == number:
                yield ends[at], ends[at + 1]

    def _check_form(self) -> None:
        columns, is_hash = len(self.key_types), self.strategy == "hash"
        problem = None
        if self.strategy not in _STRATEGIES:
            problem = f"the strategy {self.strategy} is unknown to this version of the library"
        elif not 1 <= columns <= 3:
            problem = f"a key has 1 to 3 columns, not {columns}"
        elif columns > 1 and self.strategy != "range":
            problem = f"a {self.strategy} map has one key column, not {columns}"
        elif is_hash and not (0 < self.buckets <= _MAX_BUCKETS and self.buckets & (self.buckets - 1) == 0):
            problem = f"{self.buckets} virtual shards are not a power of two up to {_MAX_BUCKETS}"
        elif not is_hash and self.buckets:
            problem = f"a {self.strategy} map has no virtual shards"
        if problem:
            raise MapError(f"map {self.name}: {problem}")


class _Builder:
    """Builds the index of a map.

    For a list map, `bounds` are the keys and `owners` their owners. Otherwise `owners` has one entry more: the owner
    below the first bound, and then the owner from each bound on. 0 means that there is none.
    """

    def __init__(self, routes: Routes, document: JsonMap) -> None:
        self._types, self._name, self._of = routes.key_types, routes.name, routes.buckets
        self._numbers = {shard: number for number, shard in enumerate(routes.shards, 1)}
        is_numeric = len(self._types) == 1 and self._types[0] in _NUMERIC
        self.exceptions: dict[Key, int] = {}
        self.bounds: Any = array("q") if is_numeric or self._of else []
        self.owners = array("I")
        build = {"range": self._add_ranges, "hash": self._add_buckets, "list": self._add_list}
        build[routes.strategy](document.mappings)

    def _add_ranges(self, mappings: Iterable[JsonMapping]) -> None:
        single = self._types[0] if len(self._types) == 1 else None
        plain = (int,) if single == "bigint" else ()
        accept, types = _keys.accept_end, self._types
        pieces = []
        for mapping in mappings:
            number = self._numbers[mapping.shard]
            for entry in self._part(mapping, mapping.keys.ranges):
                start, end = entry.start, entry.end
                # A number of a bigint map is its own key: no conversion, which takes most of the time.
                start = start if start is None or type(start) in plain else accept(types, start)
                end = end if end is None or type(end) in plain else accept(types, end)
                pieces.append((start, end, number))
        self._add_pieces(pieces)

    def _add_buckets(self, mappings: Iterable[JsonMapping]) -> None:
        pieces: list[tuple[Any, Any, int]] = []
        missing: set[Key] = set()
        for mapping in mappings:
            number = self._numbers[mapping.shard]
            [buckets] = self._part(mapping, mapping.keys.buckets and [mapping.keys.buckets])
            if buckets.of != self._of or any(not 0 <= r.start <= r.end <= self._of for r in buckets.ranges):
                raise MapError(f"map {self._name}: virtual shards of {mapping.shard} are not those of the map")
            pieces.extend((entry.start, entry.end, number) for entry in buckets.ranges)
            self._add_exceptions(buckets, number, missing)
        unowned = next((key for key in missing if key not in self.exceptions), None)
        if unowned is not None:
            shown = _keys.display(self._types, unowned)
            raise MapError(f"map {self._name}: its virtual shards except key {shown}, which has no owner")
        self._add_pieces(pieces)

    def _add_exceptions(self, buckets: JsonBuckets, number: int, missing: set[Key]) -> None:
        for value in buckets.exceptions:
            key = _keys.accept(self._types, value)
            bucket = _keys.bucket(self._types, key, self._of)
            if any(entry.start <= bucket < entry.end for entry in buckets.ranges):
                missing.add(key)
            elif self.exceptions.setdefault(key, number) != number:
                raise MapError(f"map {self._name}: key {_keys.display(self._types, key)} has two owners")

    def _add_list(self, mappings: Iterable[JsonMapping]) -> None:
        entries: list[tuple[Any, int]] = []
        accept: Callable[[Sequence[KeyType], Any], Key] = _keys.accept
        for mapping in mappings:
            number = self._numbers[mapping.shard]
            keys = self._part(mapping, mapping.keys.single)
            entries.extend((accept(self._types, key), number) for key in keys)
        entries.sort(key=lambda entry: entry[0])
        for (key, owner), (following, other) in pairwise(entries):
            if key == following and owner != other:
                raise MapError(f"map {self._name}: key {_keys.display(self._types, key)} has two owners")
        self.bounds.extend(key for key, _ in entries)
        self.owners.extend(owner for _, owner in entries)

    def _part(self, mapping: JsonMapping, part: Any) -> list[Any]:
        """The part of a key set that belongs to the strategy of the map."""
        if not part:
            raise MapError(f"map {self._name}: a key set of shard {mapping.shard} is empty, or of another strategy")
        return list(part)

    def _add_pieces(self, pieces: list[tuple[Any, Any, int]]) -> None:
        pieces = [piece for piece in pieces if piece[0] is None or piece[1] is None or piece[0] < piece[1]]
        unbounded = [piece for piece in pieces if piece[0] is None]
        pieces = [piece for piece in pieces if piece[0] is not None]
        pieces.sort(key=lambda piece: piece[0])
        if len(unbounded) > 1:
            raise MapError(f"map {self._name}: two ranges have no lower end")
        self.owners.append(unbounded[0][2] if unbounded else 0)
        last_end = unbounded[0][1] if unbounded else None
        is_open = bool(unbounded) and last_end is None
        if last_end is not None:
            self._add_bound(last_end, 0)
        for start, end, owner in pieces:
            if is_open or (last_end is not None and start < last_end):
                raise MapError(f"map {self._name}: mappings overlap at {self._shown(start)}")
            if last_end is not None and start == last_end:
                self.owners[-1] = owner
            else:
                self._add_bound(start, owner)
            last_end, is_open = end, end is None
            if end is not None:
                self._add_bound(end, 0)

    def _add_bound(self, bound: Any, owner: int) -> None:
        self.bounds.append(bound)
        self.owners.append(owner)

    def _shown(self, place: Any) -> str:
        return f"virtual shard {place}" if self._of else _keys.display(self._types, place)
