"""A library under test: a program that reads requests and writes answers as lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

_LIMIT = 1 << 28


class LibraryError(Exception):
    """The library refused a request: the kind is the language-neutral name of the error."""

    def __init__(self, kind: str, message: str, sqlstate: str | None) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message, self.sqlstate = kind, message, sqlstate


class DriverEnded(Exception):
    """The program has ended, or was not started."""


class Driver:
    """The program, and the requests that it has not answered yet."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._last_id = 0

    async def start(self) -> None:
        """Starts the program."""
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, limit=_LIMIT)
        self._reader = asyncio.create_task(self._read())

    async def stop(self, limit: float) -> bool:
        """Closes the program's input. Returns whether it has ended within the limit; otherwise ends it."""
        if self._process is None or self._process.stdin is None:
            return True
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), limit)
        except asyncio.TimeoutError:
            # It may have ended at this moment.
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            return False
        return True

    def send(self, op: str, **arguments: Any) -> asyncio.Future[Any]:
        """Sends a request. The result is that of the library, or a `LibraryError`."""
        if self._process is None or self._process.stdin is None:
            raise DriverEnded("the driver does not run")
        self._last_id += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = answer
        line = json.dumps({"id": self._last_id, "op": op, **arguments}, ensure_ascii=False)
        self._process.stdin.write(line.encode() + b"\n")
        return answer

    async def _read(self) -> None:
        if self._process is None or self._process.stdout is None:
            return
        while line := await self._process.stdout.readline():
            answer = json.loads(line)
            waiting = self._waiting.pop(answer["id"])
            error = answer.get("error")
            if waiting.done():
                continue
            if error is not None:
                waiting.set_exception(LibraryError(error["kind"], error["message"], error.get("sqlstate")))
            else:
                waiting.set_result(answer.get("ok"))
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(DriverEnded("the driver has ended"))
