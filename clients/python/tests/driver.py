"""The library as the conformance suite drives it: requests and answers are lines of JSON.

python driver.py [--asyncio] [--sqlalchemy | --django] [--wrong NAME]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import threading
from typing import Any

import psycopg

import shardwright
from key_driver import Driver
from shardwright import (
    AsyncMap,
    Map,
    Options,
    ShadowAccess,
    TransactionOptions,
    errors,
)
from shardwright._retry import sqlstate
from wrong import WRONG

KINDS: dict[type[Exception], str] = {
    errors.Unmapped: "unmapped",
    errors.NotAKey: "not_a_key",
    errors.Stale: "stale",
    errors.MapError: "map",
    errors.FetchFailed: "fetch",
    errors.NoAccess: "no_access",
    errors.ConnectFailed: "connect",
    errors.FailedStatementIgnored: "failed_statement_ignored",
    errors.TransactionEnded: "transaction_ended",
    errors.CommitUnknown: "commit_unknown",
    errors.GaveUp: "gave_up",
    errors.NoAnswer: "no_answer",
}


class ApplicationError(Exception):
    """An error of the application's own function."""


def kind_of(error: Exception) -> str:
    """The language-neutral name of an error."""
    if isinstance(error, ApplicationError):
        return "application"
    return KINDS.get(type(error), "database" if sqlstate(error) else f"unexpected {type(error).__name__}")


def formatted(statement: dict[str, Any]) -> tuple[str, list[Any]]:
    """A statement with the placeholders of psycopg."""
    numbers = [int(number) for number in re.findall(r"\$(\d+)", statement["sql"])]
    sql = re.sub(r"\$\d+", "%s", statement["sql"].replace("%", "%%") if numbers else statement["sql"])
    return sql, [statement["params"][number - 1] for number in numbers]


class MapDriver(Driver):
    """The requests to `Map`; those of transactions through psycopg."""

    def __init__(self) -> None:
        self.map: Any = None

    def options(self, options: dict[str, Any]) -> Options:
        return Options(**options)

    def access(self, shards: dict[str, str], shadow: str | None) -> Any:
        return shards if shadow is None else ShadowAccess(shadow, lambda finding: None)

    async def op_lookup(self, key: Any) -> str:
        return str(self.map.shard_for(key))

    async def op_stats(self) -> dict[str, Any]:
        stats = self.map.stats()
        return {name: getattr(stats, name) for name in shardwright.Stats.__slots__}

    async def op_findings(self) -> list[dict[str, Any]]:
        return [
            {"kind": one.kind, "table": one.table, "shards": list(one.shards), "count": one.count, "place": one.place}
            for one in self.map.shadow.findings()
        ]


class SyncDriver(MapDriver):
    """Requests to the library for threads. Each request has a thread of its own."""

    async def op_connect(
        self, controllers: str, map: str, options: dict[str, Any], shards: dict[str, str], shadow: str | None = None
    ) -> None:
        access = self.access(shards, shadow)
        self.shadow_database = shadow
        self.map = await asyncio.to_thread(Map.connect, controllers, map, access, self.options(options))

    async def op_close(self) -> None:
        if self.map is not None:
            await asyncio.to_thread(self.map.close)
            self.map = None

    async def op_wait_version(self, version: int) -> None:
        arrived = threading.Event()
        self.map._core.cache.call_when_newer(version - 1, arrived.set)
        await asyncio.to_thread(arrived.wait)

    async def op_with_shard(self, key: Any, work: list[Any], options: dict[str, Any]) -> Any:
        return await asyncio.to_thread(self.transact, key, work, options)

    def transact(self, key: Any, work: list[Any], options: dict[str, Any]) -> Any:
        return self.map.with_shard(key, lambda connection: self.work(connection, work), TransactionOptions(**options))

    def work(self, connection: Any, statements: list[Any]) -> Any:
        rows: list[Any] = []
        for statement in statements:
            if "fail" in statement:
                raise ApplicationError(statement["fail"])
            try:
                cursor = connection.execute(*formatted(statement))
                rows = [list(row) for row in cursor.fetchall()] if cursor.description else []
            except psycopg.Error:
                if not statement.get("ignore_error"):
                    raise
        return rows

    async def op_on_all(self, sql: str, limit: int, columns: list[str], ignore_error: bool) -> Any:
        def query(part: Any, connection: Any) -> Any:
            complete = sql.replace("{predicate}", part.predicate(columns))
            return self.work(connection, [{"sql": complete, "ignore_error": ignore_error}])

        return answers(await asyncio.to_thread(self.map.on_all, query, limit))

    async def op_execute(self, statements: list[Any]) -> None:
        def execute() -> None:
            cursors = shardwright.recording_cursor(self.map.shadow)
            with psycopg.connect(self.shadow_database or "", cursor_factory=cursors) as connection:
                self.work(connection, statements)
                connection.rollback()

        await asyncio.to_thread(execute)


