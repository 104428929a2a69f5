"""Finds which keys a statement fixes for the tables of a map.

PostgreSQL's own parser (libpg_query) reads the statement. A table's key is fixed if each of its key columns is compared
by equality with a parameter or a constant: directly, through other columns that are equal, or as a value of INSERT.
Functions and views are not analyzed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from pglast import parser

from ._fixed_values import Constant, Tables, TableUse, Value, uncast, values_in

Node: TypeAlias = Mapping[str, Any]
# The sides of UNION, INTERSECT and EXCEPT are queries, without a node that says so.
_SIDES = ("larg", "rarg")


@dataclass(frozen=True, slots=True)
class Statement:
    """What the parser found in a statement."""

    normalized: str
    """The statement without its constants."""
    fingerprint: str
    uses: tuple[TableUse, ...]


def analyze(sql: str, tables: Tables) -> Statement:
    """Analyzes a statement with parameters `$1`, `$2`, …. Raises `pglast.Error` if the parser refuses it."""
    tree = json.loads(parser.parse_sql_json(sql))
    uses: list[TableUse] = []
    for entry in tree.get("stmts", ()):
        query = _Query(tables)
        query.visit(entry["stmt"])
        uses.extend(query.uses())
    return Statement(parser.normalize(sql), parser.fingerprint(sql), tuple(uses))


@dataclass(slots=True)
class _Scope:
    """The tables that one level of a query names, by their aliases."""

    tables: dict[str, _NamedTable] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _NamedTable:
    name: str
    columns: tuple[str, ...]
    """The key columns; empty for a table that is not the map's."""
    fixed_key: str | None = None


Place: TypeAlias = "tuple[_NamedTable, str]"
"""A column of a table."""


