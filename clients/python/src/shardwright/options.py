"""Options of the library and of a transaction."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

ShardAccess: TypeAlias = "Mapping[str, str] | Callable[[str], str | None]"
"""Returns for the name of a shard the connection string of the application's own role.

A function is called for each new connection, so that a password can be renewed while the application runs.
"""
Isolation: TypeAlias = Literal["read committed", "repeatable read", "serializable"]


def find_dsn(access: ShardAccess, shard: str) -> str | None:
    """The connection string of a shard."""
    return access.get(shard) if isinstance(access, Mapping) else access(shard)


def _path_of(variable: str) -> Callable[[], Path | None]:
    def read() -> Path | None:
        value = os.environ.get(variable)
        return Path(value) if value else None

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the library. Times are in seconds."""

    connections: int = 16
    """The maximum number of connections for each shard."""
    retry_for: float = 60.0
    """The total time that one call of `with_shard` may spend on attempts and pauses."""
    first_pause: float = 0.005
    """The first pause between two attempts. Each later pause is about twice as long."""
    longest_pause: float = 0.25
    """The longest pause between two attempts."""
    connect_timeout: int = 10
    """The limit of one attempt to connect to a shard, unless the connection string has a `connect_timeout`."""
    report_load: float | None = None
    """How often the library reports the most used keys to the controller, for rebalances by load; `None`: never."""
    max_staleness: float | None = None
    """The time after which lookups fail with `Stale` if no controller has answered; `None`: lookups use the cached map
    for an unlimited time. For writes that is safe because of the shard's guard."""
    token_file: Path | str | None = field(default_factory=_path_of("SHARDWRIGHT_TOKEN_FILE"))
    """The file with the token for the controllers. It is read for each request, so that the token can be renewed."""
    ca_file: Path | str | None = field(default_factory=_path_of("SHARDWRIGHT_CA_FILE"))
    """The PEM file with the trusted certificate authorities; `None`: those of the system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionOptions:
    """The options of one transaction."""

    isolation: Isolation = "read committed"
    synchronous_commit: bool = True
    """False: the commit is acknowledged before it is on disk, so a crash of the server may lose the transaction."""

    def begin(self) -> str:
        """The statements that begin such a transaction, in one round trip."""
        commit = "on" if self.synchronous_commit else "off"
        return f"begin isolation level {self.isolation}; set local synchronous_commit = {commit}"


READ_ONLY = "begin isolation level repeatable read read only"
