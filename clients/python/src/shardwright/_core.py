"""What both kinds of maps have in common: lookups, counters, and the decision after each attempt. Does no I/O."""

from __future__ import annotations

import time
from typing import NoReturn

from . import _keys
from ._feed import Feed
from ._keys import KeyValue
from ._retry import Attempt, Pauses, Remedy, Stage, refused_at_commit, remedy_of
from .errors import CommitUnknown, ConnectFailed, GaveUp, NoAnswer, RouteError, ShardwrightError, Stale
from .options import Options
from .routes import Routes
from .stats import Counters, Stats


class Core:
    """The cached map with its counters."""

    def __init__(self, feed: Feed, counters: Counters, options: Options) -> None:
        self.cache, self.counters, self.options = feed.cache, counters, options
        self._load = feed.load

    def fresh_routes(self) -> Routes:
        """Returns the cached map, unless it is older than `Options.max_staleness`."""
        routes, limit = self.cache.routes, self.options.max_staleness
        silence = 0.0 if limit is None else self.cache.silence
        if limit is not None and silence > limit:
            raise Stale(
                f"map {routes.name} version {routes.version} may be out of date: "
                f"no controller has answered for {silence:.1f} s"
            )
        return routes

    def shard_for(self, value: KeyValue) -> str:
        """Returns the shard that owns a key. Counts the lookup."""
        self.counters.increment("lookups")
        try:
            routes = self.fresh_routes()
            key = routes.accept(value)
            shard = routes.shard_of(key)
        except RouteError:
            self.counters.increment("lookups_refused")
            raise
        if self._load is not None:
            self._load.count(routes, key)
        return shard

    def stats(self) -> Stats:
        """Returns the counters."""
        return self.counters.stats(self.cache.routes.version, self.cache.silence)


class Retries:
    """The attempts of one call: which shard is next, and whether another attempt follows a failed one."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._pauses = Pauses(core.options.first_pause, core.options.longest_pause)
        self._begun = time.monotonic()
        self._attempts = 0

    def start(self, shard: str) -> Attempt:
        """Begins an attempt on `shard`."""
        self._attempts += 1
        return Attempt(shard)

    def pause_after(self, error: Exception, attempt: Attempt) -> float:
        """Returns the pause before the next attempt, or raises the error that the application receives."""
        if attempt.stage is Stage.COMMIT and not refused_at_commit(error):
            self._core.counters.increment("commits_unknown")
            raise CommitUnknown(
                f"the connection to shard {attempt.shard} was lost during the commit; "
                "the outcome of the transaction is unknown"
            ) from error
        remedy = Remedy.NONE if isinstance(error, ShardwrightError) else remedy_of(error, attempt)
        if remedy is Remedy.NONE and attempt.stage is Stage.CONNECT and not isinstance(error, ShardwrightError):
            raise ConnectFailed(f"cannot connect to shard {attempt.shard}: {error}") from error
        if remedy is Remedy.NONE:
            raise error
        pause = self._pauses.next()
        waited = time.monotonic() - self._begun
        if waited + pause > self._core.options.retry_for:
            self.give_up(error, attempt, waited)
        self._core.counters.increment("retries")
        if remedy is Remedy.REFRESH_NOT_OWNER:
            self._core.counters.increment("not_owner")
        elif remedy is Remedy.REFRESH_NOT_OPEN:
            self._core.counters.increment("not_open")
        return pause

    def give_up(self, error: Exception, attempt: Attempt, waited: float) -> NoReturn:
        """Raises the error after the last attempt."""
        raise NoAnswer(
            f"shard {attempt.shard}: gave up after {self._attempts} attempt(s) in {waited:.1f} s: {error}"
        ) from error


class TransactionRetries(Retries):
    """The attempts of a transaction on the shard of a key."""

    def __init__(self, core: Core, value: KeyValue) -> None:
        super().__init__(core)
        core.shard_for(value)
        # The application's own value: each version can have other key types.
        self._value, self._routes = value, core.cache.routes

    @property
    def version(self) -> int:
        """The version of the map by which the last attempt was routed."""
        return self._routes.version

    def next(self) -> Attempt:
        """Begins an attempt on the key's shard by the newest map."""
        self._routes = self._core.fresh_routes()
        return self.start(self._routes.shard_for(self._value))

    def give_up(self, error: Exception, attempt: Attempt, waited: float) -> NoReturn:
        """Raises the error after the last attempt."""
        shown = _keys.display(self._routes.key_types, self._routes.accept(self._value))
        raise GaveUp(f"key {shown}: gave up after {self._attempts} attempt(s) in {waited:.1f} s: {error}") from error
