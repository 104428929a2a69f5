"""Parses server-sent events with the fields that the map's feed uses: `event`, `data`, and comments."""

from __future__ import annotations

from collections.abc import Iterator


class EventParser:
    """Splits a stream of bytes into events. The bytes may arrive in pieces of any size."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._name = ""
        self._data: list[bytes] = []

    def push(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        """Adds bytes, and yields the name and the data of each event that they complete."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            # Each byte is copied once, however long a line is: a map of a million keys is one line.
            self._rest.append(line)
            yield from self._process_line(b"".join(self._rest).removesuffix(b"\r"))
            self._rest.clear()
        if rest:
            self._rest.append(rest)

    def _process_line(self, line: bytes) -> Iterator[tuple[str, bytes]]:
        if not line:
            if self._data:
                yield self._name, b"\n".join(self._data)
            self._name, self._data = "", []
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._name = value.decode(errors="replace")
        elif field == b"data":
            self._data.append(value)
