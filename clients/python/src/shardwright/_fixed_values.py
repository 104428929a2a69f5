"""What the analysis of a statement returns, and the values in the trees of PostgreSQL's parser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Node: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """The value of a parameter; with `is_array`, each element of it."""

    number: int
    is_array: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """A value in the statement."""

    value: int | str


Value: TypeAlias = "Parameter | Constant"


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table of the map in a statement."""

    table: str
    keys: tuple[tuple[Value, ...], ...] | None
    """For each key column its possible values; `None`: the statement does not fix the key."""


class Tables:
    """The tables of a map with their key columns; for maps of schemas and groups, the key of each table."""

    def __init__(self, key_columns: Mapping[str, tuple[str, ...]], fixed_keys: Mapping[str, str], is_schemas: bool):
        self._columns, self._fixed, self._is_schemas = key_columns, fixed_keys, is_schemas

    def columns_of(self, schema: str | None, table: str) -> tuple[str, ...] | None:
        """The key columns of a table; `None` if it is not a table of the map."""
        return self._columns.get(f"{schema}.{table}") or self._columns.get(table)

    def key_of(self, schema: str | None, table: str) -> str | None:
        """The key of a whole table."""
        if self._is_schemas:
            return schema
        return self._fixed.get(f"{schema}.{table}") or self._fixed.get(table)


def uncast(node: Any) -> Node:
    while isinstance(node, Mapping) and "TypeCast" in node:
        node = node["TypeCast"].get("arg", {})
    return node if isinstance(node, Mapping) else {}


def values_in(kind: str, node: Node) -> tuple[Value, ...] | None:
    """The values of the other side of an equality; `None` if it has something else than parameters and constants."""
    if "A_ArrayExpr" in node or "List" in node:
        elements = node["List"]["items"] if "List" in node else node["A_ArrayExpr"].get("elements", ())
        values = [values_in("AEXPR_OP", uncast(element)) for element in elements]
        return tuple(value for element in values for value in element or ()) if all(values) else None
    if "ParamRef" in node:
        return (Parameter(node["ParamRef"].get("number", 0), kind == "AEXPR_OP_ANY"),)
    constant = node.get("A_Const", {})
    if "ival" in constant:
        return (Constant(constant["ival"].get("ival", 0)),)
    # An integer beyond 32 bits is a numeric for the parser.
    text = constant.get("sval", {}).get("sval") or constant.get("fval", {}).get("fval")
    return None if text is None else (Constant(text),)
