"""The interface for asyncio: the same as `Map`, in the event loop of the application."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TypeVar

import anyio

from ._base import BaseMap
from ._core import Core, Retries, TransactionRetries
from ._feed import Feed
from ._keys import KeyValue
from ._pool import AsyncConnection, AsyncPool, Pools, check_before_commit, check_is_open
from ._recording import recording_async_cursor
from ._retry import Attempt, Stage
from .fan_out import FanOut, Part, parts_of
from .options import READ_ONLY, Options, ShardAccess, TransactionOptions
from .shadow import Shadow, ShadowAccess
from .stats import Counters

T = TypeVar("T")
_DEFAULT = TransactionOptions()


class AsyncMap(BaseMap):
    """A cached shard map, and a task that follows its changes. Use `AsyncMap.connect`."""

    def __init__(self, feed: Feed, core: Core, access: ShardAccess | ShadowAccess) -> None:
        super().__init__(core, Shadow.of(access, core.cache))
        self._feed = feed
        self._pools: Pools[AsyncPool] = self._make_pools(AsyncPool, access, recording_async_cursor)

    @classmethod
    async def connect(
        cls, controllers: str, name: str, access: ShardAccess | ShadowAccess, options: Options | None = None
    ) -> AsyncMap:
        """Reads the map `name`, and starts to follow its changes. See `Map.connect`."""
        options, counters = options or Options(), Counters()
        feed = await Feed.open(controllers, name, options, counters)
        return cls(feed, Core(feed, counters, options), access)

    async def __aenter__(self) -> AsyncMap:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the task, and closes the idle connections."""
        await self._feed.close()
        for pool in self._pools.close():
            await pool.close()

    async def with_shard(
        self, key: KeyValue, work: Callable[[AsyncConnection], Awaitable[T]], options: TransactionOptions = _DEFAULT
    ) -> T:
        """Runs `work(connection)` in a transaction on the shard that owns `key`, and commits it. See `Map.with_shard`.

        If the task is cancelled during the commit, the outcome of the transaction is unknown.
        """

        async def attempt(state: Attempt) -> T:
            with self._recorded_transaction(key):
                return await self._transact(state, options.begin(), work)

        return await self.retry(key, attempt)

    async def retry(self, key: KeyValue, attempt: Callable[[Attempt], Awaitable[T]]) -> T:
        """Runs attempts of a transaction until one succeeds. An attempt records how far it got; for adapters."""
        retries = TransactionRetries(self._core, key)
        while True:
            state = retries.next()
            try:
                return await attempt(state)
            except Exception as error:
                pause = retries.pause_after(error, state)
            # A newer map ends the pause early, regardless of the reason for the pause.
            await self.wait_for_newer(retries.version, pause)

    async def on_all(self, work: Callable[[Part, AsyncConnection], Awaitable[T]], limit: int = 8) -> FanOut[T]:
        """Runs `work(part, connection)` on every shard that owns keys. See `Map.on_all`."""
        routes = self._core.fresh_routes()
        parts = parts_of(routes)
        slots = asyncio.Semaphore(max(limit, 1))

        async def query(part: Part) -> T | Exception:
            async with slots:
                return await self._query(part, work)

        answers = await asyncio.gather(*(query(part) for part in parts))
        return self._fan_out(routes, parts, answers)

    async def wait_for_newer(self, known: int, pause: float) -> None:
        """Waits until the cache has a version above `known`, but for at most `pause`. Then it reads the map itself."""
        newer = asyncio.Event()
        forget = self._core.cache.call_when_newer(known, newer.set)
        try:
            with anyio.move_on_after(pause) as limit:
                await newer.wait()
            if limit.cancelled_caught:
                await self._feed.read_again()
        finally:
            forget()

    async def _query(self, part: Part, work: Callable[[Part, AsyncConnection], Awaitable[T]]) -> T | Exception:
        retries = Retries(self._core)
        try:
            while True:
                state = retries.start(part.shard)
                try:
                    with self._recorded_query(part):
                        return await self._transact(state, READ_ONLY, lambda connection: work(part, connection))
                except Exception as error:
                    pause = retries.pause_after(error, state)
                await self.wait_for_newer(self._core.cache.routes.version, pause)
        except Exception as error:
            return error

    async def _transact(self, attempt: Attempt, begin: str, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        pool = self._pools.pool_of(self._place_of(attempt.shard))
        connection = await pool.take()
        try:
            attempt.stage = Stage.WORK
            await connection.execute(begin)
            try:
                result = await work(connection)
            except Exception:
                # What the function has committed itself must not be repeated.
                check_is_open(attempt, connection.info.transaction_status)
                raise
            check_before_commit(attempt, connection.info.transaction_status)
            if begin is not READ_ONLY:
                attempt.stage = Stage.COMMIT
                await connection.execute("commit")
            return result
        finally:
            attempt.is_lost = connection.closed
            await pool.give_back(connection)
