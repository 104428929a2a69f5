"""An application that shards by tenant: a few threads that write orders and read them, until the end of stdin.

    python app.py --controller http://127.0.0.1:7432 --map tenants --shard a="dbname=a" --shard b="dbname=b"

Each acknowledged order is a line on stdout, `tenant id`, so that another program can search for every one. The shards
need a table `orders (tenant_id bigint, id bigint, note text)`.
"""

import argparse
import itertools
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from shardwright import CommitUnknown, Connection, Map, Options

TENANTS = 1000
# What a client does between two orders, in seconds.
OTHER_WORK = 0.05
PRINTING = threading.Lock()


def place_order(map: Map, tenant: int, number: int) -> None:
    def insert(connection: Connection) -> None:
        connection.execute("insert into orders (tenant_id, id, note) values (%s, %s, 'python')", (tenant, number))
        assert exists(connection), "an application reads what it has written"

    def exists(connection: Connection) -> bool:
        row = connection.execute("select note from orders where tenant_id = %s and id = %s", (tenant, number))
        return row.fetchone() == ("python",)

    place(lambda work: map.with_shard(tenant, work), insert, exists)


def place(run: Callable[..., Any], insert: Callable[..., None], exists: Callable[..., bool]) -> None:
    """Runs `insert` in a transaction, and again only if it was not committed."""
    while True:
        try:
            run(insert)
            break
        except CommitUnknown:
            if run(exists):
                break


def main(place_order: Any = place_order, connect: Any = Map.connect, first_number: int = 1_000_000) -> int:
    parser = argparse.ArgumentParser(description="Writes orders until the end of stdin.")
    parser.add_argument("--controller", required=True, help="URLs, separated by commas")
    parser.add_argument("--map", required=True)
    parser.add_argument("--shard", action="append", required=True, metavar="NAME=DSN")
    parser.add_argument("--token-file")
    parser.add_argument("--threads", type=int, default=4)
    arguments = parser.parse_args()
    shards = dict(shard.split("=", 1) for shard in arguments.shard)
    stop, numbers, errors = threading.Event(), itertools.count(first_number), []

    def run_client(map: Map) -> None:
        try:
            while not stop.is_set():
                tenant, number = random.randint(1, TENANTS), next(numbers)
                place_order(map, tenant, number)
                with PRINTING:
                    print(tenant, number, flush=True)
                time.sleep(OTHER_WORK)
        except Exception as error:
            errors.append(error)
            stop.set()

    with connect(arguments.controller, arguments.map, shards, Options(token_file=arguments.token_file)) as map:
        clients = [threading.Thread(target=run_client, args=(map,)) for _ in range(arguments.threads)]
        for client in clients:
            client.start()
        threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
        for client in clients:
            client.join()
        stats = map.stats()
        print(f"map version {stats.version}, {stats.not_owner + stats.not_open} refusal(s)", file=sys.stderr)
    for error in errors:
        print(f"error: {error!r}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
