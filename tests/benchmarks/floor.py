"""The floor: the same turn by hand on plain sqlite3, four commits, the history kept in memory, nothing else."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.benchmarks.texts import ANSWER, ARGUMENTS, QUESTION, RESULT

_TABLE = "CREATE TABLE IF NOT EXISTS message (session TEXT, number INTEGER, role TEXT, content TEXT)"
_INSERT = "INSERT INTO message VALUES (?, ?, ?, ?)"
MESSAGES = (("user", QUESTION), ("assistant", ARGUMENTS), ("tool", RESULT), ("assistant", ANSWER))


class Floor:
    """One file with the engine's durability: WAL, and a flush for every commit."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(_TABLE)
        self._histories: dict[str, list[dict[str, str]]] = {}

    def turn(self, session: str) -> None:
        history = self._histories.setdefault(session, [])
        for role, content in MESSAGES:
            history.append({"role": role, "content": content})
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(_INSERT, (session, len(history), role, content))
            self._connection.execute("COMMIT")
            list(history)  # the request of the next model call

    def load(self, session: str) -> None:
        """Read a history again, as a process does that did not write it."""
        rows = self._connection.execute(
            "SELECT role, content FROM message WHERE session = ? ORDER BY number", (session,)
        )
        self._histories[session] = [{"role": role, "content": content} for role, content in rows]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()


def disk_bytes(path: Path) -> int:
    """The size of a database file with everything in it that its WAL held."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.stat().st_size
    finally:
        connection.close()
