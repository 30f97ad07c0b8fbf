"""Reading questions to one SQLite file, and nothing else."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from agentflow import FlowContext

MAX_ROWS = 200
MAX_BYTES = 1_000_000  # of a result's rows together; also of one value SQLite may make on the way

_SETTING = "query_db"  # of the prompt's variables or the request's inputs; AGENTFLOW_QUERY_DB in the environment
_OPERATIONS_BETWEEN_CHECKS = 10_000
# What SQLite may be asked for, by form: inside one function or pattern no check is ever made (Z3).
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
}
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})


def query(sql: str, context: FlowContext) -> dict[str, Any]:
    """Run one read-only SQL query (SQLite) on the agent's database; `sqlite_master` lists its tables.

    Args:
        sql: One SELECT statement. At most 200 rows and 1 MB come back, so aggregate or add a LIMIT.
    """
    with _opened(_database(context), context) as connection:
        cursor = connection.execute(sql)
        columns = [column[0] for column in cursor.description or ()]
        rows, more = _bounded(cursor)
    return {"columns": columns, "rows": rows, "more": more}


def _bounded(cursor: sqlite3.Cursor) -> tuple[list[tuple[Any, ...]], bool]:
    """The first rows, and whether there are more than may be told."""
    rows: list[tuple[Any, ...]] = []
    left = MAX_BYTES
    for row in cursor:
        left -= sum(_size(value) for value in row)
        if left < 0 or len(rows) == MAX_ROWS:
            return rows, True
        rows.append(row)
    return rows, False


def _size(value: Any) -> int:
    return len(value.encode()) if isinstance(value, str) else len(value) if isinstance(value, bytes) else 8


def _database(context: FlowContext) -> Path:
    """The configured file. The variables win: an agent's author sets them, inputs come with a request."""
    configured = context.vars.get(_SETTING) or context.inputs.get(_SETTING) or os.environ.get("AGENTFLOW_QUERY_DB")
    if not configured:
        raise ValueError(f"no database is configured: set the variable or input '{_SETTING}', or AGENTFLOW_QUERY_DB")
    path = Path(str(configured))
    if not path.is_file():
        raise ValueError(f"the configured database does not exist: {path.name}")
    return path


@contextmanager
def _opened(path: Path, context: FlowContext) -> Iterator[sqlite3.Connection]:
    """A connection that can read this one file: no writes, no ATTACH, no PRAGMA; a stopped call interrupts it."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        for limit, most in _LIMITS.items():
            connection.setlimit(limit, most)
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(context.cancelled, _OPERATIONS_BETWEEN_CHECKS)
        yield connection


def _authorize(action: int, *names: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
