"""Runs all checks and scenarios against one library."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import yaml

from . import checks
from .driver import Driver, DriverEnded, LibraryError
from .postgres import Server
from .steps import Failed
from .world import Sessions, World

_FOLDER = Path(__file__).parent.parent
_SHARDS = ("a", "b", "c")
_FILES = ("feed", "transactions", "fan_out", "conversions", "shadow")
# An adapter for an ORM uses the same map; what it does itself are transactions.
_FILES_OF_ADAPTERS = ("transactions", "conversions", "shadow")
_FULL_ENTRIES, _SHORT_ENTRIES = 1_000_000, 20_000


class Suite:
    """One library, with databases of its own."""

    def __init__(
        self,
        name: str,
        command: str,
        server: Server,
        *,
        only: list[str] | None,
        full: bool = False,
        step_limit: float = 30,
    ) -> None:
        self.name = name
        self.has_shadow = True
        """Whether the library has shadow mode."""
        # `python/sqlalchemy`: the library, and how it runs transactions.
        self._variant = name.partition("/")[2] or "plain"
        self._driver = Driver(shlex.split(command))
        self._server, self._only, self._full = server, only, full
        self._databases = {shard: f"{name.replace('/', '_')}_{shard}" for shard in _SHARDS}
        self._step_limit = step_limit
        self._sessions: Sessions = {}
        self.passed: list[str] = []
        self.failures: dict[str, str] = {}

    async def run(self, *, is_loud: bool = True) -> None:
        """Runs every check and every scenario."""
        for database in self._databases.values():
            await asyncio.to_thread(self._server.create, database)
        await self._driver.start()
        try:
            for name, check in self._checks().items():
                await self._try(name, check, is_loud)
        finally:
            for session in self._sessions.values():
                await session.close()
            # A request that failed may still run.
            has_ended = await self._driver.stop(0.5 if self.failures else 10)
            if not has_ended and not self.failures:
                self.failures["end"] = "the driver did not end after the end of its input"

    def _checks(self) -> dict[str, Coroutine[Any, Any, Any]]:
        is_plain = self._variant == "plain"
        entries = _FULL_ENTRIES if self._full else _SHORT_ENTRIES
        all_checks: dict[str, Any] = {}
        if is_plain:
            all_checks = {
                "check_golden_keys": lambda: checks.check_golden_keys(self._driver),
                "check_golden_sets": lambda: checks.check_golden_sets(self._driver),
                "check_invalid_keys": lambda: checks.check_invalid_keys(self._driver),
                "check_recorded_maps": lambda: checks.check_recorded_maps(self._driver, self._server.dsn("postgres")),
                "measure_large_maps": lambda: checks.measure_large_maps(self._driver, entries),
            }
        for file in _FILES if is_plain else _FILES_OF_ADAPTERS:
            if file == "shadow" and not self.has_shadow:
                continue
            for scenario in scenarios(file):
                if is_plain or "plain" not in scenario.get("only", []):
                    all_checks[scenario["name"]] = lambda steps=scenario: self._world().run(steps)
        return {name: make() for name, make in all_checks.items() if self._only is None or name in self._only}

    def _world(self) -> World:
        return World(self._driver, self._server, self._databases, self._sessions, self._step_limit)

    async def _try(self, name: str, check: Coroutine[Any, Any, Any], is_loud: bool) -> None:
        begun = time.monotonic()
        try:
            note = await check
        except (Failed, LibraryError, DriverEnded) as error:
            self.failures[name] = str(error)
            if is_loud:
                print(f"{self.name}: {name}: FAILED: {error}", flush=True)
            return
        self.passed.append(name)
        if is_loud and note:
            print(f"{self.name}: {name}: {time.monotonic() - begun:.1f} s, {note}", flush=True)


def scenarios(name: str) -> list[dict[str, Any]]:
    """The scenarios of a file."""
    listed: list[dict[str, Any]] = yaml.safe_load((_FOLDER / f"scenarios/{name}.yaml").read_text())
    return listed


def controls() -> dict[str, list[str]]:
    """The wrong variants, each with the checks that it must fail."""
    listed: dict[str, list[str]] = yaml.safe_load((_FOLDER / "controls.yaml").read_text())
    return listed
