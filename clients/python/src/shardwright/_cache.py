"""The newest known version of the map. Threads and tasks can wait for a newer one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from .routes import Routes
from .stats import Counters

_LOG = logging.getLogger("shardwright")


class MapCache:
    """The cached map. A version is only replaced by a higher one."""

    def __init__(self, first: Routes, counters: Counters) -> None:
        self.routes = first
        self._counters = counters
        self._lock = threading.Lock()
        self._waiting: dict[object, tuple[int, Callable[[], object]]] = {}
        self._last_answer = time.monotonic()

    @property
    def silence(self) -> float:
        """The seconds since a controller last answered."""
        return time.monotonic() - self._last_answer

    def record_answer(self) -> None:
        """Records that a controller has answered now."""
        self._last_answer = time.monotonic()

    def offer(self, routes: Routes) -> None:
        """Replaces the cached map if `routes` is newer."""
        if routes.incarnation != self.routes.incarnation:
            # A lower version with another incarnation comes from a control store that was restored.
            _LOG.warning("map %s version %d comes from another control store", routes.name, routes.version)
        with self._lock:
            if routes.version <= self.routes.version:
                return
            self.routes = routes
            ready = [token for token, (known, _) in self._waiting.items() if known < routes.version]
            callbacks = [self._waiting.pop(token)[1] for token in ready]
        self._counters.increment("refreshes")
        _LOG.debug("map %s replaced by version %d", routes.name, routes.version)
        for callback in callbacks:
            callback()

    def call_when_newer(self, known: int, callback: Callable[[], object]) -> Callable[[], None]:
        """Calls `callback` once the cache has a version above `known`. Returns a function that ends the wait."""
        token = object()
        with self._lock:
            is_newer = self.routes.version > known
            if not is_newer:
                self._waiting[token] = (known, callback)
        if is_newer:
            callback()

        def forget() -> None:
            with self._lock:
                self._waiting.pop(token, None)

        return forget
