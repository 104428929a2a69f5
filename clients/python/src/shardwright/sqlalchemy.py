"""SQLAlchemy: an engine for each shard, and sessions bound by key. Needs the extra `shardwright[sqlalchemy]`.

    shards = ShardEngines(map, lambda shard: f"postgresql+psycopg://app@{shard}.db.internal/shop")
    order = shards.with_session(4711, lambda session: session.get(Order, (4711, 1)))

In shadow mode all sessions use the engine of the one database, and every statement is compared with the map.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, TypeVar

from psycopg import OperationalError
from psycopg.pq import TransactionStatus
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import PendingRollbackError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from ._base import BaseMap
from ._keys import KeyValue
from ._pool import check_before_commit, check_is_connected, check_is_open
from ._retry import Attempt, Stage
from .aio import AsyncMap
from .errors import NoAccess
from .map import Map
from .shadow import Shadow

T = TypeVar("T")
E = TypeVar("E", Engine, AsyncEngine)
M = TypeVar("M", bound=BaseMap)
UrlOf = Callable[[str], "str | URL | None"]
"""Returns the URL of a shard; `None` if the application has none."""


def record_statements(engine: Engine, shadow: Shadow) -> None:
    """Compares every statement of an engine with the map of `shadow`; for code that does not use `with_session` yet."""

    @event.listens_for(engine, "before_cursor_execute")
    def before_cursor_execute(
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
    ) -> None:
        driver = connection.connection.driver_connection
        begins = driver.info.transaction_status == TransactionStatus.IDLE
        for row in parameters if executemany else [parameters]:
            shadow.record_formatted(statement, row, driver, begins=begins)
            begins = False


def _check_each_statement(connection: Connection, attempt: Attempt) -> None:
    @event.listens_for(connection, "after_cursor_execute")
    def after_cursor_execute(*_: Any) -> None:
        driver = connection.connection.driver_connection
        check_is_open(attempt, driver.info.transaction_status)  # type: ignore[union-attr]


@contextmanager
def _checked_transaction(session: Session, attempt: Attempt) -> Iterator[None]:
    """Raises an error if the transaction of a session has ended inside this context.

    Afterwards its connection can be that of another session, in a transaction that this session must not commit.
    """
    begun = session.get_transaction()

    def check() -> None:
        if session.get_transaction() is not begun:
            check_is_open(attempt, TransactionStatus.IDLE)

    try:
        yield
    except Exception:
        check()
        raise
    check()


@contextmanager
def _noting_the_loss_of(driver: Any, attempt: Attempt) -> Iterator[None]:
    """Records in an attempt whether an error is due to a lost connection."""
    try:
        yield
    except PendingRollbackError as error:
        # The function continues after the loss, which it has ignored.
        try:
            check_is_connected(attempt, is_lost=driver.closed)
        except OperationalError as lost:
            raise lost from error
        raise
    except Exception:
        attempt.is_lost = driver.closed
        raise


def _sync_engine(engine: Engine | AsyncEngine) -> Engine:
    return engine.sync_engine if isinstance(engine, AsyncEngine) else engine


class _Engines(Generic[M, E]):
    """The engines of the shards, each created on first use."""

    def __init__(self, map: M, url_of: UrlOf, create: Callable[..., E], arguments: dict[str, Any]) -> None:
        self.map, self._url_of = map, url_of
        self._create: Callable[..., E] = create
        self._arguments = arguments
        self._lock = threading.Lock()
        self._engines: dict[str, E] = {}

    def engine_of(self, shard: str) -> E:
        """Returns the engine of a shard."""
        url = self._url_of(shard)
        if url is None:
            raise NoAccess(f"no URL for shard {shard}")
        # In shadow mode all shards have one URL, and so one engine.
        name = str(url) if self.map.shadow else shard
        with self._lock:
            if name not in self._engines:
                engine = self._create(url, **self._arguments)
                if self.map.shadow:
                    record_statements(_sync_engine(engine), self.map.shadow)
                self._engines[name] = engine
            return self._engines[name]

    def engine_for(self, key: KeyValue) -> E:
        """Returns the engine of the shard that owns `key`."""
        return self.engine_of(self.map.shard_for(key))

    def _recorded(self, key: KeyValue) -> AbstractContextManager[None]:
        return self.map.shadow.transaction(key) if self.map.shadow else nullcontext()


class ShardEngines(_Engines[Map, Engine]):
    """Engines and sessions for threads. `arguments` are those of `create_engine`."""

    def __init__(self, map: Map, url_of: UrlOf, **arguments: Any) -> None:
        super().__init__(map, url_of, create_engine, arguments)

    def session(self, key: KeyValue, **arguments: Any) -> Session:
        """Returns a session bound to the key's shard. Nothing is repeated: the application handles refusals."""
        return Session(self.engine_for(key), **arguments)

    def with_session(self, key: KeyValue, work: Callable[[Session], T], **arguments: Any) -> T:
        """Runs `work(session)` in a transaction on the key's shard, and commits it; repeated as in `Map.with_shard`."""

        def attempt(state: Attempt) -> T:
            with self._recorded(key), Session(self.engine_of(state.shard), **arguments) as session:
                driver: Any = session.connection().connection.driver_connection
                _check_each_statement(session.connection(), state)
                state.stage = Stage.WORK
                with _noting_the_loss_of(driver, state):
                    with _checked_transaction(session, state):
                        result = work(session)
                    check_is_connected(state, is_lost=driver.closed)
                    session.flush()
                    check_before_commit(state, driver.info.transaction_status)
                    state.stage = Stage.COMMIT
                    session.commit()
                    return result

        return self.map.retry(key, attempt)

    def close(self) -> None:
        """Closes the idle connections of all engines."""
        for engine in self._engines.values():
            engine.dispose()


class AsyncShardEngines(_Engines[AsyncMap, AsyncEngine]):
    """Engines and sessions for asyncio. `arguments` are those of `create_async_engine`."""

    def __init__(self, map: AsyncMap, url_of: UrlOf, **arguments: Any) -> None:
        super().__init__(map, url_of, create_async_engine, arguments)

    def session(self, key: KeyValue, **arguments: Any) -> AsyncSession:
        """Returns a session bound to the key's shard. Nothing is repeated: the application handles refusals."""
        return AsyncSession(self.engine_for(key), **arguments)

    async def with_session(self, key: KeyValue, work: Callable[[AsyncSession], Awaitable[T]], **arguments: Any) -> T:
        """Runs `work(session)` in a transaction on the key's shard, and commits it; repeated as in `with_shard`."""

        async def attempt(state: Attempt) -> T:
            with self._recorded(key):
                async with AsyncSession(self.engine_of(state.shard), **arguments) as session:
                    connection = await session.connection()
                    driver: Any = (await connection.get_raw_connection()).driver_connection
                    _check_each_statement(connection.sync_connection, state)  # type: ignore[arg-type]
                    state.stage = Stage.WORK
                    with _noting_the_loss_of(driver, state):
                        with _checked_transaction(session.sync_session, state):
                            result = await work(session)
                        check_is_connected(state, is_lost=driver.closed)
                        await session.flush()
                        check_before_commit(state, driver.info.transaction_status)
                        state.stage = Stage.COMMIT
                        await session.commit()
                        return result

        return await self.map.retry(key, attempt)

    async def close(self) -> None:
        """Closes the idle connections of all engines."""
        for engine in self._engines.values():
            await engine.dispose()
