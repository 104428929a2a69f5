"""The parts of a query to all shards, and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from .key_set import KeySet, predicate
from .routes import Routes

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """A shard, and the keys that it owns in the version of the map that the query uses."""

    shard: str
    keys: KeySet
    predicates: list[str] = field(default_factory=list, repr=False, compare=False)
    """The conditions that `predicate` has returned."""

    def predicate(self, columns: Sequence[str]) -> str:
        """Returns an SQL condition for the rows whose key the shard owns.

        `columns` has the SQL names of the key's columns (`["tenant_id"]`, `["o.tenant_id"]`). While keys move, two
        shards have their rows; with this condition each row is read on one shard only. On a list map the condition
        contains every key of the shard. Before a driver formats the statement with `%s`, double each `%` in it.
        """
        condition = predicate(self.keys, columns)
        self.predicates.append(condition)
        return condition


@dataclass(frozen=True, slots=True)
class FanOut(Generic[T]):
    """The answers of the shards."""

    version: int
    """The version of the map that the query used."""
    newer: int | None
    """The version in the cache when the last shard answered, if it is another one. Then keys have changed their owner
    meanwhile, and the old owner may already have removed their rows."""
    shards: Mapping[str, T | Exception]
    """The answer or the error of each shard that owns keys, ordered by name."""

    def all(self) -> list[T]:
        """Returns the answers of all shards, ordered by the names of the shards. Raises the first error."""
        answers: list[T] = []
        for answer in self.shards.values():
            if isinstance(answer, Exception):
                raise answer
            answers.append(answer)
        return answers


def parts_of(routes: Routes) -> list[Part]:
    """The parts of a query under one version of the map."""
    return [Part(shard, routes.owned_by(shard)) for shard in routes.shards]
