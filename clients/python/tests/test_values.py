"""Values of Python are keys, and small parts of the library do what they promise."""

from __future__ import annotations

import datetime as dt
import json
import random
import unittest
import uuid
from typing import Any

from shardwright import NotAKey, Routes, _keys
from shardwright._machine_token import listening_accounts
from shardwright._placeholders import numbered
from shardwright._retry import Pauses
from shardwright._sse import EventParser
from shardwright.key_set import joined


class Values(unittest.TestCase):
    """Values of Python as keys."""

    def test_values_of_python_are_keys(self) -> None:
        same: list[tuple[_keys.KeyType, Any, str]] = [
            ("uuid", uuid.UUID("018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c"), "018f3f5e-9c3a-7c3e-8b1a-2f4d5e6a7b8c"),
            ("bytea", b"\x00\xff", "\\x00ff"),
            ("bytea", bytearray(b"a"), "\\x61"),
            ("date", dt.date(1999, 12, 31), "1999-12-31"),
            ("timestamptz", dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc), "2024-02-29 12:00:00+00"),
            ("timestamptz", dt.datetime(2000, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2000-01-01 00:00Z"),
            ("smallint", 7, "+7"),
        ]
        for kind, value, text in same:
            self.assertEqual(_keys.accept([kind], value), _keys.accept([kind], text), kind)

    def test_other_values_of_python_are_refused(self) -> None:
        wrong: list[tuple[_keys.KeyType, Any]] = [
            ("bigint", True),
            ("bigint", 1.0),
            ("text", b"a"),
            ("text", "\ud800"),
            ("uuid", b"0" * 16),
            ("date", dt.datetime(2000, 1, 1, tzinfo=dt.timezone.utc)),
            ("timestamptz", dt.datetime(2000, 1, 1)),
            ("timestamptz", dt.date(2000, 1, 1)),
        ]
        for kind, value in wrong:
            with self.assertRaises(NotAKey, msg=f"{kind} {value!r}"):
                _keys.accept([kind], value)

    def test_dates_and_times_are_read_as_they_are_written(self) -> None:
        written: list[tuple[_keys.KeyType, str]] = [
            ("date", "4714-11-24 BC"),
            ("date", "5874897-12-31"),
            ("timestamptz", "294276-12-31 23:59:59.999999+00"),
            ("timestamptz", "4714-11-24 00:00:00+00 BC"),
            ("timestamptz", "1999-12-31 23:59:59.5+00"),
        ]
        for kind, text in written:
            column = _keys.accept_column(kind, text)
            self.assertEqual(_keys.text(kind, column), text)


class Lookups(unittest.TestCase):
    """The index of a map."""

    def test_every_key_of_a_random_map_has_its_owner(self) -> None:
        random.seed(5)
        bounds = sorted(random.sample(range(-1000, 1000), 200))
        ends = list(zip([None, *bounds], [*bounds, None], strict=True))
        owned = [(start, end, random.choice("abcd")) for start, end in ends if random.random() < 0.8]
        mappings = [{"keys": {"range": [{"from": start, "to": end}]}, "shard": shard} for start, end, shard in owned]
        routes = Routes(json.dumps(_map(mappings)))
        for key in range(-1010, 1010):
            wanted = [
                shard for start, end, shard in owned if (start is None or start <= key) and (end is None or key < end)
            ]
            found = [shard for shard in routes.shards if routes.owned_by(shard).contains(key)]
            self.assertEqual(found, wanted, key)
            self.assertEqual([routes.shard_for(key)] if wanted else [], wanted)

    def test_adjacent_intervals_are_joined(self) -> None:
        self.assertEqual(joined([(5, 9), (None, 3), (3, 4), (7, None), (2, 2)]), [(None, 4), (5, None)])
        self.assertEqual(joined([]), [])


class Parts(unittest.TestCase):
    """Small parts."""

    def test_events_survive_any_cut_of_the_stream(self) -> None:
        text = ': a\n\nevent: map\nid: 7\ndata: {"ä":1}\n\nevent: map\r\ndata: x\r\ndata: y\r\n\r\n'.encode()
        whole = list(EventParser().push(text))
        self.assertEqual([data.decode() for _, data in whole], ['{"ä":1}', "x\ny"])
        for size in range(1, 9):
            parser = EventParser()
            cut = [event for at in range(0, len(text), size) for event in parser.push(text[at : at + size])]
            self.assertEqual(cut, whole)

    def test_pauses_grow_to_their_limit(self) -> None:
        pauses = Pauses(0.005, 0.02)
        for middle in (0.005, 0.01, 0.02, 0.02):
            self.assertTrue(0.79 * middle <= pauses.next() <= 1.21 * middle)

    def test_only_programs_that_listen_count_for_the_token_of_this_machine(self) -> None:
        table = (
            "  sl  local_address rem_address st tx rx tr tm retrnsmt uid timeout inode\n"
            "   0: 0100007F:1D08 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 1\n"
            "   1: 0100007F:1D08 0100007F:A000 01 00000000:00000000 00:00000000 00000000 4711 0 2\n"
        )
        self.assertEqual(list(listening_accounts(table, 7432)), [1000])
        self.assertEqual(list(listening_accounts(table, 7433)), [])

    def test_placeholders_are_numbered(self) -> None:
        self.assertEqual(numbered("a = %s and b like 'x%%' and c = %b", [1, 2])[0], "a = $1 and b like 'x%' and c = $2")
        text, values = numbered("%(b)s %(a)s %(b)s", {"a": 1, "b": 2})
        self.assertEqual((text, list(values)), ("$1 $2 $1", [2, 1]))
        self.assertEqual(numbered("select 5 % 2", None), ("select 5 % 2", ()))


def _map(mappings: list[Any]) -> dict[str, Any]:
    for mapping in mappings:
        ends = mapping["keys"]["range"][0]
        mapping["keys"]["range"][0] = {name: end for name, end in ends.items() if end is not None}
    return {
        "name": "m",
        "strategy": "range",
        "key": ["bigint"],
        "version": 1,
        "incarnation": "i",
        "mappings": mappings,
    }


if __name__ == "__main__":
    unittest.main()
