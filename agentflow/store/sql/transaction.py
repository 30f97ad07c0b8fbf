"""One open transaction as jobs see it: a few verbs over a driver's cursor, the same for every database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from agentflow.errors import StaleOwner
from agentflow.events import LogEntry
from agentflow.store.rows.written import UPDATES, Row
from agentflow.store.sql.statements import INSERT_TEXTS, UPDATE_TEXTS, translation
from agentflow.text import compact_json

_LOG = "INSERT INTO event (session_key, seq, turn, at, type, ref, data) VALUES (?, ?, ?, ?, ?, ?, ?)"

_FETCHED = 50  # rows at once of a long list, any of which may be a text of megabytes


class Missed(StaleOwner):
    """A conditional update met another state than it starts from (C35); `row` is the update that missed."""

    def __init__(self, row: Row) -> None:
        table, where = UPDATES[type(row)]
        keys = dict(zip(where, row[len(row) - len(where) :], strict=True))
        super().__init__(
            f"The {table} row with {keys} is not in that state any more: another request was first.",
            detail={"table": table, **keys},
        )
        self.row = row


class Tx:
    """SQL with `?` marks on an open transaction. It is only used by the job it was given to, on the job's thread."""

    def __init__(self, cursor: Any, dialect: str) -> None:
        self.is_postgres = dialect == "postgresql"
        self.told: dict[int, int] = {}  # the sessions whose logs grew, by key, up to which number
        self.erased = False  # whether texts were deleted, which must be gone from the files as well (Z8)
        self._cursor = cursor
        self._text: Callable[[str], str] = translation(dialect)

    def one(self, sql: str, *params: Any) -> Any:
        """The first row as a tuple, or null."""
        self._cursor.execute(self._text(sql), params)
        return self._cursor.fetchone()

    def all(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Every row."""
        self._cursor.execute(self._text(sql), params)
        rows: list[tuple[Any, ...]] = self._cursor.fetchall()
        return rows

    def each(self, sql: str, *params: Any) -> Iterator[tuple[Any, ...]]:
        """Every row in turn, few of them in memory. Nothing else may be asked before the last one."""
        more = f"FETCH {_FETCHED} FROM rows_in_turn"
        self._cursor.execute(self._text(f"DECLARE rows_in_turn CURSOR FOR {sql}" if self.is_postgres else sql), params)
        if self.is_postgres:
            self._cursor.execute(more)
        while rows := self._cursor.fetchmany(_FETCHED):
            yield from rows
            if self.is_postgres:
                self._cursor.execute(more)
        if self.is_postgres:
            self._cursor.execute("CLOSE rows_in_turn")

    @contextmanager
    def any_text(self) -> Iterator[None]:
        """Read also what is no UTF-8, as halves of pairs; SQLite alone can hold such texts."""
        if self.is_postgres:
            yield
            return
        connection = self._cursor.connection
        connection.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")
        try:
            yield
        finally:
            connection.text_factory = str

    def execute(self, sql: str, *params: Any) -> int:
        """The number of rows written."""
        self._cursor.execute(self._text(sql), params)
        return int(self._cursor.rowcount)

    def many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        """Run the statement once for each of the parameter rows."""
        self._cursor.executemany(self._text(sql), parameters)

    def write(self, session_key: int, rows: Iterable[Row]) -> None:
        """Write the rows in order. An update that misses raises `Missed` (C35)."""
        for kind, group in groupby(rows, type):
            text = INSERT_TEXTS.get(kind)
            if text is not None:
                self.many(text, [(session_key, *row) for row in group])
                continue
            text = UPDATE_TEXTS[kind]
            for row in group:
                if self.execute(text, *row, session_key) != 1:
                    raise Missed(row)

    def log(self, session_key: int, seq: int, turn: int | None, entries: Sequence[LogEntry]) -> None:
        """Append the entries to the session's log; the last one gets the number `seq` (T40)."""
        first = seq - len(entries) + 1
        self.told[session_key] = seq
        self.many(
            _LOG,
            [
                (
                    session_key,
                    number,
                    turn,
                    entry.at,
                    entry.type,
                    entry.ref,
                    compact_json(entry.stored) if entry.stored else None,
                )
                for number, entry in enumerate(entries, first)
            ],
        )
