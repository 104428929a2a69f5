"""The steps of a scenario in which the library acts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from .driver import Driver, LibraryError
from .maps import located


class Failed(Exception):
    """A library did something else than a scenario requires."""


def expect(found: Any, wanted: Any) -> None:
    """Raises `Failed` if a result is not what a scenario requires."""
    if found != wanted:
        raise Failed(f"{found!r} is not {wanted!r}")


class LibrarySteps:
    """Requests to the library, and what its answers must be."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._started: asyncio.Future[Any] | None = None
        self._closing: list[asyncio.Future[Any]] = []

    async def step_lookup(self, step: dict[str, Any]) -> None:
        """The library looks up a key."""
        await self.check(self._driver.send("lookup", key=step["key"]), step)

    async def step_lookups(self, step: dict[str, Any]) -> None:
        """The library looks up each key of a recorded map, whose shard the controller has found."""
        for key, shard in located(step["recorded"]):
            answer = self._driver.send("lookup", key=key)
            try:
                await self.check(answer, {"is": shard} if shard else {"error": "unmapped"})
            except (Failed, LibraryError) as error:
                raise Failed(f"key {key!r}: {error}") from None

    async def step_wait_version(self, version: int) -> None:
        """Waits until the library uses at least this version."""
        await self._driver.send("wait_version", version=version)

    async def step_wait_stale(self, step: dict[str, Any]) -> None:
        """Looks a key up until the library refuses it, or accepts it again. Only the library's own clock decides."""
        wanted = step["is"]
        while True:
            try:
                await self._driver.send("lookup", key=step["key"])
                if not wanted:
                    return
            except LibraryError as error:
                if error.kind != "stale":
                    raise
                if wanted:
                    return
            await asyncio.sleep(0)

    async def step_with_shard(self, step: dict[str, Any]) -> None:
        """The library runs a transaction."""
        await self.check(self._send_transaction(step), step)

    async def step_start(self, step: dict[str, Any]) -> None:
        """The library begins a transaction or a query to all shards; the scenario continues meanwhile."""
        [(name, arguments)] = step.items()
        self._started = self._send_transaction(arguments) if name == "with_shard" else self._send_query(arguments)

    async def step_close(self, step: dict[str, Any]) -> None:
        """The application closes the map; the scenario continues meanwhile."""
        self._closing.append(self._driver.send("close"))

    async def step_finish(self, step: dict[str, Any]) -> None:
        """What was started ends."""
        if self._started is None:
            raise Failed("nothing was started")
        await self.check(self._started, step)

    async def step_on_all(self, step: dict[str, Any]) -> None:
        """The library queries all shards."""
        await self.check(self._send_query(step), step)

    def _send_transaction(self, step: dict[str, Any]) -> asyncio.Future[Any]:
        key = step["key"]
        insert = {"sql": "insert into orders (tenant_id, id) values ($1, $2)", "params": [key, step.get("insert")]}
        work = step.get("work", [insert])
        return self._driver.send("with_shard", key=key, work=work, options=step.get("options", {}))

    def _send_query(self, step: dict[str, Any]) -> asyncio.Future[Any]:
        ignore = step.get("ignore_error", False)
        limit = step.get("limit", 8)
        return self._driver.send("on_all", sql=step["sql"], limit=limit, columns=["tenant_id"], ignore_error=ignore)

    async def step_stats(self, step: dict[str, Any]) -> None:
        """The counters are these; a list has the least and the greatest value."""
        stats = await self._driver.send("stats")
        for name, wanted in step.items():
            low, high = wanted if isinstance(wanted, list) else (wanted, wanted)
            if not low <= stats[name] <= (high if high is not None else stats[name]):
                raise Failed(f"the counter {name} is {stats[name]}, not {wanted}")

    async def step_wait_for_stats(self, step: dict[str, Any]) -> None:
        """Waits until the counters of the library have at least these values."""
        stats = await self._driver.send("stats")
        while any(stats[name] < least for name, least in step.items()):
            stats = await self._driver.send("stats")

    async def step_execute(self, step: dict[str, Any]) -> None:
        """In shadow mode: statements of one transaction outside of `with_shard`."""
        await self._driver.send("execute", statements=step["statements"])

    async def step_findings(self, step: list[dict[str, Any]]) -> None:
        """Shadow mode has found exactly this."""
        found = await self._driver.send("findings")
        for finding in found:
            if not finding.pop("place"):
                raise Failed(f"a finding names no place: {finding}")

        def order(finding: dict[str, Any]) -> str:
            return json.dumps(finding, sort_keys=True)

        expect(sorted(found, key=order), sorted(step, key=order))

    async def check(self, answer: asyncio.Future[Any], step: dict[str, Any]) -> None:
        """Compares an answer with what the step requires."""
        try:
            result = await answer
        except LibraryError as error:
            if error.kind != step.get("error"):
                raise
            if step.get("has", "") not in error.message:
                raise Failed(f"the message {error.message!r} lacks {step['has']!r}") from None
            if "sqlstate" in step and error.sqlstate != step["sqlstate"]:
                raise Failed(f"the SQLSTATE is {error.sqlstate}, not {step['sqlstate']}") from None
            return
        if "error" in step:
            raise Failed(f"no error {step['error']}, but the result {result!r}")
        if "is" in step:
            expect(result, step["is"])
