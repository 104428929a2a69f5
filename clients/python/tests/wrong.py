"""Wrong variants of the library: each must fail a check of the conformance suite (controls.yaml)."""

# mypy: disable-error-code="assignment, method-assign, attr-defined"

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from shardwright import (
    _cache,
    _controllers,
    _core,
    _feed,
    _keys,
    _load,
    _pool,
    _retry,
    _sse,
    fan_out,
    map,
    routes,
    shadow,
)


def repeat_unknown_commits() -> None:
    """Repeats a transaction although its commit may have succeeded."""
    original = _core.Retries.pause_after

    def pause_after(self: Any, error: Exception, attempt: Any) -> float:
        attempt.stage = _retry.Stage.WORK
        return original(self, error, attempt)

    _core.Retries.pause_after = pause_after


def send_commits_to_lost_connections() -> None:
    """Commits although the connection is already lost, and takes the outcome for unknown."""
    _pool.check_is_connected = lambda attempt, *, is_lost: None


def report_refused_commits_as_unknown() -> None:
    """Takes each error of a commit for a lost connection."""
    _core.refused_at_commit = lambda error: False


def repeat_nothing() -> None:
    """Raises every error."""
    _core.remedy_of = lambda error, attempt: _retry.Remedy.NONE


def repeat_everything() -> None:
    """Repeats after every error."""
    _core.remedy_of = lambda error, attempt: _retry.Remedy.AGAIN


def accept_older_versions() -> None:
    """Replaces the map by whatever a controller sends."""

    def offer(self: Any, new: Any) -> None:
        self.routes = new
        self._counters.increment("refreshes")
        for _, callback in self._waiting.values():
            callback()

    _cache.MapCache.offer = offer


def lose_parts_of_events() -> None:
    """Forgets the part of an event that has arrived."""
    original = _sse.EventParser.push

    def push(self: Any, chunk: bytes) -> Any:
        self._rest.clear()
        return original(self, chunk)

    _sse.EventParser.push = push


def keep_the_first_controller() -> None:
    """Never uses the next controller."""
    _controllers.Controllers.switch_after_failure = lambda self, failed: None


def read_nothing_after_a_refusal() -> None:
    """Relies on the feed alone."""

    async def read_again(self: Any) -> None:
        await asyncio.sleep(0)

    _feed.Feed.read_again = read_again


def send_no_token() -> None:
    """Sends no token."""
    _controllers.Controllers._headers = lambda self, url: {}


def trust_every_certificate() -> None:
    """Does not verify certificates."""
    ssl.create_default_context = lambda *_, **__: ssl._create_unverified_context()


def never_be_stale() -> None:
    """Ignores the age of the map."""
    _cache.MapCache.silence = 0.0


def order_texts_without_case() -> None:
    """Compares texts as some collations do."""
    original = _keys._converted
    _keys._converted = lambda kind, value: _lower(original(kind, value))


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def round_large_numbers() -> None:
    """Holds integers as floating-point numbers."""
    original = _keys._integer

    def integer(bits: int, value: object) -> int | None:
        exact = original(bits, value)
        return None if exact is None else min(int(float(exact)), (1 << bits) - 1)

    _keys._integer = integer


def ignore_exceptions_of_hash_maps() -> None:
    """Looks only virtual shards up."""
    original = routes.Routes.shard_of

    def shard_of(self: Any, key: Any) -> str:
        self._exceptions = {}
        return original(self, key)

    routes.Routes.shard_of = shard_of


def ignore_failed_statements() -> None:
    """Commits a transaction that has failed."""
    for module in (_pool, map):
        module.check_before_commit = lambda attempt, status: None


def count_copies() -> None:
    """Selects all rows of a shard."""
    fan_out.Part.predicate = lambda self, columns: "true"


def _keep(*fields: str) -> None:
    """Gives each version these fields of the version before it."""
    original = _cache.MapCache.offer

    def offer(self: Any, new: Any) -> None:
        for name in fields:
            setattr(new, name, getattr(self.routes, name))
        original(self, new)

    _cache.MapCache.offer = offer


def keep_the_strategy() -> None:
    """Looks keys up as the strategy of the first version requires."""
    _keep("strategy", "buckets")


def keep_the_number_of_virtual_shards() -> None:
    """Looks the keys of each hash map up in the number of virtual shards of the first one."""
    original = _cache.MapCache.offer
    numbers: list[int] = []

    def offer(self: Any, new: Any) -> None:
        numbers.extend(one.buckets for one in (self.routes, new) if one.buckets)
        new.buckets = numbers[0] if new.buckets else 0
        original(self, new)

    _cache.MapCache.offer = offer


def keep_the_key_types() -> None:
    """Converts keys to the types of the first version."""
    _keep("key_types")


def keep_the_key_of_a_transaction() -> None:
    """Converts the key of a transaction once, before its first attempt."""

    def next(self: Any) -> Any:
        self._routes = self._core.fresh_routes()
        if not hasattr(self, "_key"):
            self._key = self._routes.accept(self._value)
        return self.start(self._routes.shard_of(self._key))

    _core.TransactionRetries.next = next


def keep_the_types_of_reported_keys() -> None:
    """Reports each key as one of the first version."""
    _load.LoadSummary._follow = lambda self, routes: None


def keep_the_key_columns() -> None:
    """Compares statements with the tables of the first version."""
    original = shadow.Shadow._analyses_of
    shadow.Shadow._analyses_of = lambda self, routes: self._analyses or original(self, routes)


def find_keys_everywhere() -> None:
    """Reports no statement."""
    shadow.Shadow._check_use = lambda self, *_: None


WRONG: dict[str, Callable[[], None]] = {
    function.__name__: function
    for function in (
        repeat_unknown_commits,
        send_commits_to_lost_connections,
        report_refused_commits_as_unknown,
        repeat_nothing,
        repeat_everything,
        accept_older_versions,
        lose_parts_of_events,
        keep_the_first_controller,
        read_nothing_after_a_refusal,
        send_no_token,
        trust_every_certificate,
        never_be_stale,
        order_texts_without_case,
        round_large_numbers,
        ignore_exceptions_of_hash_maps,
        ignore_failed_statements,
        count_copies,
        keep_the_strategy,
        keep_the_number_of_virtual_shards,
        keep_the_key_types,
        keep_the_key_of_a_transaction,
        keep_the_types_of_reported_keys,
        keep_the_key_columns,
        find_keys_everywhere,
    )
}
