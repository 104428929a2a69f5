"""Connections of psycopg to the shards, kept for reuse.

psycopg_pool opens connections in a thread of its own and reports only that a time limit has passed. Here a caller has
to know at once why a connection cannot be opened: that decides whether a retry helps. So a pool is a list of idle
connections and a limit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from ._retry import Attempt
from .errors import FailedStatementIgnored, NoAccess, TransactionEnded
from .options import Options, ShardAccess, find_dsn

C = TypeVar("C", "Connection", "AsyncConnection")


class Connection(psycopg.Connection[Any]):
    """A connection to a shard, in a transaction that the library has begun and will end."""

    def commit(self) -> NoReturn:
        """Not possible: the library commits."""
        raise TransactionEnded("commit is not possible in the function of a transaction")

    def rollback(self) -> NoReturn:
        """Not possible: the library rolls back if the function raises an error."""
        raise TransactionEnded("rollback is not possible in the function of a transaction")


class AsyncConnection(psycopg.AsyncConnection[Any]):
    """A connection to a shard, in a transaction that the library has begun and will end."""

    async def commit(self) -> NoReturn:
        """Not possible: the library commits."""
        raise TransactionEnded("commit is not possible in the function of a transaction")

    async def rollback(self) -> NoReturn:
        """Not possible: the library rolls back if the function raises an error."""
        raise TransactionEnded("rollback is not possible in the function of a transaction")


def check_before_commit(attempt: Attempt, status: TransactionStatus) -> None:
    """Raises an error if a commit would not commit the work. A commit that is not sent has no unknown outcome."""
    check_is_connected(attempt, is_lost=status == TransactionStatus.UNKNOWN)
    if status == TransactionStatus.INERROR:
        raise FailedStatementIgnored(
            f"the function ignored a failed statement; the transaction on shard {attempt.shard} was rolled back"
        )
    check_is_open(attempt, status)


def check_is_connected(attempt: Attempt, *, is_lost: bool) -> None:
    """Raises an error if the connection was lost, which the function has ignored or not seen."""
    if is_lost:
        attempt.is_lost = True
        raise psycopg.OperationalError(f"the connection to shard {attempt.shard} was lost before the commit was sent")


def check_is_open(attempt: Attempt, status: TransactionStatus) -> None:
    """Raises an error if the function has ended its transaction.

    Drivers without autocommit begin another one at the next statement: there each statement is followed by this check.
    """
    attempt.has_ended = attempt.has_ended or status == TransactionStatus.IDLE
    if attempt.has_ended:
        raise TransactionEnded(f"the function ended its transaction on shard {attempt.shard}")


class Connector:
    """How connections to a shard are opened."""

    def __init__(self, access: ShardAccess, options: Options, cursors: dict[str, Any]) -> None:
        self._access, self._options, self._cursors = access, options, cursors

    def arguments(self, shard: str) -> tuple[str, dict[str, Any]]:
        """The connection string of a shard, and the arguments of the driver."""
        dsn = find_dsn(self._access, shard)
        if dsn is None:
            raise NoAccess(f"no connection string for shard {shard}")
        arguments = {"autocommit": True} | self._cursors
        if "connect_timeout" not in conninfo_to_dict(dsn):
            arguments["connect_timeout"] = self._options.connect_timeout
        return dsn, arguments


class _Idle(Generic[C]):
    """The idle connections of one shard, the last used first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: list[C] = []
        self._is_closed = False

    def take(self) -> C | None:
        while True:
            with self._lock:
                connection = self._connections.pop() if self._connections else None
            if connection is None or not connection.closed:
                return connection

    def put(self, connection: C) -> bool:
        """Keeps a connection; returns whether it did. A closed pool keeps none."""
        with self._lock:
            if not self._is_closed:
                self._connections.append(connection)
            return not self._is_closed

    def take_all(self) -> list[C]:
        with self._lock:
            connections, self._connections = self._connections, []
        return connections

    def close(self) -> list[C]:
        """Keeps no connection from now on. Returns those that it has, which the caller closes."""
        with self._lock:
            self._is_closed = True
        return self.take_all()


