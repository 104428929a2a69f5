"""Maps for scenarios: recorded ones by their names, and small ones by their bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "maps"


_INCARNATION = "c1b4a6f2-3f0e-4d6b-9a57-2a1f0e8d7c35"
_RECORDED_SHARD = "shard-"
"""How the names of shards begin in recorded maps. Scenarios name them by the rest."""


def document(wanted: dict[str, Any]) -> dict[str, Any]:
    """Returns a `recorded` map as a `version`, or a range map with these `bounds` and `owners`.

    There is one owner more than bounds; an owner of `null` is a gap. `with` replaces fields.
    """
    if "recorded" in wanted:
        recorded: dict[str, Any] = json.loads((FOLDER / f"{wanted['recorded']}.json").read_text())
        for mapping in recorded["mappings"]:
            mapping["shard"] = mapping["shard"].removeprefix(_RECORDED_SHARD)
        return {**recorded, "name": "tenants", "version": wanted["version"], "incarnation": _INCARNATION}
    bounds, owners = wanted.get("bounds", []), wanted.get("owners", ["a"])
    ends = zip([None, *bounds], [*bounds, None], owners, strict=True)
    mappings = [
        {"keys": {"range": [_range(start, end)]}, "shard": owner, "state": "active"}
        for start, end, owner in ends
        if owner is not None
    ]
    return {
        "name": "tenants",
        "strategy": "range",
        "key": ["bigint"],
        "buckets": 0,
        "version": wanted.get("version", 1),
        "incarnation": _INCARNATION,
        "settings": {"tables": {"orders": "tenant_id"}, "sequences": "stride"},
        "mappings": mappings,
        **wanted.get("with", {}),
    }


def located(name: str) -> list[tuple[Any, str | None]]:
    """Keys of a recorded map, and their shards."""
    entries = json.loads((FOLDER / f"{name}.located.json").read_text())
    return [(entry["key"], entry["shard"] and entry["shard"].removeprefix(_RECORDED_SHARD)) for entry in entries]


def _range(start: int | None, end: int | None) -> dict[str, int]:
    ends = {"from": start, "to": end}
    return {name: value for name, value in ends.items() if value is not None}


def large(strategy: str, entries: int) -> dict[str, Any]:
    """A map with so many ranges of bigints, or listed texts, of sixteen shards."""
    shards = [f"shard-{number:02}" for number in range(16)]
    if strategy == "range":
        mappings = [
            {"keys": {"range": [{"from": at * 10, "to": at * 10 + 10}]}, "shard": shards[at % 16], "state": "active"}
            for at in range(entries)
        ]
        return document({"with": {"mappings": mappings}})
    mappings = [
        {"keys": {"list": [f"tenant-{at}" for at in range(number, entries, 16)]}, "shard": shard, "state": "active"}
        for number, shard in enumerate(shards)
    ]
    return document({"with": {"strategy": "list", "key": ["text"], "mappings": mappings}})


def large_key(strategy: str, at: int) -> int | str:
    """A key of entry `at` of a large map."""
    return at * 10 + 7 if strategy == "range" else f"tenant-{at}"
