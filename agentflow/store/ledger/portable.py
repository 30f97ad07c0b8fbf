"""A whole session out of the database, and into it as one that was not there (R12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from agentflow.clock import Instant
from agentflow.store.portable import JSON_KINDS, SESSION, TABLES, Column, Portable, Row, Table
from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json, stored_json

NOBODY = "|||0||"
"""The owner of a turn that ran where the session comes from: it is dead here, and the next request repairs it (C26)."""


def take_out(tx: Tx, session_id: str, put: Callable[[Portable], None]) -> bool:
    """Hand the session to `put`, which reads the rows while it goes; false when there is no such session."""
    found = tx.one(f"SELECT key, {_names(SESSION)} FROM session WHERE id = ?", session_id)
    if found is None:
        return False
    put(Portable(_read(SESSION, found[1:]), _rows(tx, found[0])))
    return True


def put_in(tx: Tx, brought: Callable[[], Portable], at: Instant) -> bool:
    """Insert the session with all its rows; false, and nothing written, when its id is taken.

    `brought` gives them from the start each time that it is asked.
    """
    session, all_rows = brought()
    columns = f"{_names(SESSION)}, updated_at, epoch, owner, lease_until"
    values = [*_written(SESSION, session), at, 0, *_owner(session)]
    marks = ", ".join("?" * len(values))
    inserted = tx.one(
        f"INSERT INTO session ({columns}) VALUES ({marks}) ON CONFLICT (id) DO NOTHING RETURNING key", *values
    )
    if inserted is None:
        return False
    for name, rows in groupby(all_rows, lambda each: each[0]):
        table = TABLES[name]
        sql = f"INSERT INTO {name} (session_key, {_names(table.columns)}) VALUES (?{', ?' * len(table.columns)})"
        tx.many(sql, _parameters(inserted[0], table.columns, rows))
    return True


def _parameters(key: int, columns: Sequence[Column], rows: Iterable[tuple[str, Row]]) -> Iterator[tuple[Any, ...]]:
    return ((key, *_written(columns, row)) for _, row in rows)


def _owner(session: Row) -> tuple[str | None, int | None]:
    return (None, None) if session["turn"] is None else (NOBODY, 0)


def _rows(tx: Tx, key: int) -> Iterator[tuple[str, Row]]:
    for name, table in TABLES.items():
        sql = f"SELECT {_names(table.columns)} FROM {name} WHERE session_key = ? ORDER BY {_order(tx, table)}"
        for row in tx.each(sql, key):
            yield name, _read(table.columns, row)


def _order(tx: Tx, table: Table) -> str:
    """By code points in every database, whatever its language."""
    texts = {column.name for column in table.columns if column.kind == "text"}
    collate = ' COLLATE "C"' if tx.is_postgres else ""
    return ", ".join(name + (collate if name in texts else "") for name in table.key)


def _names(columns: Sequence[Column]) -> str:
    return ", ".join(column.name for column in columns)


def _read(columns: Sequence[Column], row: Sequence[Any]) -> Row:
    return {column.name: _value(column.kind, value) for column, value in zip(columns, row, strict=True)}


def _value(kind: str, stored: Any) -> Any:
    if stored is None:
        return None
    if kind in JSON_KINDS:
        return stored_json(stored)
    return bytes(stored) if kind == "bytes" else bool(stored) if kind == "flag" else stored


def _written(columns: Sequence[Column], row: Row) -> list[Any]:
    return [_stored(column, row[column.name]) for column in columns]


def _stored(column: Column, value: Any) -> Any:
    if column.kind in JSON_KINDS and not (value is None and column.optional):
        return compact_json(value)
    return int(value) if isinstance(value, bool) else value
