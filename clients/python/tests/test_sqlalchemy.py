"""A session of SQLAlchemy commits the transaction that the library has begun, and no other."""

from __future__ import annotations

import sqlite3
import unittest
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import sqlalchemy
from psycopg.pq import TransactionStatus
from sqlalchemy.orm import Session

from shardwright._retry import Attempt, Stage
from shardwright.errors import TransactionEnded
from shardwright.sqlalchemy import ShardEngines


class SharedConnection(sqlite3.Connection):
    """A connection with an open transaction, whoever has begun it."""

    closed = False
    info = SimpleNamespace(transaction_status=TransactionStatus.INTRANS)


class Sessions(unittest.TestCase):
    """Sessions on one shard. After `rollback` another thread has the connection."""

    def setUp(self) -> None:
        self.attempt = Attempt("a")
        map: Any = SimpleNamespace(shadow=None, retry=lambda key, attempt: attempt(self.attempt))
        self.engines = ShardEngines(map, lambda shard: "sqlite://", connect_args={"factory": SharedConnection})
        self.addCleanup(self.engines.close)

    def run_in_session(self, work: Callable[[Session], Any]) -> Any:
        return self.engines.with_session(1, work)

    def test_a_transaction_that_the_function_ended_is_not_committed(self) -> None:
        def continue_after_rollback(session: Session) -> None:
            session.rollback()
            session.execute(sqlalchemy.text("select 1"))

        for work in (Session.rollback, Session.commit, Session.close, continue_after_rollback):
            with self.subTest(work.__name__), self.assertRaises(TransactionEnded):
                self.run_in_session(work)
            with self.subTest(work.__name__):
                self.assertIs(self.attempt.stage, Stage.WORK)

    def test_a_function_that_ends_its_transaction_and_fails_is_not_repeated(self) -> None:
        def work(session: Session) -> None:
            session.commit()
            raise ValueError("after the commit")

        with self.assertRaises(TransactionEnded) as raised:
            self.run_in_session(work)
        self.assertIsInstance(raised.exception.__context__, ValueError)

    def test_savepoints_and_errors_of_the_function_are_its_own(self) -> None:
        def work(session: Session) -> int:
            with session.begin_nested() as savepoint:
                savepoint.rollback()
            return 5

        def fail(session: Session) -> None:
            raise ValueError("of the function")

        self.assertEqual(self.run_in_session(work), 5)
        self.assertIs(self.attempt.stage, Stage.COMMIT)
        with self.assertRaises(ValueError):
            self.run_in_session(fail)


if __name__ == "__main__":
    unittest.main()
