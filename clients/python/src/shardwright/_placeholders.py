"""Converts the placeholders of Python's drivers to PostgreSQL's: `%s` and `%(name)s` to `$1`, `$2`, …."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLACEHOLDER = re.compile(r"%(?:%|[sbt]|\(([^)]+)\)[sbt])")


def numbered(sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None) -> tuple[str, Sequence[Any]]:
    """Returns the statement with numbered parameters, and their values in this order."""
    if not parameters:
        return sql, ()
    names: list[str] = []
    positions = 0

    def number(match: re.Match[str]) -> str:
        nonlocal positions
        name = match[1]
        if match[0] == "%%":
            return "%"
        if name is None:
            positions += 1
            return f"${positions}"
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    text = _PLACEHOLDER.sub(number, sql)
    if isinstance(parameters, Mapping):
        return text, [parameters.get(name) for name in names]
    return text, list(parameters)
