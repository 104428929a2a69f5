"""The requests of the conformance suite that need no connection: keys, sets and maps."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import Any

import msgspec

from shardwright import Routes, _document, _keys, errors, key_set


class Driver:
    """The requests that need no connection."""

    async def op_keys(self, types: list[Any], values: list[Any], of: list[int]) -> list[Any]:
        return [self._key(types, value, of) for value in values]

    def _key(self, types: list[Any], value: Any, of: list[int]) -> dict[str, Any]:
        try:
            key = _keys.accept(types, value)
        except errors.NotAKey:
            return {"error": "not_a_key"}
        unsigned = _keys.hash64(types, key)
        return {
            "texts": [_keys.text(kind, column) for kind, column in zip(types, _keys.columns(key), strict=True)],
            "hash": str(unsigned - (1 << 64) if unsigned >> 63 else unsigned),
            "buckets": [_keys.bucket(types, key, count) for count in of],
        }

    async def op_sort(self, types: list[Any], values: list[Any]) -> list[int]:
        keys: list[Any] = [_keys.accept(types, value) for value in values]
        return sorted(range(len(keys)), key=lambda at: keys[at])

    async def op_sets(self, types: list[Any], sets: list[Any], keys: list[Any], columns: list[str]) -> list[Any]:
        accepted = [_keys.accept(types, key) for key in keys]
        parsed = [key_set.read_key_set(types, msgspec.convert(one, _document.JsonKeySet)) for one in sets]
        return [
            {
                "members": [at for at, key in enumerate(accepted) if one.contains(key)],
                "predicate": key_set.predicate(one, columns),
            }
            for one in parsed
        ]

    async def op_routes(self, text: str, keys: list[Any], columns: list[str]) -> dict[str, Any]:
        routes = Routes(text)
        predicates = {shard: key_set.predicate(routes.owned_by(shard), columns) for shard in routes.shards}
        return {"shards": [self._shard(routes, key) for key in keys], "predicates": predicates}

    def _shard(self, routes: Routes, key: Any) -> str | None:
        try:
            return routes.shard_for(key)
        except errors.Unmapped:
            return None

    async def op_measure(self, path: str, keys: list[Any]) -> dict[str, Any]:
        text = Path(path).read_bytes()
        before = resident()
        begun = time.perf_counter()
        routes = Routes(text)
        loaded = time.perf_counter()
        shards = [routes.shard_for(key) for key in keys]
        took = time.perf_counter() - loaded
        memory = resident() - before
        return {
            "shards": shards,
            "load_seconds": loaded - begun,
            "lookup_micros": took / len(keys) * 1e6,
            "memory_mib": memory,
        }


def resident() -> float:
    """The resident memory in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)
