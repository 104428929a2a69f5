"""Follows the changes of the map.

The task reads the map once, then follows the change feed. If the feed breaks, it makes a pause with jitter, reads the
map and opens the feed again; if a controller has failed, it uses the next one. The cache answers during all of this.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx

from ._cache import MapCache
from ._controllers import ControllerError, Controllers
from ._load import LoadSummary, report
from ._retry import Pauses
from ._sse import EventParser
from .errors import FetchFailed, MapError
from .options import Options
from .routes import Routes
from .stats import Counters

_LOG = logging.getLogger("shardwright")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0
# If the feed is silent for longer than this, it counts as broken. The controller sends comments more often.
_MAX_SILENCE = 45.0
# The least time between two reads in addition to the feed.
_MIN_READ_INTERVAL = 0.2
_CANCEL_AGAIN = 1.0
# A longer answer is parsed in a thread, so that other tasks of the event loop continue.
_LONG_ANSWER = 1 << 16
CLOSED = "the map is closed"
_FAILURES = (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL, ControllerError, MapError)


class Feed:
    """A map that is read once and then followed, in the event loop that opened it."""

    def __init__(self, controllers: Controllers, options: Options, counters: Counters, first: Routes) -> None:
        self.cache = MapCache(first, counters)
        self._controllers = controllers
        self._counters = counters
        half = _MAX_SILENCE if options.max_staleness is None else options.max_staleness / 2
        self._read_after = min(max(half, _MIN_READ_INTERVAL), _MAX_SILENCE)
        self._last_extra_read = -_MIN_READ_INTERVAL
        self.load = None if options.report_load is None else LoadSummary(first)
        """The uses of keys, if the options require reports."""
        self._is_closed = False
        self._tasks = {asyncio.create_task(self._follow(), name=f"shardwright map {first.name}")}
        if self.load is not None and options.report_load is not None:
            reports = report(controllers, self.load, options.report_load)
            self._tasks.add(asyncio.create_task(reports, name=f"shardwright load {first.name}"))

    @classmethod
    async def open(cls, urls: str, name: str, options: Options, counters: Counters) -> Feed:
        """Reads the map and begins to follow it. Raises `FetchFailed` if no controller returns the map now."""
        try:
            controllers = Controllers(urls, name, options)
        except OSError as error:
            raise FetchFailed(f"the certificates in {options.ca_file} cannot be read: {error}") from error
        try:
            return cls(controllers, options, counters, await _read(controllers))
        except _FAILURES as error:
            await controllers.close()
            reason = str(error) or type(error).__name__
            raise FetchFailed(f"map {name} could not be read from {', '.join(controllers.urls)}: {reason}") from error

    async def close(self) -> None:
        """Ends the tasks and closes their connections."""
        self._is_closed = True
        await cancel_all(self._tasks)
        await self._controllers.close()

    async def read_again(self) -> None:
        """Reads the map in addition to the feed, in case the feed is broken, but not too often.

        Raises a `RuntimeError` if the map is closed before its end.
        """
        if self._is_closed:
            raise RuntimeError(CLOSED)
        now = time.monotonic()
        if now - self._last_extra_read < _MIN_READ_INTERVAL:
            return
        self._last_extra_read = now
        # A task of its own, which `close` ends before it closes the connections.
        read = asyncio.create_task(self._read())
        self._tasks.add(read)
        read.add_done_callback(self._tasks.discard)
        try:
            await asyncio.wait({read})
        finally:
            read.cancel()
        if read.cancelled():
            raise RuntimeError(CLOSED)
        try:
            read.result()
        except _FAILURES as error:
            _LOG.debug("the map was not read: %s", error)

    async def _read(self) -> None:
        routes = await _read(self._controllers)
        self.cache.record_answer()
        self.cache.offer(routes)

    async def _follow(self) -> None:
        pauses = Pauses(_FIRST_PAUSE, _LONGEST_PAUSE)
        while True:
            url = self._controllers.current
            try:
                await self._follow_feed(url)
                pauses = Pauses(_FIRST_PAUSE, _LONGEST_PAUSE)
            except _FAILURES as error:
                _LOG.debug("the feed was interrupted: %s", error)
                self._controllers.switch_after_failure(url)
            await asyncio.sleep(pauses.next())
            self._counters.increment("reconnects")

    async def _follow_feed(self, url: str) -> None:
        """Follows the feed until it ends or is silent for too long."""
        async with self._controllers.open_feed(url) as chunks:
            # This read finds a version that was created between the last read and the start of the feed.
            await self._read()
            parser = EventParser()
            async for chunk in self._until_silent(chunks):
                self.cache.record_answer()
                for name, data in parser.push(chunk):
                    if name == "map":
                        self.cache.offer(await _parse(data))

    async def _until_silent(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks of the feed. Reads the map in addition while no chunk arrives."""
        while True:
            began = time.monotonic()
            arrival = asyncio.ensure_future(anext(chunks, None))
            try:
                while not (await asyncio.wait({arrival}, timeout=self._read_after))[0]:
                    if time.monotonic() - began >= _MAX_SILENCE:
                        raise ControllerError("the feed is silent")
                    await self._read()
            finally:
                arrival.cancel()
                await asyncio.wait({arrival})
            chunk = arrival.result()
            if chunk is None:
                return
            yield chunk


async def cancel_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks, and waits until they have ended."""
    running = set(tasks)
    while running:
        for task in running:
            task.cancel()
        # A library below may lose a cancellation that arrives together with its own time limit.
        _, running = await asyncio.wait(running, timeout=_CANCEL_AGAIN)


async def _read(controllers: Controllers) -> Routes:
    """Sends a request to each controller until one answers."""
    failure: Exception | None = None
    for _ in controllers.urls:
        url = controllers.current
        try:
            return await _parse(await controllers.read(url))
        except _FAILURES as error:
            controllers.switch_after_failure(url)
            failure = error
    raise failure or ControllerError("no controller was named")


async def _parse(document: bytes) -> Routes:
    if len(document) < _LONG_ANSWER:
        return Routes(document)
    return await asyncio.to_thread(Routes, document)
