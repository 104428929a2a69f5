"""What `Map` and `AsyncMap` have in common. Does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from ._core import Core
from ._keys import KeyValue
from ._pool import Connector, P, Pools
from .fan_out import FanOut, Part
from .options import ShardAccess
from .routes import Routes
from .shadow import Shadow, ShadowAccess
from .stats import Stats

T = TypeVar("T")
# In shadow mode there is one pool, of the one database.
_ONE_DATABASE = "the one database"


class BaseMap:
    """Lookups and counters."""

    def __init__(self, core: Core, shadow: Shadow | None) -> None:
        self._core = core
        self.shadow = shadow
        """What shadow mode has found; `None` without shadow mode."""

    @property
    def routes(self) -> Routes:
        """The cached version of the map, for many lookups that belong together. These lookups are not counted."""
        return self._core.cache.routes

    def shard_for(self, key: KeyValue) -> str:
        """Returns the shard that owns `key`, according to the cached map.

        Raises a `RouteError` if no shard owns the key, if the value is not a key of this map, or if the map is too old
        (`Options.max_staleness`).
        """
        return self._core.shard_for(key)

    def stats(self) -> Stats:
        """Returns the counters of the library."""
        return self._core.stats()

    def _make_pools(
        self,
        make: Callable[[str, Connector, int], P],
        access: ShardAccess | ShadowAccess,
        recording: Callable[[Shadow], type],
    ) -> Pools[P]:
        options = self._core.options
        if isinstance(access, ShadowAccess) and self.shadow is not None:
            database = access.database
            return Pools(make, lambda _: database, options, {"cursor_factory": recording(self.shadow)})
        return Pools(make, access, options, {})  # type: ignore[arg-type]

    def _place_of(self, shard: str) -> str:
        """The pool that a transaction on `shard` uses."""
        return shard if self.shadow is None else _ONE_DATABASE

    def _recorded_transaction(self, key: KeyValue) -> AbstractContextManager[None]:
        return nullcontext() if self.shadow is None else self.shadow.transaction(key)

    def _recorded_query(self, part: Part) -> AbstractContextManager[None]:
        return nullcontext() if self.shadow is None else self.shadow.query(part)

    def _fan_out(self, routes: Routes, parts: Sequence[Part], answers: Sequence[Any]) -> FanOut[Any]:
        current = self._core.cache.routes.version
        shards = {part.shard: answer for part, answer in zip(parts, answers, strict=True)}
        return FanOut(routes.version, current if current != routes.version else None, shards)
