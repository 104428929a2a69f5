"""What a scenario acts on: controllers, shards behind proxies, and the library; each step is a method."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import trustme

from .controller import Controller
from .driver import Driver, LibraryError
from .maps import FOLDER, document
from .postgres import Server
from .proxy import Proxy
from .steps import Failed, LibrarySteps, expect

Sessions: TypeAlias = "dict[str, psycopg.AsyncConnection[Any]]"
"""Sessions of the suite itself, by the name of the database."""

_RESET = """
delete from orders;
delete from guard;
select setval('attempts', 0, false), setval('refusals', 0, false);
"""


class World(LibrarySteps):
    """One scenario's world."""

    def __init__(
        self, driver: Driver, server: Server, databases: dict[str, str], sessions: Sessions, step_limit: float
    ) -> None:
        super().__init__(driver)
        self._server, self._databases = server, databases
        self._sessions, self._step_limit = sessions, step_limit
        self._folder = tempfile.TemporaryDirectory(prefix="shardwright-conformance-")
        self._controllers: dict[str, Controller] = {}
        self._proxies: dict[str, Proxy] = {}
        self._lock: psycopg.AsyncConnection[Any] | None = None
        self._authority = trustme.CA()

    async def run(self, scenario: dict[str, Any]) -> None:
        """Carries out the steps. Raises `Failed`."""
        await self._prepare(scenario.get("controllers", {}))
        try:
            for number, step in enumerate(scenario["steps"], 1):
                [(name, arguments)] = step.items()
                try:
                    await asyncio.wait_for(getattr(self, f"step_{name}")(arguments), self._step_limit)
                except asyncio.TimeoutError:
                    raise Failed(f"step {number}, {name}: nothing happened within {self._step_limit} s") from None
                except (Failed, LibraryError) as error:
                    raise Failed(f"step {number}, {name}: {error}") from None
        finally:
            await self._clean_up()

    async def _prepare(self, controllers: dict[str, Any]) -> None:
        for name, wanted in controllers.items():
            tls = None
            if wanted.get("tls"):
                tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
                self._authority.issue_cert("127.0.0.1").configure_cert(tls)
            controller = Controller(document(wanted["map"]), wanted.get("token"), tls)
            controller.is_silent = wanted.get("silent", False)
            self._controllers[name] = controller
            await controller.start()
            if wanted.get("down"):
                await controller.stop()
        for name, database in self._databases.items():
            self._proxies[name] = Proxy(self._server.port)
            await self._proxies[name].start()
            await self._sql(database, _RESET)

    async def _clean_up(self) -> None:
        if self._started is not None and not self._started.done():
            self._started.cancel()
        if self._lock is not None:
            await self._lock.close()
        for controller in self._controllers.values():
            await controller.stop()
        for proxy in self._proxies.values():
            await proxy.stop()
        try:
            await asyncio.wait_for(asyncio.gather(*self._closing, self._driver.send("close")), self._step_limit)
        except asyncio.TimeoutError:
            raise Failed(f"the library did not close within {self._step_limit} s") from None
        self._folder.cleanup()

    # Steps of the controllers.

    async def step_serve(self, step: dict[str, Any]) -> None:
        """From now on the controller answers with another version."""
        self._controllers[step["of"]].document = document(step["map"])

    async def step_publish(self, step: dict[str, Any]) -> None:
        """The controller has another version, and sends it through its feeds."""
        controller = self._controllers[step["of"]]
        published = document(step["map"])
        if not step.get("feed_only"):
            controller.document = published
        await controller.publish(published, piece=step.get("piece"), cut=step.get("cut"))

    async def step_send(self, step: dict[str, Any]) -> None:
        """The controller sends a text, or what a real controller has sent, through its feeds."""
        recorded = step.get("recorded")
        data = step["text"].encode() if recorded is None else (FOLDER / f"{recorded}.event").read_bytes()
        await self._controllers[step["of"]].send(data)

    async def step_end_feeds(self, step: dict[str, Any]) -> None:
        """The controller ends its feeds."""
        await self._controllers[step["of"]].end_feeds(in_order=step.get("in_order", False))

    async def step_controller(self, step: dict[str, Any]) -> None:
        """The controller behaves in another way from now on."""
        controller = self._controllers[step["of"]]
        controller.is_silent = step.get("silent", False)
        refuse = step.get("refuse")
        controller.refusal = None if refuse is None else (refuse["status"], refuse)
        controller.body = step["body"].encode() if "body" in step else None
        controller.redirect = self._controllers[step["redirect"]].url if "redirect" in step else None
        if step.get("down"):
            await controller.stop()
        if step.get("up"):
            await controller.start()

    async def step_wait_for_requests(self, step: dict[str, Any]) -> None:
        """Waits until the controller has received so many requests."""
        await self._controllers[step["of"]].wait_for_requests(step["kind"], step["count"])

    async def step_wait_for_feeds(self, step: dict[str, Any]) -> None:
        """Waits until a feed is open."""
        await self._controllers[step["of"]].wait_for_feeds()

    async def step_wait_for_load(self, step: dict[str, Any]) -> None:
        """Waits until the library has reported these uses of keys."""
        await self._controllers[step["of"]].wait_for_load(step["is"])

    # Steps of the shards.

    async def step_guard(self, step: dict[str, Any]) -> None:
        """The guard of a shard refuses keys from `from` on with `code`, so many times."""
        rule = f"({step.get('from', 0)}, '{step['code']}', {step.get('at_commit', False)}, {step.get('times', 10**9)})"
        await self._sql(self._databases[step["of"]], f"insert into guard values {rule}")

    async def step_sql(self, step: dict[str, Any]) -> None:
        """Executes a statement on a shard, past the proxy."""
        rows = await self._sql(self._databases[step["of"]], step["text"])
        if "is" in step:
            expect(rows, step["is"])

    async def step_rows(self, step: dict[str, Any]) -> None:
        """A shard has exactly these orders."""
        rows = await self._sql(self._databases[step["of"]], "select tenant_id, id from orders order by 1, 2")
        expect(rows, step["is"])

    async def step_attempts(self, step: dict[str, Any]) -> None:
        """A shard has received so many inserts, whether they were committed or not."""
        counted = "select case when is_called then last_value + 1 else 0 end from attempts"
        rows = await self._sql(self._databases[step["of"]], counted)
        expect(rows[0][0], step["is"])

    async def step_cut(self, step: dict[str, Any]) -> None:
        """The proxy of a shard loses the connection at a message."""
        self._proxies[step["of"]].cut = step["at"]

    async def step_shard(self, step: dict[str, Any]) -> None:
        """A shard is down, or up again."""
        proxy = self._proxies[step["of"]]
        await (proxy.stop() if step.get("down") else proxy.start())

    async def step_connections(self, step: dict[str, Any]) -> None:
        """The library has opened so many connections to a shard."""
        expect(self._proxies[step["of"]].connections, step["is"])

    async def step_wait_for_end_of_connections(self, step: dict[str, Any]) -> None:
        """Waits until the library has closed its connections to a shard."""
        await self._proxies[step["of"]].wait_for_end_of_connections()

    async def step_wait_for_error(self, step: dict[str, Any]) -> None:
        """Waits until a shard has reported an SQLSTATE to the library."""
        await self._proxies[step["of"]].wait_for_error(step["code"], step.get("count", 1))

    async def step_lock(self, step: dict[str, Any]) -> None:
        """Statements on the orders of a shard wait until `unlock`."""
        dsn = self._server.dsn(self._databases[step["of"]])
        self._lock = await psycopg.AsyncConnection.connect(dsn)
        await self._lock.execute("lock table orders in access exclusive mode")

    async def step_unlock(self, step: dict[str, Any]) -> None:
        """Ends the lock."""
        if self._lock is not None:
            await self._lock.rollback()

    async def _sql(self, database: str, text: str) -> list[list[Any]]:
        if database not in self._sessions:
            dsn = self._server.dsn(database)
            self._sessions[database] = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
        cursor = await self._sessions[database].execute(text.encode())
        return [list(row) for row in await cursor.fetchall()] if cursor.description else []

    # The connection of the library to both.

    async def step_connect(self, step: dict[str, Any]) -> None:
        """The library connects to the controllers, with access to the shards through their proxies."""
        options = dict(step.get("options", {}))
        for option in ("token", "ca"):
            if option in options:
                options[f"{option}_file"] = self._write_file(option, options.pop(option))
        names = step.get("shards", list(self._databases))
        shards = {name: self._dsn(name, step.get("database", {}).get(name)) for name in names}
        request = {
            "controllers": ",".join(self._controllers[name].url for name in step.get("controllers", ["c1"])),
            "map": "tenants",
            "options": options,
            "shards": shards,
        }
        if step.get("shadow"):
            request["shadow"] = self._dsn("a")
        await self.check(self._driver.send("connect", **request), step)

    def _dsn(self, shard: str, database: str | None = None) -> str:
        return self._server.dsn(database or self._databases[shard], self._proxies[shard].port)

    def _write_file(self, option: str, value: Any) -> str:
        file = Path(self._folder.name) / option
        file.write_bytes(self._authority.cert_pem.bytes() if option == "ca" else str(value).encode() + b"\n")
        return str(file)
