"""One SQLite database in memory for all processes, which refuses when it is told to.

Jobs run whole, one after the other, so that one connection serves everybody: what differs from a file is only that
no transaction ever waits for another one, which a slow writer stands for.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any

from agentflow.store.sql.database import SqliteDatabase
from agentflow.store.sql.schema import prepare

Place = str
"""Where a transaction fails: `begin`, `statement`, `commit` (it did not happen) or `answer` (it happened)."""


class Faults:
    """The transactions of one process that will be refused, first to come first."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.met = 0  # transactions that were refused so far
        self._statement = 0

    def at(self, sql: str) -> Place | None:
        """Whether the statement fails now, and how."""
        place = self.places[0]
        if sql.startswith("BEGIN"):
            self._statement = 0
            if place != "begin":
                return None
        elif sql == "COMMIT":
            if place == "statement":
                place = "commit"
        elif sql.startswith(("ROLLBACK", "SAVEPOINT", "RELEASE")) or place != "statement":
            return None
        else:
            self._statement += 1
            if self._statement < 3:
                return None
        self.places.pop(0)
        self.met += 1
        return place


class _Cursor(sqlite3.Cursor):
    faults: Faults

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        if self.faults.places and (place := self.faults.at(sql)) is not None:
            if place == "answer":
                super().execute(sql, parameters)
            raise sqlite3.OperationalError(f"disk I/O error (simulated, at {place})")
        return super().execute(sql, parameters)


class _Connection:
    """The shared connection as one process has it."""

    def __init__(self, shared: sqlite3.Connection, faults: Faults) -> None:
        self._shared, self._faults = shared, faults

    @property
    def in_transaction(self) -> bool:
        return self._shared.in_transaction

    def cursor(self) -> sqlite3.Cursor:
        cursor = self._shared.cursor(_Cursor)
        cursor.faults = self._faults
        return cursor

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        return self._shared.execute(sql, parameters)


class SimulatedDatabase(SqliteDatabase):
    """The database of one process."""

    def __init__(self, shared: sqlite3.Connection) -> None:
        super().__init__("sqlite://", "", "full")
        self.faults = Faults()
        self.is_prepared = True
        self._shared = shared

    def connect(self) -> Any:
        return _Connection(self._shared, self.faults)

    def close(self) -> None:
        """It goes on without this process."""


def new_database() -> sqlite3.Connection:
    """An empty database with all tables."""
    fresh = _connected()
    _template().backup(fresh)
    return fresh


@cache
def _template() -> sqlite3.Connection:
    connection = _connected()
    prepare(SqliteDatabase("sqlite://", "", "full"), connection)
    return connection


def _connected() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys=ON")
    return connection
