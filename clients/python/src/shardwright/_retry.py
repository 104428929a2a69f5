"""Decides which errors permit another attempt, and the pause before it. Sends nothing and waits for nothing.

Works with the errors of psycopg, and with those of ORMs that have an error of psycopg as their cause.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator
from dataclasses import dataclass

NOT_OWNER = "SM001"
"""The SQLSTATE of a shard that does not own the key (any more, or not for the moment)."""
NOT_OPEN = "SM002"
"""The SQLSTATE of a shard that does not own the key yet."""
# Serialization failure, deadlock; the server stops, has crashed or starts; no connection is free.
_AGAIN = frozenset({"40001", "40P01", "57P01", "57P02", "57P03", "53300"})
# libpq reports no SQLSTATE of a failed login. Any other message permits another attempt, until the time has ended.
_PERMANENT = (
    "password authentication failed",
    "no password supplied",
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "certificate verify failed",
    "invalid connection option",
)


class Remedy(enum.Enum):
    """What to do after an error that occurred before the commit was sent."""

    REFRESH_NOT_OWNER = enum.auto()
    """The guard refused the key: wait for a newer map, then try again."""
    REFRESH_NOT_OPEN = enum.auto()
    """The guard refused the key because the shard does not own it yet: wait for a newer map, then try again."""
    AGAIN = enum.auto()
    """Try again after a pause."""
    NONE = enum.auto()
    """Raise the error to the application."""


class Stage(enum.Enum):
    """How far an attempt got."""

    CONNECT = enum.auto()
    WORK = enum.auto()
    COMMIT = enum.auto()


@dataclass(slots=True)
class Attempt:
    """One attempt of a transaction on a shard. The code that does the I/O records here how far it got."""

    shard: str
    stage: Stage = Stage.CONNECT
    is_lost: bool = False
    """Whether the connection was lost."""
    has_ended: bool = False
    """Whether the function has ended its transaction."""


def remedy_of(error: BaseException, attempt: Attempt) -> Remedy:
    """Decides what to do after an error."""
    state = sqlstate(error)
    if state == NOT_OWNER:
        return Remedy.REFRESH_NOT_OWNER
    if state == NOT_OPEN:
        return Remedy.REFRESH_NOT_OPEN
    if state is not None:
        return Remedy.AGAIN if state in _AGAIN or state.startswith("08") else Remedy.NONE
    if attempt.stage is Stage.CONNECT:
        return Remedy.NONE if is_permanent(error) else Remedy.AGAIN
    return Remedy.AGAIN if attempt.is_lost and _is_of_database(error) else Remedy.NONE


def is_permanent(error: BaseException) -> bool:
    """Whether another attempt to connect would fail too."""
    text = " ".join(str(cause) for cause in _causes(error))
    return not _is_of_database(error) or any(part in text for part in _PERMANENT)


def refused_at_commit(error: BaseException) -> bool:
    """Whether a failed commit was certainly rolled back: the session still exists and reported the error."""
    for cause in _causes(error):
        diagnostic = getattr(cause, "diag", None)
        if diagnostic is not None and diagnostic.sqlstate is not None:
            return bool(diagnostic.severity_nonlocalized == "ERROR")
    return False


def sqlstate(error: BaseException) -> str | None:
    """The SQLSTATE that the server reported; `None` if the error is not the server's."""
    for cause in _causes(error):
        state = getattr(cause, "sqlstate", None)
        if isinstance(state, str) and getattr(getattr(cause, "diag", None), "severity", None) is not None:
            return state
    return None


def _is_of_database(error: BaseException) -> bool:
    return any(isinstance(cause, OSError) or hasattr(cause, "sqlstate") for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, also those that SQLAlchemy keeps in `orig`."""
    following: BaseException | None = error
    passed: set[int] = set()
    while following is not None and id(following) not in passed:
        passed.add(id(following))
        yield following
        original = getattr(following, "orig", None)
        following = original if isinstance(original, BaseException) else following.__cause__


class Pauses:
    """Pauses, each twice as long as the one before. Each is changed at random by up to a fifth."""

    def __init__(self, first: float, longest: float) -> None:
        self._next, self._longest = first, longest

    def next(self) -> float:
        """Returns the next pause in seconds."""
        pause = self._next * random.uniform(0.8, 1.2)
        self._next = min(self._next * 2, self._longest)
        return pause
