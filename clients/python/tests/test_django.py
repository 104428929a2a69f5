"""The database router of Django chooses the alias of a key, and refuses a query without one."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

import django.conf

from shardwright import NoAccess, NoKey, Routes
from shardwright import django as adapter

_MAP = """{"name": "m", "strategy": "range", "key": ["bigint"], "version": 1, "incarnation": "i",
    "settings": {"tables": {"orders": "tenant_id"}, "reference": ["countries"]},
    "mappings": [{"keys": {"range": [{"to": 501}]}, "shard": "a"},
                 {"keys": {"range": [{"from": 501}]}, "shard": "b"}]}"""


def model(table: str) -> Any:
    """A class with what the router reads of a model."""
    fields = [SimpleNamespace(column="tenant_id", attname="tenant_id")]
    meta = SimpleNamespace(db_table=table, concrete_fields=fields)
    return type("Model", (), {"_meta": meta})


class Router(unittest.TestCase):
    """The router with a map that needs no controller."""

    def setUp(self) -> None:
        # The loader of the tests reads every name of a module, and settings must exist before it reads them.
        settings = django.conf.settings
        if not settings.configured:
            settings.configure()
        routes = Routes(_MAP)
        current = SimpleNamespace(routes=routes, shard_for=routes.shard_for, shadow=None)
        aliases = {"CONTROLLERS": "", "MAP": "m", "ALIASES": {"a": "shard_a"}}
        for patch in (
            mock.patch.object(adapter, "current_map", lambda: current),
            mock.patch.object(settings, "SHARDWRIGHT", aliases, create=True),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.router = adapter.ShardRouter()

    def test_a_key_in_force_chooses_the_alias(self) -> None:
        with adapter.key(500):
            self.assertEqual(self.router.db_for_read(model("orders")), "shard_a")
            self.assertIsNone(self.router.db_for_read(model("sessions")))
        with adapter.key(501), self.assertRaisesRegex(NoAccess, "shard b"):
            self.router.db_for_write(model("orders"))

    def test_a_row_has_the_alias_of_its_own_key(self) -> None:
        order = model("orders")()
        order.tenant_id = 3
        self.assertEqual(self.router.db_for_write(model("orders"), instance=order), "shard_a")

    def test_a_query_without_a_key_is_refused(self) -> None:
        with self.assertRaisesRegex(NoKey, "orders"):
            self.router.db_for_read(model("orders"))

    def test_tables_of_the_map_are_on_shards_only(self) -> None:
        def allowed(alias: str, table: str) -> bool | None:
            return self.router.allow_migrate(alias, "shop", model=model(table))

        self.assertTrue(allowed("shard_a", "orders"))
        self.assertIs(allowed("default", "orders"), False)
        self.assertTrue(allowed("shard_a", "countries"))
        self.assertTrue(allowed("default", "countries"))
        self.assertIs(allowed("shard_a", "sessions"), False)
        self.assertIsNone(allowed("default", "sessions"))


if __name__ == "__main__":
    unittest.main()
