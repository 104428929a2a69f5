"""The map in memory, and a thread that follows its changes.

One read, then the change feed; where the feed breaks, a pause with jitter, at the next controller. What is in memory
answers all the while. A version only ever replaces a lower one.
"""

from __future__ import annotations

import json
import logging
import random
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

from .routes import Routes

_LOG = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0
_READ_LIMIT = 5.0
# The controller sends comments more often.
_SILENCE = 45.0


class Map:
    """A shard map by its name; close it, or use it in a `with`."""

    def __init__(
        self, controllers: str, name: str, *, token_file: str | None = None, ca_file: str | None = None
    ) -> None:
        """Reads the map once; `controllers` are addresses, separated by commas. Raises `OSError` where none answers."""
        self._urls = [f"{url.strip().rstrip('/')}/api/v1/maps/{name}" for url in controllers.split(",")]
        self._token_file = token_file
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._changed = threading.Condition()
        self._routes = self._read_somewhere()
        self._heard = time.monotonic()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"map {name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Map:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the following; the thread goes with its connection."""
        self._closed.set()

    @property
    def routes(self) -> Routes:
        """The newest version that is known."""
        return self._routes

    @property
    def silent_for(self) -> float:
        """Seconds since a controller was heard last: how old the map may be."""
        return time.monotonic() - self._heard

    def shard_for(self, key: Any) -> str:
        """The shard that owns the key."""
        return self._routes.shard_for(key)

    def newer_than(self, version: int, seconds: float) -> None:
        """Returns once a later version is known, at the latest after so many seconds; then it is asked for besides."""
        with self._changed:
            newer = self._changed.wait_for(lambda: self._routes.version > version, seconds)
        if not newer:
            try:
                self._offer(self._read_somewhere())
            except OSError as error:
                _LOG.debug("the map was not read: %s", error)

    def _offer(self, routes: Routes) -> None:
        with self._changed:
            if routes.version > self._routes.version:
                self._routes = routes
                self._changed.notify_all()

    def _open(self, url: str, limit: float) -> Any:
        request = urllib.request.Request(url)
        if self._token_file:
            with open(self._token_file, encoding="ascii") as file:
                request.add_header("Authorization", f"Bearer {file.read().strip()}")
        secured = {"context": self._tls} if url.startswith("https:") else {}
        return urllib.request.urlopen(request, timeout=limit, **secured)

    def _read(self, url: str) -> Routes:
        with self._open(url, _READ_LIMIT) as answer:
            return Routes(json.load(answer))

    def _read_somewhere(self) -> Routes:
        failed: OSError | None = None
        for url in self._urls:
            try:
                return self._read(url)
            except OSError as error:
                failed = error
        raise failed or OSError("no controller was named")

    def _follow(self) -> None:
        pause, turn = _FIRST_PAUSE, 0
        while not self._closed.is_set():
            try:
                self._listen(self._urls[turn % len(self._urls)])
                pause = _FIRST_PAUSE
            except (OSError, ValueError, LookupError) as error:
                _LOG.debug("the feed broke: %s", error)
                turn += 1
            self._closed.wait(pause * random.uniform(0.8, 1.2))
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _listen(self, url: str) -> None:
        with self._open(f"{url}/changes", _SILENCE) as feed:
            # A version between the last read and the beginning of the feed must not be missed.
            self._offer(self._read(url))
            for name, data in _events(self._lines(feed)):
                if name == "map":
                    self._offer(Routes(json.loads(data)))
                if self._closed.is_set():
                    return

    def _lines(self, feed: Any) -> Iterator[str]:
        for line in feed:
            self._heard = time.monotonic()
            yield line.decode().rstrip("\r\n")


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    name, data = "", []
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield name, "\n".join(data)
            name, data = "", []
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
