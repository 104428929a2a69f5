"""The controllers that serve a map, and one request to one of them.

Every controller can answer. If one fails, all later requests use the next one. A follower may redirect to the leader;
HTTP libraries drop the token then, so the redirects are followed here.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx

from . import _machine_token
from .options import Options

READ_TIMEOUT = 5.0
_MAX_REDIRECTS = 4


class ControllerError(Exception):
    """A controller refused a request."""


class Controllers:
    """A map at one or more controllers, of which one is the current one."""

    def __init__(self, urls: str, name: str, options: Options) -> None:
        self.urls = [f"{url.strip().rstrip('/')}/api/v1/maps/{name}" for url in urls.split(",")]
        self._position = 0
        self._token_file = options.token_file
        context = ssl.create_default_context(cafile=None if options.ca_file is None else str(options.ca_file))
        self._client = httpx.AsyncClient(verify=context, timeout=READ_TIMEOUT)

    @property
    def current(self) -> str:
        """The URL of the map at the controller for the next request."""
        return self.urls[self._position % len(self.urls)]

    def switch_after_failure(self, failed: str) -> None:
        """Switches to the next controller after `failed`, unless another request has already done so."""
        if self.current == failed:
            self._position += 1

    async def read(self, url: str) -> bytes:
        """Returns the body of the answer."""
        async with self._answer(url, READ_TIMEOUT) as response:
            return await response.aread()

    async def post(self, url: str, body: bytes) -> None:
        """Sends a document."""
        async with self._answer(url, READ_TIMEOUT, body) as response:
            await response.aread()

    @asynccontextmanager
    async def open_feed(self, url: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Opens the feed of the map's changes."""
        async with self._answer(f"{url}/changes", None) as response:
            yield response.aiter_raw()

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def _answer(
        self, url: str, read_timeout: float | None, body: bytes | None = None
    ) -> AsyncIterator[httpx.Response]:
        target = httpx.URL(url)
        for _ in range(_MAX_REDIRECTS + 1):
            timeout = httpx.Timeout(READ_TIMEOUT, read=read_timeout)
            method, headers = "GET" if body is None else "POST", self._headers(target)
            request = self._client.build_request(method, target, content=body, headers=headers, timeout=timeout)
            # The head of an answer has a time limit, also if its body has none.
            with anyio.fail_after(READ_TIMEOUT):
                response = await self._client.send(request, stream=True)
            try:
                if response.status_code == httpx.codes.TEMPORARY_REDIRECT and "location" in response.headers:
                    target = target.join(response.headers["location"])
                    continue
                await _raise_for_problem(response)
                yield response
                return
            finally:
                await response.aclose()
        raise ControllerError(f"{url} redirects too often")

    def _headers(self, url: httpx.URL) -> dict[str, str]:
        headers = {"accept-encoding": "identity", "content-type": "application/json"}
        file = self._token_file or _machine_token.file_for(url.host, url.port or (443 if url.scheme == "https" else 80))
        token = None if file is None else Path(file).read_text(encoding="ascii").strip()
        return headers if token is None else headers | {"authorization": f"Bearer {token}"}


async def _raise_for_problem(response: httpx.Response) -> None:
    if response.is_success:
        return
    body = await response.aread()
    try:
        problem = json.loads(body)
        detail = f"{problem['code']}: {problem['detail']}"
    except (ValueError, LookupError, TypeError):
        detail = response.reason_phrase
    raise ControllerError(f"{response.url} answered {response.status_code}: {detail}")
