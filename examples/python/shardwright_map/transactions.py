"""A whole transaction on the shard of its key, repeated where that is safe.

Works with any driver of the DB-API whose errors tell their SQLSTATE: psycopg, psycopg2, pg8000.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from .feed import Map

T = TypeVar("T")

NOT_OWNER, NOT_OPEN = "SM001", "SM002"
"""The shard does not own the key (now); it does not own it yet. Read the map again, repeat the whole transaction."""

# Serialization failure, deadlock; the server stops, crashed or starts; no connection is left.
_AGAIN = {"40001", "40P01", "57P01", "57P02", "57P03", "53300"}


class CommitUnknown(Exception):
    """The connection was lost while the commit was under way: look for the transaction before you repeat it."""


class GaveUp(Exception):
    """The time for attempts is over; the last one was rolled back."""


class Shards:
    """Connections to the shards of a map, one for each thread and shard.

    `connect` gives a connection to a shard by its name, without autocommit.
    """

    def __init__(self, map: Map, connect: Callable[[str], Any], *, patience: float = 30.0) -> None:
        self.map = map
        self.refusals = 0
        self._connect = connect
        self._patience = patience
        self._own = threading.local()

    def run(self, key: Any, work: Callable[[Any], T]) -> T:
        """Runs `work(connection)` and commits, on the shard that owns the key.

        `work` may be run several times, so it does nothing but what its connection takes back. What it raises itself
        is raised here, its transaction rolled back.
        """
        until, pause = time.monotonic() + self._patience, 0.005
        while True:
            routes = self.map.routes
            shard = routes.shard_for(key)
            try:
                return self._once(shard, work)
            except CommitUnknown:
                raise
            except Exception as error:
                state = sqlstate(error)
                if not _is_passing(error, state):
                    raise
                if time.monotonic() > until:
                    raise GaveUp(f"key {key!r}: no attempt went through in {self._patience} s: {error}") from error
            if state in (NOT_OWNER, NOT_OPEN):
                self.refusals += 1
                self.map.newer_than(routes.version, pause)
            else:
                time.sleep(pause * random.uniform(0.8, 1.2))
            pause = min(pause * 2, 0.25)

    def _once(self, shard: str, work: Callable[[Any], T]) -> T:
        connections = self._own.__dict__.setdefault("connections", {})
        if shard not in connections:
            connections[shard] = self._connect(shard)
        connection = connections[shard]
        committing = False
        try:
            result = work(connection)
            committing = True
            connection.commit()
            return result
        except Exception as error:
            self._end(connections, shard)
            if committing and _leaves_open(sqlstate(error)):
                raise CommitUnknown(f"shard {shard}: the connection was lost during commit") from error
            raise

    @staticmethod
    def _end(connections: dict[str, Any], shard: str) -> None:
        try:
            connections[shard].rollback()
        except Exception:
            # It is of no use any more; the next attempt opens another.
            try:
                connections[shard].close()
            except Exception:
                pass
            del connections[shard]


def sqlstate(error: BaseException) -> str | None:
    """What the server called the error; nothing where it was not the server's."""
    for name in ("sqlstate", "pgcode"):
        if state := getattr(error, name, None):
            return state
    first = error.args[0] if error.args else None
    return first.get("C") if isinstance(first, dict) else None


def _leaves_open(state: str | None) -> bool:
    """Whether a commit that ended so may have happened: nothing was said of it, or the session ended with it."""
    return state is None or state.startswith(("57P", "08"))


def _is_passing(error: Exception, state: str | None) -> bool:
    if state is None:
        # A lost connection, as each driver tells it.
        return isinstance(error, OSError) or type(error).__name__ in ("OperationalError", "InterfaceError")
    return state in (NOT_OWNER, NOT_OPEN) or state in _AGAIN or state.startswith("08")
