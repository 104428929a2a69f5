"""One version of a shard map with an index from keys to shards, built when the version arrives."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from . import keys


class Unmapped(LookupError):
    """No mapping of the map holds the key."""


class Routes:
    """A map as the controller gives it: `GET /api/v1/maps/NAME`."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.name: str = document["name"]
        self.version: int = document["version"]
        self.types: list[str] = document["key"]
        self.shards: list[str] = sorted({mapping["shard"] for mapping in document["mappings"]})
        self._buckets: int = document.get("buckets", 0)
        self._spans: list[tuple[Any, Any, str]] = []
        # Single keys, which come before their virtual shard. Without a shard: the virtual shard lacks the key.
        self._listed: dict[keys.Key, str | None] = {}
        for mapping in document["mappings"]:
            self._take(mapping["keys"], mapping["shard"])
        self._spans.sort(key=lambda span: span[0])
        self._begins = [begin for begin, _, _ in self._spans]

    def _take(self, held: dict[str, Any], shard: str) -> None:
        [(form, held)] = held.items()
        if form == "list":
            self._listed.update((keys.accept(self.types, key), shard) for key in held)
        elif form == "hash":
            self._spans.extend((span["from"], span["to"], shard) for span in held["ranges"])
            for key in held.get("except", ()):
                self._except(keys.accept(self.types, key), held["ranges"], shard)
        else:
            self._spans.extend((*self._ends(span), shard) for span in held)

    def _except(self, key: keys.Key, ranges: list[dict[str, int]], shard: str) -> None:
        bucket = keys.bucket(key, self._buckets)
        if any(span["from"] <= bucket < span["to"] for span in ranges):
            self._listed.setdefault(key, None)
        else:
            self._listed[key] = shard

    def _ends(self, span: dict[str, Any]) -> tuple[bytes, bytes | None]:
        # The end behind the last key of a type is no value of it.
        types = ["bigint" if kind in ("smallint", "integer") else kind for kind in self.types]
        begin, end = (keys.ordered(keys.accept(types, span[e])) if e in span else None for e in ("from", "to"))
        return begin or b"", end

    def shard_for(self, key: Any) -> str:
        """The shard that owns the key. Raises `Unmapped`, or `keys.KeyError_` where it is no key of this map."""
        accepted = keys.accept(self.types, key)
        if accepted in self._listed or (self._listed and not self._spans):
            shard = self._listed.get(accepted)
        else:
            place = keys.bucket(accepted, self._buckets) if self._buckets else keys.ordered(accepted)
            shard = self._at(place)
        if shard is None:
            raise Unmapped(f"key {key!r} is in no mapping of map {self.name} version {self.version}")
        return shard

    def _at(self, place: Any) -> str | None:
        at = bisect_right(self._begins, place) - 1
        if at < 0:
            return None
        _, end, shard = self._spans[at]
        return shard if end is None or place < end else None
