"""An application that shards by tenant: a few threads that write orders and read them, until they are told to stop.

    python app.py --controller http://127.0.0.1:7432 --map tenants --shard a="dbname=a" --shard b="dbname=b"

Each acknowledged order is a line on stdout, `tenant id`; whoever reads them can look for every one. Stops at the end
of stdin. Wants psycopg, and a table `orders (tenant_id bigint, id bigint, note text)` on the shards.
"""

import argparse
import itertools
import random
import sys
import threading

import psycopg

from shardwright_map import CommitUnknown, Map, Shards

TENANTS = 1000
LINES = threading.Lock()


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--controller", required=True, help="addresses, separated by commas")
    parser.add_argument("--map", required=True)
    parser.add_argument("--shard", action="append", required=True, metavar="NAME=DSN")
    parser.add_argument("--token-file")
    parser.add_argument("--threads", type=int, default=4)
    return parser.parse_args()


def place_order(shards: Shards, tenant: int, number: int) -> None:
    def work(connection):
        connection.execute("insert into orders (tenant_id, id, note) values (%s, %s, 'python')", (tenant, number))
        # An application reads what it has written.
        row = connection.execute("select note from orders where tenant_id = %s and id = %s", (tenant, number))
        assert row.fetchone() == ("python",)

    def is_there(connection):
        row = connection.execute("select from orders where tenant_id = %s and id = %s", (tenant, number))
        return row.fetchone() is not None

    while True:
        try:
            shards.run(tenant, work)
            break
        except CommitUnknown:
            if shards.run(tenant, is_there):
                break
    with LINES:
        print(tenant, number, flush=True)


def main() -> int:
    options = parsed()
    dsns = dict(shard.split("=", 1) for shard in options.shard)
    stop, failed = threading.Event(), []
    numbers = itertools.count(1_000_000)

    def client(shards: Shards) -> None:
        try:
            while not stop.is_set():
                place_order(shards, random.randint(1, TENANTS), next(numbers))
        except Exception as error:
            failed.append(error)
            stop.set()

    with Map(options.controller, options.map, token_file=options.token_file) as map:
        shards = Shards(map, lambda shard: psycopg.connect(dsns[shard]))
        threads = [threading.Thread(target=client, args=(shards,)) for _ in range(options.threads)]
        for thread in threads:
            thread.start()
        threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
        for thread in threads:
            thread.join()
        print(f"map version {map.routes.version}, {shards.refusals} refusal(s)", file=sys.stderr)
    for error in failed:
        print(f"error: {error!r}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
