"""A SQLite file before anything is done with it: whose it is, known from its header and its tables' names (Z1, Z8).

SQLite itself opens the file to look at it: a descriptor of our own, once closed, would take away every lock that this
process's connections hold on the file.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from urllib.parse import quote

from agentflow.errors import InvalidInput, StoreError
from agentflow.store.portable import TABLES

APPLICATION_ID = 0x61676674  # "agft", in the header of each file we make
MARK = f"PRAGMA application_id = {APPLICATION_ID}"

_STAMP = "alembic_version"
_MADE = "SELECT type, lower(name), sql LIKE 'CREATE VIRTUAL%' FROM sqlite_master"
_NAMES = frozenset({_STAMP, "session", "sweep", *TABLES})
_OUR_TABLES = frozenset({_STAMP, "session", "turn", "step", "execution", "branch", "message", "event"})


def is_new(path: str) -> bool:
    """Whether nothing is there yet."""
    try:
        return os.stat(path).st_size == 0
    except FileNotFoundError:
        return True
    except OSError as error:
        raise _unusable(path, str(error.strerror)) from error


def make_private(path: str) -> None:
    """Make the file, readable by its owner alone; the files that SQLite puts beside it take over its mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return  # made by another connection meanwhile
    except OSError as error:
        raise unwritable(path, str(error.strerror)) from error


def refuse_foreign(path: str) -> None:
    """Raises `StoreError` for what is no database of ours; the file is only looked at.

    A file of version 0.1.0 has no mark in its header: then its tables tell. What would run when one of ours is read or
    written, a trigger or a view in its place, is nothing that we have made.
    """
    try:
        with closing(_reading(path)) as connection:
            marked = connection.execute("PRAGMA application_id").fetchone()[0]
            found = connection.execute(_MADE).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _unusable(path, str(error)) from error
    for kind, name, is_virtual in found:
        if kind == "trigger" or (name in _NAMES and (kind == "view" or is_virtual)):
            raise _unusable(path, f"it has a {'table' if is_virtual else kind} {name!r} that is not agentflow's")
    tables = {str(name) for kind, name, _ in found if kind == "table"}
    if marked == APPLICATION_ID:
        return
    if marked or not (tables <= {_STAMP} or tables >= _OUR_TABLES):
        raise _unusable(path, "it is another program's database")


def connect_reading(path: str) -> sqlite3.Connection | None:
    """A connection that can only read and leaves no file behind; null when the file holds no table yet.

    Whoever keeps the connection looks at `state` before each use. Raises `sqlite3.Error`.
    """
    connection = _reading(path)
    try:
        connection.execute("PRAGMA query_only=ON")
        know_all_letters(connection)
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def know_all_letters(connection: sqlite3.Connection) -> None:
    """Let `lower` know more letters than those of ASCII, as it does in every other database."""
    connection.create_function("lower", 1, _lower, deterministic=True)


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _reading(path: str) -> sqlite3.Connection:
    """Without a log beside the file nobody is at work, and it is read as it lies."""
    lies_still = "&immutable=1" if is_new(f"{path}-wal") else ""
    return sqlite3.connect(
        f"file:{quote(path)}?mode=ro{lies_still}", uri=True, isolation_level=None, check_same_thread=False
    )


def state(path: str) -> object:
    """What differs once somebody has worked on the file; null when it is gone."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, is_new(f"{path}-wal")


def unwritable(path: str, why: str) -> InvalidInput:
    return InvalidInput(
        f"db: the SQLite database {path!r} cannot be made or written: {why}. Name a place that may be written, "
        "with --db or $AGENTFLOW_DB.",
        detail={"field": "db"},
    )


def _unusable(path: str, why: str) -> StoreError:
    return StoreError(
        f"The SQLite database {path!r} cannot be opened: {why}. Check that its folder exists, that it may be written, "
        "and that the file is a database of agentflow's; nothing was changed."
    )
