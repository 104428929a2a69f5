"""A proxy in front of PostgreSQL that loses connections at a chosen message, and records the errors that pass."""

from __future__ import annotations

import asyncio
import re

_COMMIT = re.compile(rb"\bcommit\b", re.IGNORECASE)
_CODE = re.compile(rb"\x00C([0-9A-Z]{5})\x00")


class Proxy:
    """Forwards connections to a server, message by message."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.cut: str | None = None
        """When the next connection is lost: `statement:TEXT` before the server receives a statement with this text,
        `before_commit` before it receives the commit, `after_commit` after it has committed."""
        self.errors: list[str] = []
        self.connections = 0
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        """Listens, after a stop on the same port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Refuses connections, and ends those that exist."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def wait_for_error(self, code: str, count: int) -> None:
        """Waits until the server has reported so many errors with this SQLSTATE."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.errors.count(code) >= count)

    async def wait_for_end_of_connections(self) -> None:
        """Waits until the library has closed all connections."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._open)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        self._open |= {writer, server_writer}
        link = _Link(self, writer, server_writer)
        try:
            await asyncio.gather(link.forward_requests(reader), link.forward_answers(server_reader))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for end in (writer, server_writer):
                self._open.discard(end)
                end.transport.abort()
            async with self._changed:
                self._changed.notify_all()

    async def record_error(self, code: str) -> None:
        """Records an error that the server has reported."""
        async with self._changed:
            self.errors.append(code)
            self._changed.notify_all()


class _Link:
    """One connection of a client, and that to the server."""

    def __init__(self, proxy: Proxy, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._is_commit_sent = False

    async def forward_requests(self, reader: asyncio.StreamReader) -> None:
        """Forwards what the client sends."""
        while True:
            length = await reader.readexactly(4)
            first = length + await reader.readexactly(int.from_bytes(length, "big") - 4)
            if first[4:8] not in (b"\x04\xd2\x16/", b"\x04\xd2\x160"):
                break
            # The client requests encryption: it is refused, so that messages can be read.
            self._client.write(b"N")
        # Some drivers request the end of a lost statement on a connection of its own, which is no session.
        if first[4:8] != b"\x04\xd2\x16.":
            self._proxy.connections += 1
        self._server.write(first)
        while True:
            kind, body = await _read_message(reader)
            if kind in (b"Q", b"P"):
                self._check(body)
            self._server.write(kind + body)
            await self._server.drain()

    def _check(self, body: bytes) -> None:
        """Loses the connection before the server receives the statement, if this is the chosen one."""
        cut, is_commit = self._proxy.cut, _COMMIT.search(body[4:]) is not None and b"begin" not in body.lower()
        self._is_commit_sent = self._is_commit_sent or is_commit
        wanted = cut == "before_commit" and is_commit
        text = cut.removeprefix("statement:") if cut and cut.startswith("statement:") else None
        if wanted or (text is not None and text.encode() in body):
            self._proxy.cut = None
            raise ConnectionAbortedError

    async def forward_answers(self, reader: asyncio.StreamReader) -> None:
        """Forwards what the server sends."""
        while True:
            kind, body = await _read_message(reader)
            if kind == b"C" and body[4:].startswith(b"COMMIT") and self._proxy.cut == "after_commit":
                self._proxy.cut = None
                raise ConnectionAbortedError
            self._client.write(kind + body)
            await self._client.drain()
            code = _CODE.search(body) if kind == b"E" else None
            if code is not None:
                await self._proxy.record_error(code[1].decode())


async def _read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind = await reader.readexactly(1)
    length = await reader.readexactly(4)
    return kind, length + await reader.readexactly(int.from_bytes(length, "big") - 4)
