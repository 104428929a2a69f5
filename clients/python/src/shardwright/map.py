"""The interface for threads: routing by key, and transactions that are repeated on the new owner after a cutover."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

from ._base import BaseMap
from ._core import Core, Retries, TransactionRetries
from ._feed import CLOSED, Feed, cancel_all
from ._keys import KeyValue
from ._pool import Connection, Pool, Pools, check_before_commit, check_is_open
from ._recording import recording_cursor
from ._retry import Attempt, Stage
from .fan_out import FanOut, Part, parts_of
from .options import READ_ONLY, Options, ShardAccess, TransactionOptions
from .shadow import Shadow, ShadowAccess
from .stats import Counters

T = TypeVar("T")
_DEFAULT = TransactionOptions()


class Map(BaseMap):
    """A cached shard map, and a thread that follows its changes. Several threads may use it at the same time.

    Use `Map.connect`. A process that forks must connect after the fork.
    """

    def __init__(self, loop: _LoopThread, feed: Feed, core: Core, access: ShardAccess | ShadowAccess) -> None:
        super().__init__(core, Shadow.of(access, core.cache))
        self._loop, self._feed, self._closing = loop, feed, threading.Lock()
        self._pools: Pools[Pool] = self._make_pools(Pool, access, recording_cursor)

    @classmethod
    def connect(
        cls, controllers: str, name: str, access: ShardAccess | ShadowAccess, options: Options | None = None
    ) -> Map:
        """Reads the map `name`, and starts to follow its changes.

        `controllers` is a URL, or several that are separated by commas: if a controller fails, the next one is used.
        Afterwards lookups use the cache, even if no controller can be reached. Raises `FetchFailed`.
        """
        options, counters = options or Options(), Counters()
        loop = _LoopThread(f"shardwright map {name}")
        try:
            feed = loop.run(Feed.open(controllers, name, options, counters))
        except BaseException:
            loop.stop()
            raise
        return cls(loop, feed, Core(feed, counters, options), access)

    def __enter__(self) -> Map:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the thread, and closes the idle connections; the others at the end of their transactions."""
        with self._closing:
            if not self._loop.is_closed:
                self._loop.run(self._feed.close())
                self._loop.stop()
        for pool in self._pools.close():
            pool.close()

    def with_shard(self, key: KeyValue, work: Callable[[Connection], T], options: TransactionOptions = _DEFAULT) -> T:
        """Runs `work(connection)` in a transaction on the shard that owns `key`, and commits the transaction.

        `work` runs again from its start, on the shard of the newest map, if the shard refuses the key, after a
        serialization failure or a deadlock, and if the connection is lost before the commit was sent. Therefore effects
        of `work` outside the database must permit a repetition.

        Raises `CommitUnknown` if the connection is lost during the commit. Every other error means that nothing was
        committed. Errors of `work` are raised unchanged.
        """

        def attempt(state: Attempt) -> T:
            with self._recorded_transaction(key):
                return self._transact(state, options.begin(), work)

        return self.retry(key, attempt)

    def retry(self, key: KeyValue, attempt: Callable[[Attempt], T]) -> T:
        """Runs attempts of a transaction until one succeeds. An attempt records how far it got; for adapters."""
        retries = TransactionRetries(self._core, key)
        while True:
            state = retries.next()
            try:
                return attempt(state)
            except Exception as error:
                pause = retries.pause_after(error, state)
            # A newer map ends the pause early, regardless of the reason for the pause.
            self.wait_for_newer(retries.version, pause)

    def on_all(self, work: Callable[[Part, Connection], T], limit: int = 8) -> FanOut[T]:
        """Runs `work(part, connection)` on every shard that owns keys, on at most `limit` at the same time.

        Each runs in a read-only transaction with one snapshot, and again from its start if a connection is lost. If a
        shard does not answer, the result contains its error and the answers of the others.
        """
        routes = self._core.fresh_routes()
        parts = parts_of(routes)
        with ThreadPoolExecutor(max_workers=max(limit, 1)) as threads:
            answers = list(threads.map(lambda part: self._query(part, work), parts))
        return self._fan_out(routes, parts, answers)

    def wait_for_newer(self, known: int, pause: float) -> None:
        """Waits until the cache has a version above `known`, but for at most `pause`. Then it reads the map itself."""
        newer = threading.Event()
        forget = self._core.cache.call_when_newer(known, newer.set)
        try:
            if not newer.wait(pause):
                self._loop.run(self._feed.read_again())
        finally:
            forget()

    def _query(self, part: Part, work: Callable[[Part, Connection], T]) -> T | Exception:
        retries = Retries(self._core)
        try:
            while True:
                state = retries.start(part.shard)
                try:
                    with self._recorded_query(part):
                        return self._transact(state, READ_ONLY, lambda connection: work(part, connection))
                except Exception as error:
                    pause = retries.pause_after(error, state)
                self.wait_for_newer(self._core.cache.routes.version, pause)
        except Exception as error:
            return error

    def _transact(self, attempt: Attempt, begin: str, work: Callable[[Connection], T]) -> T:
        pool = self._pools.pool_of(self._place_of(attempt.shard))
        connection = pool.take()
        try:
            attempt.stage = Stage.WORK
            connection.execute(begin)
            try:
                result = work(connection)
            except Exception:
                # What the function has committed itself must not be repeated.
                check_is_open(attempt, connection.info.transaction_status)
                raise
            check_before_commit(attempt, connection.info.transaction_status)
            if begin is not READ_ONLY:
                attempt.stage = Stage.COMMIT
                connection.execute("commit")
            return result
        finally:
            attempt.is_lost = connection.closed
            pool.give_back(connection)


class _LoopThread:
    """A thread with an event loop, in which the feed runs."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self.is_closed = False
        """Whether `stop` was called."""
        self._thread = threading.Thread(target=self._follow, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the thread, and returns its result. Raises a `RuntimeError` if the thread ends before."""
        with self._lock:
            if self.is_closed:
                work.close()
                raise RuntimeError(CLOSED)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise RuntimeError(CLOSED) from None

    def stop(self) -> None:
        """Ends the thread, and what it runs."""
        with self._lock:
            self.is_closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _follow(self) -> None:
        self._loop.run_forever()
        # Other threads wait for the results of these tasks.
        self._loop.run_until_complete(cancel_all(asyncio.all_tasks(self._loop)))
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
