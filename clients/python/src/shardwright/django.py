"""Django: a database router that finds the shard of a key. Needs the extra `shardwright[django]`.

    DATABASES = {"default": …, "shard_a": …, "shard_b": …}
    DATABASE_ROUTERS = ["shardwright.django.ShardRouter"]
    SHARDWRIGHT = {
        "CONTROLLERS": "http://c1:7432,http://c2:7432",
        "MAP": "tenants",
        "ALIASES": {"shard-a": "shard_a", "shard-b": "shard_b"},
    }

Inside `with key(4711):`, queries on tables of the map use the shard of this key. `with_shard(4711, work)` runs a whole
transaction and repeats it. Other tables stay in `default`. With `"SHADOW": "default"` in place of `"ALIASES"`
everything stays in that database, and what would not work on shards is reported.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.conf import settings
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models import Model
from psycopg.pq import TransactionStatus

from ._keys import KeyValue
from ._pool import check_before_commit, check_is_connected, check_is_open
from ._retry import Attempt, Stage
from .errors import NoAccess, NoKey
from .map import Map
from .options import Options, ShardAccess
from .shadow import ShadowAccess

T = TypeVar("T")
_KEY: ContextVar[Any] = ContextVar("shardwright_django_key", default=None)
_LOCK = threading.Lock()
_maps: list[Map] = []


def current_map() -> Map:
    """Returns the map of the settings. The first call connects it."""
    with _LOCK:
        if not _maps:
            wanted = settings.SHARDWRIGHT
            # Django opens all connections: the library only needs to know whether there is one database.
            access: ShardAccess | ShadowAccess = ShadowAccess("", wanted.get("REPORT")) if "SHADOW" in wanted else {}
            options = Options(**wanted.get("OPTIONS", {}))
            _maps.append(Map.connect(wanted["CONTROLLERS"], wanted["MAP"], access, options))
            if _maps[0].shadow is not None:
                connection_created.connect(_record_statements)
        return _maps[0]


def close_map() -> None:
    """Closes the map, for example at the end of a program or of its tests."""
    with _LOCK:
        for connected in _maps:
            connected.close()
        _maps.clear()
        connection_created.disconnect(_record_statements)


@contextmanager
def key(value: KeyValue) -> Iterator[None]:
    """Inside of this context, queries on tables of the map use the shard of this key."""
    token = _KEY.set(value)
    try:
        yield
    finally:
        _KEY.reset(token)


def alias_for(value: KeyValue) -> str:
    """Returns the database alias of the shard that owns a key."""
    return _alias_of(current_map().shard_for(value))


def with_shard(value: KeyValue, work: Callable[[str], T]) -> T:
    """Runs `work(alias)` in a transaction on the key's shard, and commits it; repeated as in `Map.with_shard`."""
    connected = current_map()

    def attempt(state: Attempt) -> T:
        alias = _alias_of(state.shard)
        connection = connections[alias]
        if connection.connection is not None and connection.connection.closed:
            connection.close()
        connection.ensure_connection()
        # Django replaces a lost connection at the end of the transaction.
        driver = connection.connection
        state.stage = Stage.WORK
        shadow = connected.shadow

        def checked(execute: Callable[..., T], sql: str, parameters: Any, many: bool, context: Mapping[str, Any]) -> T:
            result = execute(sql, parameters, many, context)
            check_is_open(state, driver.info.transaction_status)
            return result

        try:
            with (
                key(value),
                shadow.transaction(value) if shadow else _nothing(),
                transaction.atomic(alias, durable=True),
                connection.execute_wrapper(checked),
            ):
                result = work(alias)
                check_is_connected(state, is_lost=driver.closed)
                status = driver.info.transaction_status
                check_before_commit(state, TransactionStatus.INERROR if connection.needs_rollback else status)
                state.stage = Stage.COMMIT
            return result
        except BaseException:
            state.is_lost = driver.closed
            raise

    return connected.retry(value, attempt)


class ShardRouter:
    """The database router: tables of the map are on the shard of the key in force, other tables in `default`."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str | None:
        """The alias for queries of a model."""
        return self._alias(model, hints)

    def db_for_write(self, model: type[Model], **hints: Any) -> str | None:
        """The alias for changes of a model."""
        return self._alias(model, hints)

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool | None:
        """Rows of the map's tables have relations on their own shard only."""
        if _columns_of(type(one)) and _columns_of(type(other)):
            return one._state.db == other._state.db
        return None

    def allow_migrate(self, db: str, app_label: str, model_name: str | None = None, **hints: Any) -> bool | None:
        """Tables of the map and reference tables are on all shards, other tables on none of them."""
        if "SHADOW" in settings.SHARDWRIGHT:
            return None
        aliases = _aliases().values()
        model = hints.get("model")
        table = getattr(getattr(model, "_meta", None), "db_table", None)
        if table is None:
            return None
        map_settings = current_map().routes.settings
        if table in map_settings.tables:
            return db in aliases
        if table in map_settings.reference:
            return True
        return False if db in aliases else None

    def _alias(self, model: type[Model], hints: Mapping[str, Any]) -> str | None:
        columns = _columns_of(model)
        if not columns:
            return None
        value = _KEY.get()
        if value is None:
            value = _key_of(hints.get("instance"), columns)
        if value is not None:
            return alias_for(value)
        if "SHADOW" in settings.SHARDWRIGHT:
            # The statement itself is reported when it is executed.
            return str(settings.SHARDWRIGHT["SHADOW"])
        raise NoKey(f"a query on table {model._meta.db_table} of map {current_map().routes.name} has no key")


def _record_statements(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Adds a wrapper to a new connection of the database that shadow mode uses."""
    if connection.alias == settings.SHARDWRIGHT["SHADOW"] and _record not in connection.execute_wrappers:
        connection.execute_wrappers.append(_record)


def _record(execute: Callable[..., T], sql: str, parameters: Any, many: bool, context: Mapping[str, Any]) -> T:
    shadow = current_map().shadow
    if shadow is not None:
        driver = context["connection"].connection
        begins = driver.info.transaction_status == TransactionStatus.IDLE
        for row in parameters if many else [parameters]:
            shadow.record_formatted(sql, row, driver, begins=begins)
            begins = False
    return execute(sql, parameters, many, context)


def _aliases() -> Mapping[str, str]:
    aliases: Mapping[str, str] = settings.SHARDWRIGHT["ALIASES"]
    return aliases


def _alias_of(shard: str) -> str:
    if "SHADOW" in settings.SHARDWRIGHT:
        return str(settings.SHARDWRIGHT["SHADOW"])
    alias = _aliases().get(shard)
    if alias is None:
        raise NoAccess(f"SHARDWRIGHT['ALIASES'] has no database alias for shard {shard}")
    return alias


def _columns_of(model: type[Model]) -> tuple[str, ...]:
    """The key columns of a model's table; empty if it is not a table of the map."""
    columns = current_map().routes.settings.tables.get(model._meta.db_table, ())
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _key_of(instance: Any, columns: tuple[str, ...]) -> Any:
    """The key of a row, from the fields of its key columns."""
    if instance is None or _columns_of(type(instance)) == ():
        return None
    own = _columns_of(type(instance))
    fields = {field.column: field.attname for field in instance._meta.concrete_fields}
    values = tuple(getattr(instance, fields[column], None) for column in own if column in fields)
    if len(values) != len(columns) or None in values:
        return None
    return values if len(values) > 1 else values[0]


@contextmanager
def _nothing() -> Iterator[None]:
    yield
