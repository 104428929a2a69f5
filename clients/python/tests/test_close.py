"""After `close` no thread waits for the map, and no connection stays open."""

from __future__ import annotations

import asyncio
import threading
import unittest
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import psycopg
from psycopg.pq import TransactionStatus

from shardwright import Map, Options, Routes
from shardwright._cache import MapCache
from shardwright._feed import Feed
from shardwright._pool import AsyncPool, Connection, Pool, Pools
from shardwright.map import _LoopThread
from shardwright.stats import Counters

_MAP = """{"name": "m", "strategy": "range", "key": ["bigint"], "version": 1, "incarnation": "i",
    "mappings": [{"keys": {"range": [{}]}, "shard": "a"}]}"""
_LIMIT = 2.0


class OpenConnection:
    """A connection that is idle. Calls `act` when the pool reads for the time `moment` whether it is closed."""

    def __init__(self, act: Callable[[], None] = lambda: None, moment: int = 0) -> None:
        self.info = SimpleNamespace(transaction_status=TransactionStatus.IDLE)
        self.is_closed = False
        self._act, self._moment, self._reads = act, moment, 0

    @property
    def closed(self) -> bool:
        """As of psycopg."""
        self._reads += 1
        if self._reads == self._moment:
            self._act()
        return self.is_closed

    def close(self) -> None:
        """As of psycopg."""
        self.is_closed = True


class Threads(unittest.TestCase):
    """A map for threads."""

    def test_a_thread_that_reads_the_map_again_does_not_wait_for_a_closed_map(self) -> None:
        reads = threading.Event()

        async def read_again() -> None:
            reads.set()
            await asyncio.sleep(3600)

        async def close() -> None:
            await asyncio.sleep(0)

        loop = _LoopThread("test")
        feed: Any = SimpleNamespace(read_again=read_again, close=close)
        cache = MapCache(Routes(_MAP), Counters())
        core: Any = SimpleNamespace(cache=cache, options=Options())
        map = Map(loop, feed, core, lambda shard: None)
        outcome: list[BaseException] = []

        def wait() -> None:
            try:
                map.wait_for_newer(1, 0.0)
            except RuntimeError as error:
                outcome.append(error)

        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        self.assertTrue(reads.wait(_LIMIT))
        map.close()
        waiting.join(_LIMIT)
        self.assertFalse(waiting.is_alive())
        self.assertEqual([str(error) for error in outcome], ["the map is closed"])
        self.assertEqual(cache._waiting, {})

    def test_a_connection_that_is_given_back_while_the_pool_closes_is_closed(self) -> None:
        # The pool closes at each moment at which it reads the state of the connection.
        for moment in (1, 2):
            pool = Pool("a", mock.Mock(), 1)
            connection: Any = OpenConnection(pool.close, moment)
            pool._slots.acquire()
            pool.give_back(connection)
            self.assertTrue(connection.is_closed, f"closed at moment {moment}")

    def test_a_pool_that_is_created_after_the_close_keeps_no_connection(self) -> None:
        pools: Pools[Pool] = Pools(Pool, lambda shard: "dbname=x", Options(), {})
        self.assertEqual(pools.close(), [])
        connection = OpenConnection()
        with mock.patch.object(Connection, "connect", lambda *_, **__: connection):
            pool = pools.pool_of("a")
            pool.give_back(pool.take())
        self.assertTrue(connection.is_closed)


class Tasks(unittest.IsolatedAsyncioTestCase):
    """A feed and a pool for asyncio."""

    async def test_a_read_ends_before_its_connections_are_closed(self) -> None:
        steps: list[str] = []
        reads = asyncio.Event()

        class Silent:
            """A controller that does not answer."""

            urls = ("c1",)
            current = "c1"

            @asynccontextmanager
            async def open_feed(self, url: str) -> AsyncIterator[AsyncIterator[bytes]]:
                await asyncio.sleep(3600)
                raise AssertionError
                yield

            async def read(self, url: str) -> bytes:
                reads.set()
                try:
                    await asyncio.sleep(3600)
                finally:
                    steps.append("read ended")
                raise AssertionError

            async def close(self) -> None:
                steps.append("connections closed")

        controllers: Any = Silent()
        feed = Feed(controllers, Options(), Counters(), Routes(_MAP))
        reading = asyncio.create_task(feed.read_again())
        await reads.wait()
        await feed.close()
        for read in (reading, feed.read_again()):
            with self.assertRaisesRegex(RuntimeError, "the map is closed"):
                await read
        self.assertEqual(steps, ["read ended", "connections closed"])

    async def test_a_connection_is_closed_if_its_rollback_is_cancelled(self) -> None:
        rolls_back, connection = asyncio.Event(), mock.Mock(psycopg.AsyncConnection, closed=False)
        connection.info.transaction_status = TransactionStatus.INTRANS

        async def execute(_: str) -> None:
            rolls_back.set()
            await asyncio.sleep(3600)

        connection.execute = execute
        pool = AsyncPool("a", mock.Mock(), 1)
        await pool._slots.acquire()
        giving = asyncio.create_task(pool.give_back(connection))
        await rolls_back.wait()
        giving.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await giving
        connection.close.assert_awaited_once()
        self.assertFalse(pool._slots.locked())


if __name__ == "__main__":
    unittest.main()