class _Query:
    """Walks through a statement and its subqueries, and collects tables and equalities."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._scopes: list[_Scope] = []
        self._named: list[_NamedTable] = []
        self._common: set[str] = set()
        self._equal: dict[Place, list[Place]] = {}
        self._values: dict[Place, tuple[Value, ...]] = {}
        self._changed: list[TableUse] = []

    def uses(self) -> Iterator[TableUse]:
        """The tables of the map, each with the values that the statement fixes."""
        for table in self._named:
            if table.fixed_key is not None:
                yield TableUse(table.name, ((Constant(table.fixed_key),),))
            elif table.columns:
                values = [self._values_of((table, column)) for column in table.columns]
                yield TableUse(table.name, tuple(values) if all(values) else None)  # type: ignore[arg-type]
        yield from self._changed

    def visit(self, node: Any) -> None:
        """Visits a node of the tree and what is below it."""
        if isinstance(node, list):
            for entry in node:
                self.visit(entry)
        if not isinstance(node, Mapping):
            return
        for name, child in node.items():
            if name in ("SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt"):
                self._visit_query(name, child)
            elif name in ("CopyStmt", "TruncateStmt"):
                self._scopes.append(_Scope())
                self._add_tables([child.get("relation"), *child.get("relations", ())])
                self._scopes.pop()
            else:
                self.visit(child)

    def _visit_query(self, name: str, query: Node) -> None:
        for entry in query.get("withClause", {}).get("ctes", ()):
            self._common.add(entry["CommonTableExpr"]["ctename"])
        self._scopes.append(_Scope())
        sources = [query.get("relation"), *query.get("fromClause", ()), *query.get("usingClause", ())]
        self._add_tables([*sources, query.get("sourceRelation")])
        for source in sources:
            self._add_join(source)
        for condition in (query.get("whereClause"), query.get("joinCondition")):
            self._add_condition(condition)
        for side in (query[part] for part in _SIDES if part in query):
            self._visit_query(name, side)
        self.visit([child for part, child in query.items() if part not in _SIDES])
        if name == "InsertStmt":
            self._add_insert(query)
        elif name == "UpdateStmt":
            self._add_changed_keys(query)
        self._scopes.pop()

    def _add_tables(self, sources: Sequence[Any]) -> None:
        for source in sources:
            if not isinstance(source, Mapping):
                continue
            if "JoinExpr" in source:
                self._add_tables([source["JoinExpr"].get("larg"), source["JoinExpr"].get("rarg")])
                continue
            table = source.get("RangeVar", source)
            if "relname" in table:
                self._add_table(table)

    def _add_table(self, node: Node) -> None:
        name, schema = node["relname"], node.get("schemaname")
        is_own = schema is not None or name not in self._common
        columns = self._tables.columns_of(schema, name) if is_own else None
        fixed = self._tables.key_of(schema, name) if is_own else None
        table = _NamedTable(name, columns or (), fixed)
        self._named.append(table)
        self._scopes[-1].tables[node.get("alias", {}).get("aliasname", name)] = table

    def _add_join(self, source: Any) -> None:
        join = source.get("JoinExpr") if isinstance(source, Mapping) else None
        if join is None:
            return
        self._add_join(join.get("larg"))
        self._add_join(join.get("rarg"))
        self._add_condition(join.get("quals"))
        for column in (entry["String"]["sval"] for entry in join.get("usingClause", ())):
            places = [(table, column) for table in self._scopes[-1].tables.values()]
            for one, other in pairwise(places):
                self._unite(one, other)

    def _add_condition(self, condition: Any) -> None:
        if not isinstance(condition, Mapping):
            return
        bool_expression, expression = condition.get("BoolExpr"), condition.get("A_Expr")
        if bool_expression is not None and bool_expression["boolop"] == "AND_EXPR":
            for part in bool_expression["args"]:
                self._add_condition(part)
        elif bool_expression is not None and bool_expression["boolop"] == "OR_EXPR":
            self._add_alternatives(bool_expression["args"])
        elif expression is not None:
            for place, values in self._bindings(expression, unites=True):
                self._values.setdefault(place, values)

    def _add_alternatives(self, parts: Sequence[Node]) -> None:
        """`a = 1 or a = 2` fixes `a`, as `a in (1, 2)` does. Columns that an alternative compares are not equal."""
        bindings = [dict(self._bindings(part.get("A_Expr", {}), unites=False)) for part in parts]
        for place in set.intersection(*(set(binding) for binding in bindings)):
            self._values.setdefault(place, tuple(value for binding in bindings for value in binding[place]))

    def _bindings(self, expression: Node, *, unites: bool) -> Iterator[tuple[Place, tuple[Value, ...]]]:
        """The columns that an expression fixes. With `unites`, unites columns that it compares with each other."""
        operator = "".join(part.get("String", {}).get("sval", "") for part in expression.get("name", ()))
        if operator != "=":
            return
        left, right = uncast(expression.get("lexpr", {})), uncast(expression.get("rexpr", {}))
        if "RowExpr" in left and "RowExpr" in right:
            pairs = zip(left["RowExpr"].get("args", ()), right["RowExpr"].get("args", ()), strict=False)
            for column, value in pairs:
                yield from self._bindings({**expression, "lexpr": column, "rexpr": value}, unites=unites)
            return
        one, other = self._place(left), self._place(right)
        if one and other:
            if unites:
                self._unite(one, other)
        elif one or other:
            values = values_in(expression["kind"], right if one else left)
            if values and (place := one or other):
                yield place, values

    def _place(self, node: Node) -> Place | None:
        """The column of a table that a node names."""
        fields = node.get("ColumnRef", {}).get("fields", ())
        names = [entry.get("String", {}).get("sval") for entry in fields]
        if not names or None in names:
            return None
        for scope in reversed(self._scopes):
            if len(names) > 1 and names[-2] in scope.tables:
                return scope.tables[names[-2]], names[-1]
            if len(names) == 1:
                owners = [table for table in scope.tables.values() if names[0] in table.columns]
                owners = owners or (list(scope.tables.values()) if len(scope.tables) == 1 else [])
                if owners:
                    return owners[0], names[0]
        return None

    def _unite(self, one: Place, other: Place) -> None:
        self._equal.setdefault(one, []).append(other)
        self._equal.setdefault(other, []).append(one)

    def _values_of(self, place: Place) -> tuple[Value, ...] | None:
        """The values of a column, or of one that is equal to it."""
        waiting, passed = [place], {place}
        while waiting:
            here = waiting.pop()
            if here in self._values:
                return self._values[here]
            following = [there for there in self._equal.get(here, ()) if there not in passed]
            passed.update(following)
            waiting.extend(following)
        return None

    def _add_insert(self, query: Node) -> None:
        table = next(iter(self._scopes[-1].tables.values()))
        select = query.get("selectStmt", {}).get("SelectStmt", {})
        names = [entry["ResTarget"]["name"] for entry in query.get("cols", ())]
        for column in table.columns:
            if column not in names:
                continue
            at = names.index(column)
            rows = [entry["List"]["items"] for entry in select.get("valuesLists", ())]
            values = [values_in("AEXPR_OP", uncast(row[at])) for row in rows if at < len(row)]
            if values and all(values):
                self._values[(table, column)] = tuple(value for row in values for value in row or ())
            targets = select.get("targetList", ())
            if at < len(targets):
                self._add_selected(table, column, targets[at]["ResTarget"].get("val", {}), select)

    def _add_selected(self, table: _NamedTable, column: str, node: Node, select: Node) -> None:
        """INSERT … SELECT: the selected value is the key."""
        node = uncast(node)
        values = values_in("AEXPR_OP", node)
        if values:
            self._values[(table, column)] = values
            return
        self._scopes.append(_Scope())
        sources = len(self._named)
        self._add_tables(select.get("fromClause", ()))
        copies, self._named = self._named[sources:], self._named[:sources]
        place = self._place(node)
        self._scopes.pop()
        if place is not None and place[0] in copies:
            # The same table of the visited subquery, by its position.
            originals = [named for named in self._named if named.name == place[0].name and named is not table]
            place = (originals[-1], place[1]) if originals else None
        if place is not None:
            self._unite((table, column), place)

    def _add_changed_keys(self, query: Node) -> None:
        """UPDATE of a key column: the row gets another key."""
        table = next(iter(self._scopes[-1].tables.values()))
        changes = {entry["ResTarget"].get("name"): entry["ResTarget"].get("val", {}) for entry in query["targetList"]}
        if not table.columns or not set(changes) & set(table.columns):
            return
        values = [
            values_in("AEXPR_OP", uncast(changes[column])) if column in changes else self._values_of((table, column))
            for column in table.columns
        ]
        self._changed.append(TableUse(table.name, tuple(values) if all(values) else None))  # type: ignore[arg-type]
