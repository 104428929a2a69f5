"""The counters of the library, since the map was connected."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The counters of one map, and the age of its information."""

    lookups: int
    """The number of looked-up keys, including those of transactions."""
    lookups_refused: int
    """The number of these keys that have no shard, are not keys of the map, or were looked up while the map was too
    old."""
    retries: int
    """The number of attempts after the first one, for any reason."""
    not_owner: int
    """The number of writes refused with SM001: the shard does not own the key any more, or not for the moment."""
    not_open: int
    """The number of writes refused with SM002: the shard does not own the key yet."""
    refreshes: int
    """The number of newer map versions that replaced the cached one."""
    reconnects: int
    """How often the change feed was opened again."""
    commits_unknown: int
    """The number of commits with an unknown outcome."""
    version: int
    """The version of the map in use."""
    silence: float
    """The seconds since a controller last answered. The map may be out of date by this time."""


class Counters:
    """Counters that several threads increment."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = {name: 0 for name in Stats.__slots__ if name not in ("version", "silence")}

    def increment(self, name: str) -> None:
        """Adds one."""
        with self._lock:
            self._counts[name] += 1

    def stats(self, version: int, silence: float) -> Stats:
        """The counters together with the state of the map."""
        with self._lock:
            return Stats(**self._counts, version=version, silence=silence)
