"""The shard map of Shardwright for applications: it finds the shard of a key, and runs a transaction on that shard.

- `Map.connect` reads the map once. A thread follows its changes, and lookups use the cache. `AsyncMap` is the same for
  asyncio.
- `Map.with_shard` runs a whole transaction on the key's shard, and repeats it when that is safe. A commit with an
  unknown outcome is never repeated.
- `Map.on_all` sends a query to all shards.
- With `ShadowAccess` everything goes to one database, and what would not work on shards is reported.
- `shardwright.sqlalchemy` and `shardwright.django` do the same with these libraries.

The library does not write the map, is no proxy, and has no transactions over several shards.
"""

from importlib.metadata import version

from ._keys import KeyType, KeyValue
from ._pool import AsyncConnection, Connection
from ._recording import recording_async_cursor, recording_cursor
from ._retry import NOT_OPEN, NOT_OWNER
from .aio import AsyncMap
from .errors import (
    CommitUnknown,
    ConnectFailed,
    FailedStatementIgnored,
    FetchFailed,
    GaveUp,
    MapError,
    NoAccess,
    NoAnswer,
    NoKey,
    NotAKey,
    ParserMissing,
    RouteError,
    ShardwrightError,
    Stale,
    TransactionEnded,
    Unmapped,
)
from .fan_out import FanOut, Part
from .key_set import KeySet
from .map import Map
from .options import Options, ShardAccess, TransactionOptions
from .routes import Routes
from .shadow import Finding, Shadow, ShadowAccess
from .stats import Stats

__version__ = version("shardwright")

__all__ = [
    "NOT_OPEN",
    "NOT_OWNER",
    "AsyncConnection",
    "AsyncMap",
    "CommitUnknown",
    "ConnectFailed",
    "Connection",
    "FailedStatementIgnored",
    "FanOut",
    "FetchFailed",
    "Finding",
    "GaveUp",
    "KeySet",
    "KeyType",
    "KeyValue",
    "Map",
    "MapError",
    "NoAccess",
    "NoAnswer",
    "NoKey",
    "NotAKey",
    "Options",
    "ParserMissing",
    "Part",
    "RouteError",
    "Routes",
    "Shadow",
    "ShadowAccess",
    "ShardAccess",
    "ShardwrightError",
    "Stale",
    "Stats",
    "TransactionEnded",
    "TransactionOptions",
    "Unmapped",
    "recording_async_cursor",
    "recording_cursor",
]