class AsyncDriver(MapDriver):
    """Requests to the library for asyncio."""

    async def op_connect(
        self, controllers: str, map: str, options: dict[str, Any], shards: dict[str, str], shadow: str | None = None
    ) -> None:
        self.shadow_database = shadow
        self.map = await AsyncMap.connect(controllers, map, self.access(shards, shadow), self.options(options))

    async def op_close(self) -> None:
        if self.map is not None:
            await self.map.close()
            self.map = None

    async def op_wait_version(self, version: int) -> None:
        arrived = asyncio.Event()
        self.map._core.cache.call_when_newer(version - 1, arrived.set)
        await arrived.wait()

    async def op_with_shard(self, key: Any, work: list[Any], options: dict[str, Any]) -> Any:
        return await self.map.with_shard(key, lambda one: self.work(one, work), TransactionOptions(**options))

    async def work(self, connection: Any, statements: list[Any]) -> Any:
        rows: list[Any] = []
        for statement in statements:
            if "fail" in statement:
                raise ApplicationError(statement["fail"])
            try:
                cursor = await connection.execute(*formatted(statement))
                rows = [list(row) for row in await cursor.fetchall()] if cursor.description else []
            except psycopg.Error:
                if not statement.get("ignore_error"):
                    raise
        return rows

    async def op_on_all(self, sql: str, limit: int, columns: list[str], ignore_error: bool) -> Any:
        async def query(part: Any, connection: Any) -> Any:
            complete = sql.replace("{predicate}", part.predicate(columns))
            return await self.work(connection, [{"sql": complete, "ignore_error": ignore_error}])

        return answers(await self.map.on_all(query, limit))

    async def op_execute(self, statements: list[Any]) -> None:
        cursors = shardwright.recording_async_cursor(self.map.shadow)
        database = self.shadow_database or ""
        async with await psycopg.AsyncConnection.connect(database, cursor_factory=cursors) as connection:
            await self.work(connection, statements)
            await connection.rollback()


def answers(result: Any) -> dict[str, Any]:
    """The answers of a query to all shards."""
    shards = {
        shard: {"error": kind_of(answer)} if isinstance(answer, Exception) else {"ok": answer}
        for shard, answer in result.shards.items()
    }
    return {"version": result.version, "newer": result.newer, "shards": shards}


async def answer(driver: Driver, request: dict[str, Any]) -> None:
    """Answers one request."""
    number, op = request.pop("id"), request.pop("op")
    try:
        line = {"id": number, "ok": await getattr(driver, f"op_{op}")(**request)}
    except Exception as error:
        line = {"id": number, "error": {"kind": kind_of(error), "message": str(error), "sqlstate": sqlstate(error)}}
    print(json.dumps(line), flush=True)


async def serve(driver: Driver) -> None:
    """Answers requests until the input ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 28)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks = set()
    while line := await reader.readline():
        task = asyncio.create_task(answer(driver, json.loads(line)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


def main() -> None:
    """Runs the driver of one way to use the library."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--asyncio", action="store_true")
    parser.add_argument("--sqlalchemy", action="store_true")
    parser.add_argument("--django", action="store_true")
    parser.add_argument("--wrong")
    arguments = parser.parse_args()
    if arguments.wrong is not None:
        WRONG[arguments.wrong]()
    asyncio.run(serve(make_driver(arguments)))


def make_driver(arguments: argparse.Namespace) -> Driver:
    """The driver of one way to use the library."""
    if arguments.django or arguments.sqlalchemy:
        import orm_drivers

        if arguments.django:
            return orm_drivers.DjangoDriver()
        return orm_drivers.AsyncSqlalchemyDriver() if arguments.asyncio else orm_drivers.SqlalchemyDriver()
    return AsyncDriver() if arguments.asyncio else SyncDriver()


if __name__ == "__main__":
    # The drivers for ORMs import this module by its name.
    sys.modules["driver"] = sys.modules["__main__"]
    main()
