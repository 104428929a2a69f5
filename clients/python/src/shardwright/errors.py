"""The errors that an application can receive, and what each means for its transaction.

An error of the application's own function, or of a statement in it, is raised unchanged after the rollback. The errors
of this module come from the library. Each has a `hint` if there is something that the user can do.
"""

from __future__ import annotations


class ShardwrightError(Exception):
    """The base class of all errors of the library."""

    hint: str | None = None


class RouteError(ShardwrightError):
    """A key has no shard. No statement was executed."""


class Unmapped(RouteError):
    """No mapping of the map contains the key."""

    hint = "map the key to a shard, or correct the key"


class NotAKey(RouteError):
    """The value is not a key of this map: it has another type, or another number of columns."""

    hint = "pass the key in the types of the map's key columns"


class Stale(RouteError):
    """No controller has answered for longer than `Options.max_staleness`."""

    hint = "make sure that the application can reach a controller, or increase Options.max_staleness"


class MapError(ShardwrightError):
    """The map is invalid: mappings overlap, or do not have the form of the map's strategy."""


class FetchFailed(ShardwrightError):
    """No controller returned the map. The cause is the error of the last controller."""

    hint = "check the URLs of the controllers, the name of the map, and the token"


class NoAccess(ShardwrightError):
    """The application has no connection string for the shard. No statement was executed."""

    hint = "let the access return a connection string for this shard"


class ConnectFailed(ShardwrightError):
    """A connection to the shard cannot be opened, and a retry does not help. No statement was executed."""


class FailedStatementIgnored(ShardwrightError):
    """The function returned although one of its statements had failed. The transaction was rolled back."""

    hint = "let the error of the statement leave the function, or run the statement in a savepoint"


class TransactionEnded(ShardwrightError):
    """The function ended the transaction itself, which only the library may do."""

    hint = "remove commit and rollback from the function; raise an error to roll back"


class CommitUnknown(ShardwrightError):
    """The connection was lost during the commit. The transaction may or may not be committed."""

    hint = (
        "before you repeat the transaction, find out on the key's shard whether it was committed, "
        "for example by a row that it writes"
    )


class GaveUp(ShardwrightError):
    """The time for retries has ended. The last attempt was rolled back. The cause is its error."""


class NoAnswer(ShardwrightError):
    """A shard did not answer a query to all shards within the time for retries. The cause is the last error."""


class ParserMissing(ShardwrightError):
    """Shadow mode needs PostgreSQL's parser, and the package that has it is not installed."""

    hint = "install shardwright[shadow]"


class NoKey(ShardwrightError):
    """An ORM needs the shard of a table of the map, and no key is in force."""

    hint = "execute the query inside `with shardwright.django.key(KEY)`, or on a shard's alias with `using`"
