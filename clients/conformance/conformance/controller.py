"""A scripted controller: it serves a map and its feed over HTTP, and misbehaves as a scenario requires."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from typing import Any


class Controller:
    """An HTTP server in place of a controller. Everything that it received can be waited for."""

    def __init__(self, document: dict[str, Any], token: str | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.document = document
        self.token = token
        self.refusal: tuple[int, dict[str, Any]] | None = None
        self.body: bytes | None = None
        """An answer in place of the map."""
        self.is_silent = False
        self.redirect: str | None = None
        self.requests: list[str] = []
        self._load: dict[str, list[Any]] = {}
        self.url = ""
        self._tls = tls
        self._port = 0
        self._server: asyncio.Server | None = None
        self._feeds: list[asyncio.StreamWriter] = []
        self._open: set[asyncio.StreamWriter] = set()
        self._changed = asyncio.Condition()

    async def start(self) -> None:
        """Listens, after a stop on the same port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, ssl=self._tls)
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        """Refuses connections, and ends those that exist."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        self._feeds.clear()

    async def wait_for_requests(self, kind: str, count: int) -> None:
        """Waits until so many requests of a kind (`map` or `feed`) have arrived."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.requests.count(kind) >= count)

    async def wait_for_feeds(self, count: int = 1) -> None:
        """Waits until so many feeds are open."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._feeds) >= count)

    async def publish(self, document: dict[str, Any], *, piece: int | None = None, cut: int | None = None) -> None:
        """Sends an event to every open feed: in pieces of so many bytes, or cut after so many."""
        event = event_of(document)
        await self.send(event if cut is None else event[:cut], piece)
        if cut is not None:
            await self.end_feeds()

    async def send(self, data: bytes, piece: int | None = None) -> None:
        """Sends bytes to every open feed."""
        await self.wait_for_feeds()
        for writer in self._feeds:
            size = piece or len(data) or 1
            for at in range(0, len(data), size):
                chunk = data[at : at + size]
                writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                await writer.drain()

    async def end_feeds(self, *, in_order: bool = False) -> None:
        """Ends every open feed: by a lost connection, or in order."""
        feeds, self._feeds = self._feeds, []
        for writer in feeds:
            if in_order:
                writer.write(b"0\r\n\r\n")
                await writer.drain()
            else:
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                length = re.search(r"^content-length: *(\d+)", head, re.IGNORECASE | re.MULTILINE)
                body = await reader.readexactly(int(length[1])) if length else b""
                if head.startswith("POST"):
                    await self._record_load(json.loads(body))
                await self._answer(head, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            if writer in self._feeds:
                self._feeds.remove(writer)
            writer.close()

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        first, *rest = head.split("\r\n")
        path = first.split(" ")[1]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        kind = "feed" if path.endswith("/changes") else "load" if path.endswith("/counters") else "map"
        if self.is_silent:
            await self._record(kind)
            return
        if self.redirect is not None:
            _write(writer, 307, b"", {"location": self.redirect + path})
        elif self.token is not None and headers.get("authorization") != f"Bearer {self.token}":
            _write(writer, 401, _problem(401, "token.wrong", "the token is not valid"))
        elif self.refusal is not None:
            status, problem = self.refusal
            _write(writer, status, json.dumps(problem).encode())
        elif kind == "feed":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            self._feeds.append(writer)
        else:
            body = json.dumps(self.document, ensure_ascii=False).encode() if self.body is None else self.body
            _write(writer, 200, body)
        await writer.drain()
        await self._record(kind)

    async def wait_for_load(self, wanted: list[list[Any]]) -> None:
        """Waits until the reports of load have exactly these counts in all."""
        async with self._changed:
            await self._changed.wait_for(lambda: sorted(self._load.values(), key=str) == sorted(wanted, key=str))

    async def _record_load(self, report: dict[str, Any]) -> None:
        if report["window_ms"] <= 0:
            raise ValueError(f"a window of {report['window_ms']} ms")
        async with self._changed:
            for key, uses in report["counts"]:
                self._load.setdefault(json.dumps(key), [key, 0])[1] += uses

    async def _record(self, kind: str) -> None:
        async with self._changed:
            self.requests.append(kind)
            self._changed.notify_all()


def event_of(document: dict[str, Any]) -> bytes:
    """The event of a version, as a controller sends it."""
    data = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return f"event: map\nid: {document['version']}\ndata: {data}\n\n".encode()


def _problem(status: int, code: str, detail: str) -> bytes:
    return json.dumps({"type": "about:blank", "status": status, "code": code, "detail": detail}).encode()


def _write(writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    fields = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + body)
