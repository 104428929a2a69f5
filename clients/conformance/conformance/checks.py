"""Checks of keys and maps that need no scenario: a library answers what PostgreSQL and the controller answered."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from .driver import Driver
from .maps import FOLDER, large, large_key
from .steps import Failed

_GOLDEN = Path(__file__).parents[3] / "docs/golden/keys.json"
_BUCKETS = [1, 16, 4096]
# The most that loading a map of a million entries may take, in seconds: ten times what was measured.
_LOAD_LIMIT = 60


async def check_golden_keys(driver: Driver) -> str:
    """Keys have the order, the texts, the hashes and the virtual shards that PostgreSQL computed."""
    count = 0
    for types, group in _groups():
        values = [entry["key"] for entry in group["keys"]]
        found = await driver.send("keys", types=types, values=values, of=_BUCKETS)
        again = await driver.send("keys", types=types, values=[entry["texts"] for entry in group["keys"]], of=_BUCKETS)
        _same(types, found, again)
        for entry, key in zip(group["keys"], found, strict=True):
            _same(entry, key["texts"], entry["texts"])
            if "hash" in entry:
                _same(entry, [key["hash"], key["buckets"]], [entry["hash"], entry["buckets"]])
            count += 1
        positions = random.Random(1).sample(range(len(values)), len(values))
        ordered = await driver.send("sort", types=types, values=[values[at] for at in positions])
        _same(types, [positions[at] for at in ordered], list(range(len(values))))
    return f"{count} keys"


async def check_golden_sets(driver: Driver) -> str:
    """Sets have the members that PostgreSQL found, and the SQL conditions that Rust writes."""
    count = 0
    for types, group in _groups():
        columns = [f'"k{number}"' for number in range(1, len(types) + 1)]
        keys = [entry["key"] for entry in group["keys"]]
        sets = [entry["set"] for entry in group["sets"]]
        found = await driver.send("sets", types=types, sets=sets, keys=keys, columns=columns)
        for entry, one in zip(group["sets"], found, strict=True):
            _same(entry["set"], one, {"members": entry["members"], "predicate": entry["predicate"]})
            count += 1
    return f"{count} sets"


async def check_invalid_keys(driver: Driver) -> str:
    """Values that are not keys are refused."""
    count = 0
    for kind, values in json.loads((FOLDER.parent / "invalid-keys.json").read_text()).items():
        for value in values:
            [found] = await driver.send("keys", types=[kind], values=[value], of=[])
            _same((kind, value), found, {"error": "not_a_key"})
            count += 1
    return f"{count} values"


async def check_recorded_maps(driver: Driver, dsn: str) -> str:
    """Lookups in recorded maps return what the controller that made the map answered for the same keys.

    The SQL condition of each shard selects these keys too.
    """
    count = 0
    for file in sorted(FOLDER.glob("*.located.json")):
        recorded = json.loads(file.read_text())
        text = file.with_name(file.name.replace(".located", "")).read_text()
        types = json.loads(text)["key"]
        columns = [f"k{number}" for number in range(1, len(types) + 1)]
        found = await driver.send("routes", text=text, keys=[entry["key"] for entry in recorded], columns=columns)
        for entry, shard in zip(recorded, found["shards"], strict=True):
            _same((file.stem, entry["key"]), shard, entry["shard"])
            count += 1
        for shard, predicate in found["predicates"].items():
            owned = [at for at, entry in enumerate(recorded) if entry["shard"] == shard]
            selected = await asyncio.to_thread(_select, dsn, types, [entry["key"] for entry in recorded], predicate)
            _same((file.stem, shard), selected, owned)
    if count == 0:
        raise Failed("no map is recorded")
    return f"{count} keys"


def _select(dsn: str, types: list[str], keys: list[Any], predicate: str) -> list[int]:
    """The positions of the keys for which PostgreSQL finds the condition true."""
    columns = [f"k{number} {kind}" for number, kind in enumerate(types, 1)]
    with psycopg.connect(dsn) as session:
        session.execute(f"create temporary table keys (at int, {', '.join(columns)})".encode())
        with session.cursor().copy("copy keys from stdin") as copy:
            for at, key in enumerate(keys):
                values = [next(iter(one.values())) if isinstance(one, dict) else str(one) for one in _columns_of(key)]
                copy.write_row((at, *values))
        rows = session.execute(f"select at from keys where {predicate} order by at".encode()).fetchall()
        session.rollback()
    return [row[0] for row in rows]


def _columns_of(key: Any) -> list[Any]:
    return key if isinstance(key, list) else [key]


async def measure_large_maps(driver: Driver, entries: int) -> str:
    """A map with many entries is read, and its keys are found, within a limit."""
    figures = []
    for strategy in ("range", "list"):
        document = large(strategy, entries)
        positions = random.Random(2).sample(range(entries), min(entries, 100_000))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            # `dumps`, because `dump` writes each value on its own.
            file.write(json.dumps(document, separators=(",", ":")))
            file.flush()
            keys = [large_key(strategy, at) for at in positions]
            measured = await driver.send("measure", path=file.name, keys=keys)
        _same(strategy, measured["shards"], [f"shard-{at % 16:02}" for at in positions])
        if measured["load_seconds"] > _LOAD_LIMIT:
            raise Failed(f"a {strategy} map of {entries} entries took {measured['load_seconds']} s to load")
        figures.append(
            f"{strategy}: load {measured['load_seconds']:.2f} s, lookup {measured['lookup_micros']:.2f} us, "
            f"{measured['memory_mib']:.0f} MiB"
        )
    return f"{entries} entries; {'; '.join(figures)}"


def _groups() -> Iterator[tuple[list[str], dict[str, Any]]]:
    for group in json.loads(_GOLDEN.read_text())["groups"]:
        yield ["text" if name == "varchar" else name for name in group["columns"]], group


def _same(place: object, found: object, wanted: object) -> None:
    if found != wanted:
        raise Failed(f"{place}: {found!r} is not {wanted!r}")
