"""Keys and key sets are what PostgreSQL computed of them: docs/golden/keys.json."""

import datetime as dt
import json
import pathlib
import unittest
import uuid

from shardwright_map import keys
from shardwright_map.routes import Routes, Unmapped

GOLDEN = pathlib.Path(__file__).parents[3] / "docs" / "golden" / "keys.json"


def groups():
    for group in json.loads(GOLDEN.read_text())["groups"]:
        yield ["text" if name == "varchar" else name for name in group["columns"]], group


def signed(word: int) -> str:
    return str(word - (1 << 64) if word >> 63 else word)


def members(types: list[str], of: dict, entries: list[dict]) -> list[int]:
    """Which keys a map finds whose only mapping holds the set."""
    buckets = of["hash"]["of"] if "hash" in of else 0
    document = {"name": "m", "version": 1, "key": types, "buckets": buckets, "mappings": [{"keys": of, "shard": "s"}]}
    routes, found = Routes(document), []
    for place, entry in enumerate(entries):
        try:
            routes.shard_for(entry["key"])
            found.append(place)
        except Unmapped:
            pass
    return found


class Golden(unittest.TestCase):
    def test_keys_are_as_the_server_has_them(self):
        seen = 0
        for types, group in groups():
            for entry in group["keys"]:
                key = keys.accept(types, entry["key"])
                self.assertEqual(keys.accept(types, entry["texts"]), key)
                self.assertEqual(keys.ordered(key).hex(), entry["ordered"], entry)
                if entry.get("hash"):
                    self.assertEqual(signed(keys.hash64(key)), entry["hash"], entry)
                    self.assertEqual([keys.bucket(key, of) for of in (1, 16, 4096)], entry["buckets"], entry)
                seen += 1
        self.assertGreater(seen, 400)

    def test_sets_have_the_members_that_the_server_finds(self):
        seen = 0
        for types, group in groups():
            for entry in group["sets"]:
                held = entry["set"]
                [inner] = held.values()
                if not (inner["ranges"] or inner.get("except") if "hash" in held else inner):
                    continue
                self.assertEqual(members(types, held, group["keys"]), entry["members"], held)
                seen += 1
        self.assertGreater(seen, 400)

    def test_values_of_python_are_keys(self):
        for kind, value, text in (
            ("uuid", uuid.UUID("018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c"), "018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c"),
            ("bytea", b"\x00\xff", "\\x00ff"),
            ("date", dt.date(1999, 12, 31), "1999-12-31"),
            ("timestamptz", dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc), "2024-02-29 12:00:00+00"),
        ):
            self.assertEqual(keys.accept([kind], value), keys.accept([kind], text))
        for kind, value in (("bigint", 1 << 63), ("bigint", True), ("smallint", "x"), ("text", 1), ("uuid", "x")):
            with self.assertRaises(keys.KeyError_):
                keys.accept([kind], value)


if __name__ == "__main__":
    unittest.main()
