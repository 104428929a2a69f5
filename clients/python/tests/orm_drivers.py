"""The adapters of the library for ORMs, as the conformance suite drives them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.ext.asyncio import create_async_engine

from driver import ApplicationError, AsyncDriver, SyncDriver, formatted
from shardwright.sqlalchemy import AsyncShardEngines, ShardEngines, record_statements


class SqlalchemyDriver(SyncDriver):
    """Transactions in sessions of SQLAlchemy."""

    async def op_connect(self, **request: Any) -> None:  # type: ignore[override]
        """Connects the map, and makes the engines."""
        await super().op_connect(**request)
        self.engines = ShardEngines(self.map, url_of(self.shadow_database, self.map, request["shards"]))

    async def op_close(self) -> None:
        """Closes the engines and the map."""
        if self.map is not None:
            await asyncio.to_thread(self.engines.close)
        await super().op_close()

    def transact(self, key: Any, work: list[Any], options: dict[str, Any]) -> Any:
        """Runs a transaction."""
        return self.engines.with_session(key, lambda session: execute_all(session.connection(), work))

    async def op_execute(self, statements: list[Any]) -> None:
        """Executes statements outside of the library."""

        def execute() -> None:
            engine = sqlalchemy.create_engine(driver_url(self.shadow_database or ""))
            record_statements(engine, self.map.shadow)
            with engine.connect() as connection:
                execute_all(connection, statements)
            engine.dispose()

        await asyncio.to_thread(execute)


class AsyncSqlalchemyDriver(AsyncDriver):
    """Transactions in sessions of SQLAlchemy for asyncio."""

    async def op_connect(self, **request: Any) -> None:  # type: ignore[override]
        """Connects the map, and makes the engines."""
        await super().op_connect(**request)
        self.engines = AsyncShardEngines(self.map, url_of(self.shadow_database, self.map, request["shards"]))

    async def op_close(self) -> None:
        """Closes the engines and the map."""
        if self.map is not None:
            await self.engines.close()
        await super().op_close()

    async def op_with_shard(self, key: Any, work: list[Any], options: dict[str, Any]) -> Any:
        """Runs a transaction."""

        async def run(session: Any) -> Any:
            return await session.run_sync(lambda plain: execute_all(plain.connection(), work))

        return await self.engines.with_session(key, run)

    async def op_execute(self, statements: list[Any]) -> None:
        """Executes statements outside of the library."""
        engine = create_async_engine(driver_url(self.shadow_database or ""))
        record_statements(engine.sync_engine, self.map.shadow)
        async with engine.connect() as connection:
            await connection.run_sync(execute_all, statements)
        await engine.dispose()


def driver_url(dsn: str) -> str:
    """The URL of SQLAlchemy for a connection string."""
    return dsn.replace("postgresql://", "postgresql+psycopg://")


def url_of(shadow: str | None, map: Any, shards: dict[str, str]) -> Any:
    """The URLs of the shards; in shadow mode that of the one database."""
    return lambda shard: driver_url(shadow) if shadow is not None else find_url(shards, shard)


def find_url(shards: dict[str, str], shard: str) -> str | None:
    """The URL of a shard, if the application has one."""
    return driver_url(shards[shard]) if shard in shards else None


def execute_all(connection: Any, statements: list[Any]) -> Any:
    """Executes statements on a connection of SQLAlchemy."""
    rows: list[Any] = []
    for statement in statements:
        if "fail" in statement:
            raise ApplicationError(statement["fail"])
        sql, params = formatted(statement)
        try:
            result = connection.exec_driver_sql(sql, tuple(params) or None)
            rows = [list(row) for row in result] if result.returns_rows else []
        except sqlalchemy.exc.DBAPIError:
            if not statement.get("ignore_error"):
                raise
    return rows


class DjangoDriver(SyncDriver):
    """Transactions of Django. Its connections belong to a thread."""

    def __init__(self) -> None:
        from django.conf import settings

        super().__init__()
        settings.configure(DATABASE_ROUTERS=["shardwright.django.ShardRouter"], USE_TZ=True)
        self.thread = ThreadPoolExecutor(max_workers=1)

    async def op_connect(
        self, controllers: str, map: str, options: dict[str, Any], shards: dict[str, str], shadow: str | None = None
    ) -> None:
        """Changes the settings of Django, and connects the map."""
        from django.conf import settings

        wanted = {"CONTROLLERS": controllers, "MAP": map, "OPTIONS": options}
        if shadow is None:
            databases = {f"shard_{name}": database_of(dsn) for name, dsn in shards.items()}
            settings.SHARDWRIGHT = wanted | {"ALIASES": {name: f"shard_{name}" for name in shards}}
            databases["default"] = next(iter(databases.values()))
        else:
            databases = {"default": database_of(shadow)}
            settings.SHARDWRIGHT = wanted | {"SHADOW": "default", "REPORT": lambda finding: None}
        await self.run(self.use_databases, databases)

    def use_databases(self, databases: dict[str, Any]) -> None:
        """Makes Django use these databases."""
        from django.db import connections

        from shardwright.django import current_map

        connections._settings = databases  # type: ignore[attr-defined]
        connections.__dict__.pop("settings", None)
        self.map = current_map()

    async def op_close(self) -> None:
        """Closes the connections and the map."""
        if self.map is not None:
            await self.run(self.close_all)
            self.map = None

    def close_all(self) -> None:
        """Closes everything that Django and the library keep."""
        from django.db import connections

        from shardwright.django import close_map

        for alias in list(connections.settings):
            connections[alias].close()
            del connections[alias]
        close_map()

    async def run(self, function: Any, *arguments: Any) -> Any:
        """Runs a function in the thread of Django."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *arguments)

    async def op_with_shard(self, key: Any, work: list[Any], options: dict[str, Any]) -> Any:
        """Runs a transaction."""
        from shardwright.django import with_shard

        return await self.run(with_shard, key, lambda alias: self.execute_all(alias, work))

    async def op_execute(self, statements: list[Any]) -> None:
        """Executes statements outside of the library."""
        from django.db import transaction

        def execute() -> None:
            with transaction.atomic():
                self.execute_all("default", statements)
                transaction.set_rollback(True)

        await self.run(execute)

    def execute_all(self, alias: str, statements: list[Any]) -> Any:
        """Executes statements on a connection of Django."""
        from django.db import DatabaseError, connections

        rows: list[Any] = []
        for statement in statements:
            if "fail" in statement:
                raise ApplicationError(statement["fail"])
            sql, params = formatted(statement)
            try:
                with connections[alias].cursor() as cursor:
                    cursor.execute(sql, params or None)
                    rows = [list(row) for row in cursor.fetchall()] if cursor.description else []
            except (DatabaseError, psycopg.Error):
                if not statement.get("ignore_error"):
                    raise
        return rows


def database_of(dsn: str) -> dict[str, Any]:
    """The settings of Django for a connection string."""
    parts = conninfo_to_dict(dsn)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts["dbname"],
        "USER": parts["user"],
        "HOST": parts["host"],
        "PORT": str(parts["port"]),
        "OPTIONS": {"sslmode": parts["sslmode"]},
    }