class Pool:
    """The connections to one shard."""

    def __init__(self, shard: str, connector: Connector, limit: int) -> None:
        self._shard, self._connector = shard, connector
        self._slots = threading.BoundedSemaphore(limit)
        self.idle: _Idle[Connection] = _Idle()

    def take(self) -> Connection:
        """Returns an idle connection, or opens one."""
        self._slots.acquire()
        try:
            idle = self.idle.take()
            if idle is not None:
                return idle
            dsn, arguments = self._connector.arguments(self._shard)
            return Connection.connect(dsn, **arguments)
        except BaseException:
            self._slots.release()
            raise

    def give_back(self, connection: Connection) -> None:
        """Ends a loan. A connection whose transaction has not ended is rolled back or closed."""
        try:
            was_lost = connection.closed
            if not was_lost and connection.info.transaction_status != TransactionStatus.IDLE:
                _end_quietly(connection)
            if was_lost:
                # The others are lost too, if the server was restarted.
                self._close_idle()
            elif not connection.closed and not self.idle.put(connection):
                connection.close()
        finally:
            self._slots.release()

    def close(self) -> None:
        """Closes the idle connections; the others at the end of their loans."""
        for connection in self.idle.close():
            connection.close()

    def _close_idle(self) -> None:
        for connection in self.idle.take_all():
            connection.close()


def _end_quietly(connection: Connection) -> None:
    try:
        connection.execute("rollback")
    except psycopg.Error:
        connection.close()
    except BaseException:
        connection.close()
        raise


class AsyncPool:
    """The connections to one shard, for asyncio."""

    def __init__(self, shard: str, connector: Connector, limit: int) -> None:
        self._shard, self._connector = shard, connector
        self._slots = asyncio.Semaphore(limit)
        self.idle: _Idle[AsyncConnection] = _Idle()

    async def take(self) -> AsyncConnection:
        """Returns an idle connection, or opens one."""
        await self._slots.acquire()
        try:
            idle = self.idle.take()
            if idle is not None:
                return idle
            dsn, arguments = self._connector.arguments(self._shard)
            return await AsyncConnection.connect(dsn, **arguments)
        except BaseException:
            self._slots.release()
            raise

    async def give_back(self, connection: AsyncConnection) -> None:
        """Ends a loan. A connection whose transaction has not ended is rolled back or closed."""
        try:
            was_lost = connection.closed
            if not was_lost and connection.info.transaction_status != TransactionStatus.IDLE:
                await _end_quietly_async(connection)
            if was_lost:
                await self._close_idle()
            elif not connection.closed and not self.idle.put(connection):
                await connection.close()
        finally:
            self._slots.release()

    async def close(self) -> None:
        """Closes the idle connections; the others at the end of their loans."""
        for connection in self.idle.close():
            await connection.close()

    async def _close_idle(self) -> None:
        for connection in self.idle.take_all():
            await connection.close()


async def _end_quietly_async(connection: AsyncConnection) -> None:
    try:
        await connection.execute("rollback")
    except psycopg.Error:
        await connection.close()
    except BaseException:
        # The task was cancelled, and the outcome of the statement is unknown.
        await connection.close()
        raise


P = TypeVar("P", Pool, AsyncPool)


class Pools(Generic[P]):
    """The pools of all shards, each created on first use."""

    def __init__(
        self, make: Callable[[str, Connector, int], P], access: ShardAccess, options: Options, cursors: dict[str, Any]
    ) -> None:
        self._make: Callable[[str, Connector, int], P] = make
        self._connector = Connector(access, options, cursors)
        self._limit = options.connections
        self._lock = threading.Lock()
        self._pools: dict[str, P] = {}
        self._is_closed = False

    def pool_of(self, shard: str) -> P:
        """Returns the pool of a shard."""
        with self._lock:
            if shard not in self._pools:
                self._pools[shard] = self._make(shard, self._connector, self._limit)
                if self._is_closed:
                    self._pools[shard].idle.close()
            return self._pools[shard]

    def close(self) -> list[P]:
        """Returns the pools that exist, which the caller closes. Those that are created later keep no connection."""
        with self._lock:
            self._is_closed = True
            return list(self._pools.values())
