"""Shadow mode, for an application that still has one database.

The map decides which shard each transaction would use; every statement is sent to the one database. What would not work
on shards is reported, each kind of statement once, without its values: a statement on a table of the map that does not
fix the table's key, a transaction with keys of several shards, and a key that no shard owns.
"""

from __future__ import annotations

import logging
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _placeholders
from ._cache import MapCache
from ._keys import KeyValue
from .errors import NotAKey, ParserMissing, Unmapped
from .fan_out import Part
from .options import ShardAccess
from .routes import Routes

if TYPE_CHECKING:
    from ._fixed_values import Tables, TableUse, Value
    from ._statement import Statement

_LOG = logging.getLogger("shardwright.shadow")
_MAX_STATEMENTS = 4096
Kind: TypeAlias = Literal["no_key", "several_shards", "unmapped_key", "unreadable"]
_EXPLANATIONS: Mapping[Kind, str] = {
    "no_key": "the statement does not fix the key of table {table}",
    "several_shards": "the transaction has keys of the shards {shards}",
    "unmapped_key": "no shard owns the key in table {table}",
    "unreadable": "the parser does not understand the statement",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that would not work on shards."""

    kind: Kind
    statement: str
    """The statement without its constants."""
    table: str | None
    shards: tuple[str, ...]
    place: str
    """The file and line that executed the statement first."""
    count: int = 1

    def __str__(self) -> str:
        explanation = _EXPLANATIONS[self.kind].format(table=self.table, shards=", ".join(self.shards))
        return f"{explanation}: {self.statement} ({self.place})"


@dataclass(frozen=True)
class ShadowAccess:
    """The access of an application that still has one database: `Map.connect(…, ShadowAccess("dbname=shop"))`."""

    database: str
    """The connection string of the database."""
    report: Callable[[Finding], object] | None = None
    """Called for each finding when it occurs first. By default it is logged as a warning."""

    def __post_init__(self) -> None:
        if find_spec("pglast") is None:
            raise ParserMissing("shadow mode needs the package pglast")


@dataclass(slots=True)
class _Transaction:
    """What a transaction has touched so far."""

    shards: set[str] = field(default_factory=set)
    """Those of its keys, by the version `routes`."""
    routes: Routes | None = None
    predicates: list[str] = field(default_factory=list)
    """In a query to all shards: the conditions that make a statement complete."""


@dataclass(slots=True)
class _Analyses:
    """The statements that were analyzed with the tables of one version of the map."""

    version: int
    tables: Tables
    statements: dict[str, Statement | None] = field(default_factory=dict)


_CURRENT: ContextVar[_Transaction | None] = ContextVar("shardwright_shadow_transaction", default=None)


class Shadow:
    """Compares the statements of an application with a map."""

    def __init__(self, cache: MapCache, report: Callable[[Finding], object] | None = None) -> None:
        self._cache, self._report = cache, report or (lambda finding: _LOG.warning("%s", finding))
        self._lock = threading.Lock()
        self._findings: dict[tuple[str, str, str | None], Finding] = {}
        self._transactions: Counter[str] = Counter()
        self._analyses: _Analyses | None = None
        self._of_connections: weakref.WeakKeyDictionary[object, _Transaction] = weakref.WeakKeyDictionary()

    @classmethod
    def of(cls, access: ShardAccess | ShadowAccess, cache: MapCache) -> Shadow | None:
        """The shadow of a map with such an access."""
        return cls(cache, access.report) if isinstance(access, ShadowAccess) else None

    def findings(self) -> list[Finding]:
        """Returns what was found so far, the most frequent first."""
        with self._lock:
            return sorted(self._findings.values(), key=lambda finding: -finding.count)

    def transactions(self) -> Mapping[str, int]:
        """Returns how many transactions of `with_shard` each shard would have got."""
        with self._lock:
            return dict(self._transactions)

    @contextmanager
    def transaction(self, key: KeyValue) -> Iterator[None]:
        """Everything that this context executes is one transaction on the shard of `key`."""
        routes = self._cache.routes
        shard = routes.shard_for(key)
        with self._lock:
            self._transactions[shard] += 1
        with _in_force(_Transaction({shard}, routes)):
            yield

    @contextmanager
    def query(self, part: Part) -> Iterator[None]:
        """Everything that this context executes is a query to all shards."""
        with _in_force(_Transaction(predicates=part.predicates)):
            yield

    def record(self, sql: str, parameters: Sequence[Any], connection: object = None, *, begins: bool = True) -> None:
        """Compares a statement with the map. Its parameters are `$1`, `$2`, ….

        Outside of `with_shard`, statements on one `connection` belong to one transaction until one `begins` another.
        """
        transaction = _CURRENT.get() or self._transaction_on(connection, begins)
        routes = self._cache.routes
        statement = self._analyzed(sql, routes)
        if statement is None:
            self._add("unreadable", sql.split(None, 1)[0], sql.split(None, 1)[0], None, ())
            return
        if any(predicate in sql for predicate in transaction.predicates):
            return
        if transaction.routes is not routes:
            # By another version, the same key can be on another shard.
            transaction.routes, transaction.shards = routes, set()
        for use in statement.uses:
            self._check_use(statement, use, parameters, transaction, routes)

    def record_formatted(
        self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None, connection: object, *, begins: bool
    ) -> None:
        """Compares a statement with placeholders of Python's drivers, `%s` or `%(name)s`, with the map."""
        self.record(*_placeholders.numbered(sql, parameters), connection, begins=begins)

    def _check_use(
        self,
        statement: Statement,
        use: TableUse,
        parameters: Sequence[Any],
        transaction: _Transaction,
        routes: Routes,
    ) -> None:
        if use.keys is None:
            self._add("no_key", statement.normalized, statement.fingerprint, use.table, ())
            return
        for key in _keys_of(use.keys, parameters):
            try:
                transaction.shards.add(routes.shard_for(key if len(key) > 1 else key[0]))
            except (Unmapped, NotAKey):
                self._add("unmapped_key", statement.normalized, statement.fingerprint, use.table, ())
        if len(transaction.shards) > 1:
            shards = tuple(sorted(transaction.shards))
            self._add("several_shards", statement.normalized, statement.fingerprint, None, shards)

    def _analyzed(self, sql: str, routes: Routes) -> Statement | None:
        import pglast

        from ._statement import analyze

        analyses = self._analyses_of(routes)
        if sql in analyses.statements:
            return analyses.statements[sql]
        if len(analyses.statements) >= _MAX_STATEMENTS:
            self._analyses = analyses = _Analyses(analyses.version, analyses.tables)
        try:
            analyses.statements[sql] = analyze(sql, analyses.tables)
        except pglast.Error:
            analyses.statements[sql] = None
        return analyses.statements[sql]

    def _analyses_of(self, routes: Routes) -> _Analyses:
        """What was analyzed by this version. Nothing of another one, also if two threads use two versions."""
        analyses = self._analyses
        if analyses is None or analyses.version != routes.version:
            self._analyses = analyses = _Analyses(routes.version, _tables_of(routes))
        return analyses

    def _transaction_on(self, connection: object, begins: bool) -> _Transaction:
        if connection is None:
            return _Transaction()
        with self._lock:
            if begins or connection not in self._of_connections:
                self._of_connections[connection] = _Transaction()
            return self._of_connections[connection]

    def _add(self, kind: Kind, statement: str, fingerprint: str, table: str | None, shards: tuple[str, ...]) -> None:
        with self._lock:
            known = self._findings.get((kind, fingerprint, table))
            if known is None:
                finding = Finding(kind, statement, table, shards, _place())
            else:
                finding = replace(known, count=known.count + 1)
            self._findings[(kind, fingerprint, table)] = finding
        if known is None:
            try:
                self._report(finding)
            except Exception:
                # It must not fail the statement of the application.
                _LOG.exception("a finding was not reported")


@contextmanager
def _in_force(transaction: _Transaction) -> Iterator[None]:
    token = _CURRENT.set(transaction)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def _tables_of(routes: Routes) -> Tables:
    from ._fixed_values import Tables

    settings = routes.settings
    columns = {table: (of,) if isinstance(of, str) else tuple(of) for table, of in settings.tables.items()}
    groups = {table: group for group, tables in settings.groups.items() for table in tables}
    return Tables(columns, groups, settings.keyed_by == "schema")


def _keys_of(columns: Sequence[Sequence[Value]], parameters: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The keys of a statement. Of a composite key with lists, values at the same position belong together."""
    from ._fixed_values import Constant

    lists: list[list[Any]] = []
    for values in columns:
        found: list[Any] = []
        for value in values:
            if isinstance(value, Constant):
                found.append(value.value)
            elif value.number <= len(parameters):
                passed = parameters[value.number - 1]
                found.extend(passed if value.is_array and isinstance(passed, list | tuple) else [passed])
        lists.append(found)
    longest = max(len(found) for found in lists)
    padded = [found * longest if len(found) == 1 else found for found in lists]
    return zip(*padded, strict=False)


def _place() -> str:
    """The file and line of the application: the first one outside of this library and of other packages."""
    frame = sys._getframe(2)
    own = Path(__file__).parent
    while frame.f_back is not None:
        path = Path(frame.f_code.co_filename)
        if own not in path.parents and not {"site-packages", "dist-packages"} & set(path.parts):
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
