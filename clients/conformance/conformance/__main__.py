"""Runs the conformance suite against libraries: `python -m conformance --driver 'python: python driver.py'`."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from . import checks
from .driver import Driver, LibraryError
from .postgres import Server
from .world import Failed, Sessions, World

_SCENARIOS = Path(__file__).parent.parent / "scenarios"
_SHARDS = ("a", "b", "c")
_FULL_ENTRIES, _SHORT_ENTRIES = 1_000_000, 20_000


class Suite:
    """One library, with databases of its own."""

    def __init__(self, name: str, command: list[str], server: Server, arguments: argparse.Namespace) -> None:
        self.name = name
        # `python/sqlalchemy`: the library, and how it runs transactions.
        self._variant = name.partition("/")[2] or "plain"
        self._driver = Driver(command)
        self._server, self._only, self._full = server, arguments.only, arguments.full
        self._databases = {shard: f"{name.replace('/', '_')}_{shard}" for shard in _SHARDS}
        self._sessions: Sessions = {}
        self.failures: list[str] = []
        self.passed = 0

    async def run(self) -> None:
        """Runs every check and every scenario."""
        for database in self._databases.values():
            await asyncio.to_thread(self._server.create, database)
        await self._driver.start()
        try:
            for check in (checks.check_golden_keys, checks.check_golden_sets, checks.check_invalid_keys):
                await self._try(check.__name__, check(self._driver))
            await self._try("check_recorded_maps", checks.check_recorded_maps(self._driver, self._server.dsn("postgres")))
            entries = _FULL_ENTRIES if self._full else _SHORT_ENTRIES
            await self._try("measure_large_maps", checks.measure_large_maps(self._driver, entries))
            for scenario in scenarios():
                if self._variant in scenario.get("only", [self._variant]) and (self._full or not scenario.get("full")):
                    world = World(self._driver, self._server, self._databases, self._sessions)
                    await self._try(scenario["name"], world.run(scenario))
        finally:
            await self._driver.stop()

    async def _try(self, name: str, check: Any) -> None:
        if self._only and self._only not in name:
            check.close()
            return
        begun = time.monotonic()
        try:
            note = await check
        except (Failed, LibraryError) as error:
            self.failures.append(f"{self.name}: {name}: {error}")
            print(f"{self.name}: {name}: FAILED: {error}", flush=True)
            return
        self.passed += 1
        took = time.monotonic() - begun
        if note or took > 1:
            print(f"{self.name}: {name}: {took:.1f} s{f', {note}' if note else ''}", flush=True)


def scenarios() -> list[dict[str, Any]]:
    """All scenarios, in the order of their files."""
    files = sorted(_SCENARIOS.glob("*.yaml"))
    return [scenario for file in files for scenario in yaml.safe_load(file.read_text())]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", action="append", required=True, metavar="NAME: COMMAND")
    parser.add_argument("--only", help="only checks and scenarios with this text in their names")
    parser.add_argument("--full", action="store_true", help="with a map of a million entries, and long waits")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> int:
    task = asyncio.current_task()
    if task is not None:
        # The server and the drivers are stopped too.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    server = Server()
    try:
        await asyncio.to_thread(server.start)
        suites = []
        for driver in arguments.driver:
            name, _, command = driver.partition(":")
            suites.append(Suite(name.strip(), shlex.split(command), server, arguments))
        if arguments.full:
            # Figures are measured alone.
            for suite in suites:
                await suite.run()
        else:
            await asyncio.gather(*(suite.run() for suite in suites))
    finally:
        await asyncio.to_thread(server.stop)
    for suite in suites:
        print(f"{suite.name}: {suite.passed} passed, {len(suite.failures)} failed")
        print("".join(f"FAILED {failure}\n" for failure in suite.failures), end="")
    return 1 if any(suite.failures or not suite.passed for suite in suites) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(_run(_arguments())))
