"""The SQL text of every row type, built once from the two tables of `rows/written.py`; no SQLAlchemy in the hot path.

All text is written with `?` and translated for a driver that wants another mark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentflow.store.rows import written


def insert_text(row: type[Any], table: str) -> str:
    """`INSERT` of `session_key` and the row's fields, in that order."""
    columns = ("session_key", *row._fields)
    marks = ", ".join("?" * len(columns))
    kept = " ON CONFLICT DO NOTHING" if row in written.KEPT_WHEN_PRESENT else ""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}){kept}"


def update_text(row: type[Any], table: str, where: tuple[str, ...]) -> str:
    """`UPDATE` of the row's fields, `session_key` last; the fields of `where` are its condition."""
    assigned = ", ".join(f"{name} = ?" for name in row._fields[: len(row._fields) - len(where)])
    conditions = "".join(f"{name.removeprefix('from_')} = ? AND " for name in where)
    owner = "key" if table == "session" else "session_key"
    return f"UPDATE {table} SET {assigned} WHERE {conditions}{owner} = ?"


INSERT_TEXTS: dict[type[Any], str] = {row: insert_text(row, table) for row, table in written.INSERTS.items()}
UPDATE_TEXTS: dict[type[Any], str] = {row: update_text(row, *target) for row, target in written.UPDATES.items()}


class _Translated(dict[str, str]):
    """`?` text → `%s` text, kept: the same few texts come again and again."""

    def __missing__(self, text: str) -> str:
        self[text] = translated = text.replace("%", "%%").replace("?", "%s")
        return translated


_TRANSLATED = _Translated()


def translation(dialect: str) -> Callable[[str], str]:
    """How a text is written for this dialect's driver. No text of ours has a `?` inside a literal."""
    return _TRANSLATED.__getitem__ if dialect == "postgresql" else str
