"""Reading questions to one SQLite file, and nothing else."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from agentflow import FlowContext

MAX_ROWS = 200
MAX_BYTES = 1_000_000  # of a result's rows together; also of one value SQLite may make on the way
MAX_TEMPORARY = 200_000_000  # bytes that SQLite may write on the way, to sort and to collect

_SETTING = "query_db"  # of the prompt's variables or the request's inputs; AGENTFLOW_QUERY_DB in the environment
_OPERATIONS_BETWEEN_CHECKS = 200
_CHECKS_BETWEEN_LOOKS = 20
# What SQLite may be asked for, by form: inside one function or pattern no check is ever made (Z3).
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
}
_MOST_TRIMMED = 100  # different characters
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})


def query(sql: str, context: FlowContext) -> dict[str, Any]:
    """Run one read-only SQL query (SQLite) on the agent's database; `sqlite_master` lists its tables.

    Args:
        sql: One SELECT statement. At most 200 rows and 1 MB come back, so aggregate or add a LIMIT.
    """
    watch = _Watch(context)
    with _opened(_database(context), watch) as connection:
        try:
            cursor = connection.execute(sql)
            columns = [column[0] for column in cursor.description or ()]
            rows, more = _bounded(cursor)
        except sqlite3.OperationalError:
            if watch.is_full:
                raise ValueError(f"it sorts or collects more than {MAX_TEMPORARY // 10**6} MB on the way") from None
            raise
    return {"columns": columns, "rows": rows, "more": more}


class _Watch:
    """Whether a query has to end: its call was stopped, or what SQLite writes on the way fills the disk (Z3)."""

    def __init__(self, context: FlowContext) -> None:
        self.is_full = False
        self._context, self._checks = context, 0
        places = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp", ".")
        fit = (each for each in places if each and os.path.isdir(each) and os.access(each, os.W_OK))
        self._place = next(fit, ".")  # where SQLite writes, by its own order; a read-only place is never filled
        self._free = shutil.disk_usage(self._place).free

    def __call__(self) -> bool:
        self._checks += 1
        if not self._checks % _CHECKS_BETWEEN_LOOKS:
            self.is_full = self._free - shutil.disk_usage(self._place).free > MAX_TEMPORARY
        return self.is_full or self._context.cancelled()


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
def _opened(path: Path, watch: _Watch) -> Iterator[sqlite3.Connection]:
    """A connection that can read this one file: no writes, no ATTACH, no PRAGMA; a stopped call interrupts it."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        for limit, most in _LIMITS.items():
            connection.setlimit(limit, most)
        for name, count, function in _FUNCTIONS:
            connection.create_function(name, count, function, deterministic=True)
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(watch, _OPERATIONS_BETWEEN_CHECKS)
        yield connection


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _found(value: Any, part: Any) -> int | None:
    if value is None or part is None:
        return None
    if isinstance(value, bytes) and isinstance(part, bytes):
        return value.find(part) + 1
    return _text(value).find(_text(part)) + 1


def _replaced(value: Any, old: Any, new: Any) -> str | None:
    if value is None or old is None or new is None:
        return None
    text, part, other = _text(value), _text(old), _text(new)
    if not part:
        return text
    if len(text) + text.count(part) * (len(other) - len(part)) > MAX_BYTES:
        raise ValueError("what replace makes is too long")
    return text.replace(part, other)


def _trimmed(strip: Callable[[str, str], str]) -> Callable[[Any, Any], str | None]:
    def trim(value: Any, characters: Any) -> str | None:
        if value is None or characters is None:
            return None
        if len(_text(characters)) > _MOST_TRIMMED:
            raise ValueError("that is too much to trim")
        return strip(_text(value), _text(characters))

    return trim


# SQLite's own compare each character of one text with each of another, for hours, and look at nothing meanwhile (Z3).
_FUNCTIONS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("instr", 2, _found),
    ("replace", 3, _replaced),
    ("trim", 2, _trimmed(str.strip)),
    ("ltrim", 2, _trimmed(str.lstrip)),
    ("rtrim", 2, _trimmed(str.rstrip)),
)


def _authorize(action: int, *names: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
