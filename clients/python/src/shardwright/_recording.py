"""Cursors of psycopg that report each statement to shadow mode before they execute it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from .shadow import Shadow


def _record(shadow: Shadow, connection: Any, query: Any, parameters: Any) -> None:
    if isinstance(query, sql.Composable):
        query = query.as_string(connection)
    text = query.decode() if isinstance(query, bytes) else str(query)
    begins = connection.info.transaction_status == TransactionStatus.IDLE
    shadow.record_formatted(text, parameters, connection, begins=begins)


def recording_cursor(shadow: Shadow) -> type[psycopg.Cursor[Any]]:
    """A class of cursors: `psycopg.connect(…, cursor_factory=recording_cursor(map.shadow))`."""

    class RecordingCursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> RecordingCursor:
            _record(shadow, self.connection, query, params)
            super().execute(query, params, **options)
            return self

        def executemany(self, query: Any, params_seq: Iterable[Any], **options: Any) -> None:
            rows = list(params_seq)
            for row in rows:
                _record(shadow, self.connection, query, row)
            super().executemany(query, rows, **options)

    return RecordingCursor


def recording_async_cursor(shadow: Shadow) -> type[psycopg.AsyncCursor[Any]]:
    """A class of cursors for asyncio."""

    class RecordingAsyncCursor(psycopg.AsyncCursor[Any]):
        async def execute(self, query: Any, params: Any = None, **options: Any) -> RecordingAsyncCursor:
            _record(shadow, self.connection, query, params)
            await super().execute(query, params, **options)
            return self

        async def executemany(self, query: Any, params_seq: Iterable[Any], **options: Any) -> None:
            rows = list(params_seq)
            for row in rows:
                _record(shadow, self.connection, query, row)
            await super().executemany(query, rows, **options)

    return RecordingAsyncCursor
