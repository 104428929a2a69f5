"""Counts which keys are used most, and reports them to the controller at regular intervals.

If the controller does not accept a report, its counts are lost. No transaction waits for a report. The memory is
limited (a Misra-Gries summary): of `n` uses in a window at most `n / MAX_KEYS` are not counted for any key, so the
report contains every key with more uses than that. If the key of the map changes, the counts of the former key are
lost.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

import httpx

from . import _keys
from ._controllers import ControllerError, Controllers
from ._keys import Column, Key, KeyType
from .routes import Routes

_LOG = logging.getLogger("shardwright")
MAX_KEYS = 512
"""The maximum number of keys in a report."""


class LoadSummary:
    """The counts of at most twice `MAX_KEYS` keys, in the current window."""

    def __init__(self, routes: Routes) -> None:
        self._lock = threading.Lock()
        self._routes = routes
        self._counts: dict[Key, int] = {}

    def count(self, routes: Routes, key: Key) -> None:
        """Counts one use of a key of a version of the map."""
        with self._lock:
            if routes is not self._routes:
                self._follow(routes)
            if key not in self._counts and len(self._counts) >= 2 * MAX_KEYS:
                self._reduce()
            self._counts[key] = self._counts.get(key, 0) + 1

    def take(self) -> tuple[tuple[KeyType, ...], list[tuple[Key, int]]]:
        """Ends the window. Returns the types of its keys, and the keys with their uses, the most used first."""
        with self._lock:
            counts, self._counts = self._counts, {}
            types = self._routes.key_types
        return types, sorted(counts.items(), key=lambda entry: (-entry[1], _keys.columns(entry[0])))[:MAX_KEYS]

    def _follow(self, routes: Routes) -> None:
        if not routes.has_same_key_as(self._routes):
            self._counts = {}
        self._routes = routes

    def _reduce(self) -> None:
        """Subtracts the count that has exactly `MAX_KEYS` others before it from every count."""
        subtracted = sorted(self._counts.values(), reverse=True)[MAX_KEYS]
        self._counts = {key: count - subtracted for key, count in self._counts.items() if count > subtracted}


async def report(controllers: Controllers, summary: LoadSummary, every: float) -> None:
    """Reports at the end of each window of length `every`, without an end."""
    begun = time.monotonic()
    while True:
        await asyncio.sleep(every)
        (types, counts), now = summary.take(), time.monotonic()
        window, begun = now - begun, now
        if not counts:
            continue
        document = {"counts": [(_json_of(types, key), uses) for key, uses in counts], "window_ms": int(window * 1000)}
        url = controllers.current
        try:
            await controllers.post(f"{url}/counters", json.dumps(document).encode())
        except (OSError, httpx.HTTPError, ControllerError) as error:
            _LOG.debug("the load was not reported: %s", error)
            controllers.switch_after_failure(url)


def _json_of(types: Sequence[KeyType], key: Key) -> Any:
    values = [_json_of_column(kind, value) for kind, value in zip(types, _keys.columns(key), strict=True)]
    return values if len(values) > 1 else values[0]


def _json_of_column(kind: KeyType, value: Column) -> Any:
    if isinstance(value, str) or kind in ("smallint", "integer", "bigint"):
        return value
    return {kind: _keys.text(kind, value)}
