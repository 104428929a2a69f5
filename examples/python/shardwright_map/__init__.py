"""A shard map in Python: which shard has a key, and a transaction on that shard.

    with Map("http://127.0.0.1:7432", "tenants", token_file="shop.token") as map:
        shards = Shards(map, lambda shard: psycopg.connect(service=shard))
        shards.run(4711, lambda connection: connection.execute("update …"))
"""

from .feed import Map
from .keys import KeyError_
from .routes import Routes, Unmapped
from .transactions import CommitUnknown, GaveUp, Shards

__all__ = ["CommitUnknown", "GaveUp", "KeyError_", "Map", "Routes", "Shards", "Unmapped"]
