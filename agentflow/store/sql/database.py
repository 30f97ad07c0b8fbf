"""A database by URL: how to connect, how transactions open, what its errors mean (R1, R2).

    sqlite:///path/to/file.db   one file, shared by processes; `?synchronous=normal` trades the last commits at a
                                power cut for one flush fewer
    sqlite://                   in memory, one connection for everything in this store
    postgresql+psycopg://...    psycopg 3

Connections are the drivers' own: the hot path runs SQL text on their cursors, and SQLAlchemy is loaded only where
tables are made or upgraded (`schema.py`).
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote

from agentflow.errors import InvalidInput, StoreError
from agentflow.secrets.known import learn_url
from agentflow.secrets.redacting import redact
from agentflow.store.sql.sqlite_file import (
    connect_reading,
    is_new,
    know_all_letters,
    make_private,
    refuse_foreign,
    state,
    unwritable,
)

_log = logging.getLogger("agentflow.store")

BUSY_TIMEOUT_MS = 15_000
_FORGET_TIMEOUT_MS = 200

RawConnection = Any  # sqlite3.Connection or psycopg.Connection, in autocommit mode: we write BEGIN and COMMIT ourselves


class Database(ABC):
    """What differs between databases.

    `lock` is held round every transaction; it only locks where all work shares one connection, in memory.
    """

    name: ClassVar[str]
    begin_write: ClassVar[str]
    begin_read: ClassVar[str]

    def __init__(self, url: str, *, read_only: bool) -> None:
        self.url = url
        self.read_only = read_only  # nothing is made or changed, neither tables nor files (Z1)
        self.lock: AbstractContextManager[Any] = nullcontext()
        self.preparing = threading.Lock()
        self.is_prepared = False

    @abstractmethod
    def connect(self) -> RawConnection:
        """A new connection (the same one in memory), ready for work; `StoreError` when there is none."""

    @abstractmethod
    def in_transaction(self, connection: RawConnection) -> bool:
        """Whether its transaction is still open: some errors end it on their own."""

    @abstractmethod
    def may_succeed_again(self, error: BaseException, connection: RawConnection) -> bool:
        """Whether a transaction that failed with this error before its COMMIT is worth another try."""

    @abstractmethod
    def is_dead(self, connection: RawConnection) -> bool:
        """Whether the connection is of no use any more."""

    def place(self) -> object:
        """What tells the database from another one at the same URL; null where none can take its place."""
        return None

    @abstractmethod
    def wrap(self, error: Exception) -> Exception:
        """The error as ours: a driver's error as `StoreError`, one that is `unfit` as that, any other as it is."""

    @abstractmethod
    def forget(self, connection: RawConnection) -> None:
        """Let what was just deleted be gone from the files too (Z8)."""

    @abstractmethod
    def release(self, connection: RawConnection) -> None:
        """Give back what `connect` gave."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what the database holds beside its connections."""


class SqliteDatabase(Database):
    name = "sqlite"
    begin_write = "BEGIN IMMEDIATE"  # a reader that turns writer would meet "database is locked" at once (B52)
    begin_read = "BEGIN"

    def __init__(self, url: str, path: str, synchronous: str, *, read_only: bool = False) -> None:
        super().__init__(url, read_only=read_only)
        self.path = path
        self._synchronous = synchronous
        self._memory: sqlite3.Connection | None = None
        if not path:
            self.lock = threading.RLock()

    def connect(self) -> RawConnection:
        if self.path and not (self.read_only and is_new(self.path)):
            return self._open(self.path)
        if self.read_only:
            return self._opened(":memory:")  # nothing is stored there yet, and nothing is found here
        with self.lock:
            if self._memory is None:
                self._memory = self._open(":memory:")
            return self._memory

    def _open(self, path: str) -> sqlite3.Connection:
        """A connection; an input or output error is met again before it counts, for a file that was taken away and
        is made anew by two connections at once reads so (fault 15).
        """
        for _ in range(_OPENINGS - 1):
            try:
                return self._opened(path)
            except StoreError as error:
                if "disk I/O error" not in error.message:
                    raise
                time.sleep(0.02)
        return self._opened(path)

    def _opened(self, path: str) -> sqlite3.Connection:
        connection = None
        try:
            if path != ":memory:" and not is_new(path):
                refuse_foreign(path)
            if path != ":memory:" and self.read_only:
                return connect_reading(path) or self._opened(":memory:")
            if path != ":memory:":
                make_private(path)
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            for setting in (f"busy_timeout={BUSY_TIMEOUT_MS}", "trusted_schema=OFF", "secure_delete=ON"):
                connection.execute(f"PRAGMA {setting}")
            _use_wal(connection)
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            connection.execute("PRAGMA foreign_keys=ON")
            know_all_letters(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if connection is not None:
                connection.close()
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _MAY_NOT_BE_WRITTEN:
                raise unwritable(path, str(error)) from error
            raise StoreError(
                f"The SQLite database {path!r} cannot be opened: {error}. Check that its folder exists, that it may be "
                "written, and that the file is a database."
            ) from error
        return connection

    def place(self) -> object:
        """The file itself: a file that was deleted or replaced is written to by whoever has it open, for nobody."""
        if self.read_only and self.path:
            return state(self.path)
        try:
            status = os.stat(self.path) if self.path else None
        except OSError:
            return None
        return None if status is None else (status.st_dev, status.st_ino)

    def forget(self, connection: RawConnection) -> None:
        """Empty the log, which still has it; deleted pages are overwritten (`secure_delete`).

        A read in another process may be in the way for longer than we wait: then the next deletion, or the close of
        the last connection, empties it.
        """
        connection.execute(f"PRAGMA busy_timeout={_FORGET_TIMEOUT_MS}")
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")

    def release(self, connection: RawConnection) -> None:
        if self.path or self.read_only:
            connection.close()

    def close(self) -> None:
        with self.lock:
            if self._memory is not None:
                self._memory.close()

    def in_transaction(self, connection: RawConnection) -> bool:
        return bool(connection.in_transaction)

    def may_succeed_again(self, error: BaseException, connection: RawConnection) -> bool:
        return False

    def is_dead(self, connection: RawConnection) -> bool:
        return False

    def wrap(self, error: Exception) -> Exception:
        if not isinstance(error, sqlite3.Error | UnicodeDecodeError):
            return unfit(error)
        where = f"The SQLite database {self.path!r}" if self.path else "The SQLite database in memory"
        return _refusal(where, error, violated=isinstance(error, sqlite3.IntegrityError))


_OPENINGS = 5
_MAY_NOT_BE_WRITTEN = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL; the switch does not honour the busy timeout, so we wait here (B52)."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


_NO_TEXT = "Could not decode to UTF-8"  # SQLite keeps whatever bytes it was given as a text
_RETRIED = frozenset({"40001", "40P01"})  # serialization failure, deadlock


class PostgresDatabase(Database):
    name = "postgresql"
    begin_write = "BEGIN ISOLATION LEVEL READ COMMITTED"
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def connect(self) -> RawConnection:
        try:
            import psycopg
        except ImportError as error:
            raise StoreError(
                "A postgresql:// database needs the psycopg driver. Install it with the extra 'postgres': "
                "pip install 'agentflow-sessions[postgres]'."
            ) from error
        try:
            return psycopg.connect(self.url.replace("+psycopg", "", 1), autocommit=True)
        except psycopg.Error as error:
            raise StoreError(
                f"The Postgres database cannot be reached: {str(error).strip()}. Check the database URL and the server."
            ) from error

    def in_transaction(self, connection: RawConnection) -> bool:
        from psycopg.pq import TransactionStatus

        return connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR)

    def may_succeed_again(self, error: BaseException, connection: RawConnection) -> bool:
        return getattr(error, "sqlstate", None) in _RETRIED or self.is_dead(connection)

    def is_dead(self, connection: RawConnection) -> bool:
        return bool(connection.closed)

    def forget(self, connection: RawConnection) -> None:
        return None

    def release(self, connection: RawConnection) -> None:
        connection.close()

    def close(self) -> None:
        return None

    def wrap(self, error: Exception) -> Exception:
        from psycopg import Error, IntegrityError

        if not isinstance(error, Error):
            return unfit(error)
        return _refusal("The Postgres database", error, violated=isinstance(error, IntegrityError))


def _refusal(where: str, error: Exception, *, violated: bool) -> StoreError:
    """A driver's error as ours. What names tables, keys and statements is for the log: a violated constraint, and
    whatever stands below the first line.
    """
    if violated:
        _log.error("%s holds a row that another one contradicts: %s", where, error)
        wrapped = StoreError(
            f"{where} refused the work: it contradicts what is recorded already. Nothing of it was written; the log "
            "has the details.",
            detail={"damaged": True},
        )
    else:
        said = (str(error).strip() or type(error).__name__).splitlines()
        if len(said) > 1:
            _log.warning("%s refused the work: %s", where, error)
        no_text = {"damaged": True} if _NO_TEXT in said[0] else None
        wrapped = StoreError(f"{where} refused the work: {said[0]}.", detail=no_text)
    wrapped.__cause__ = error
    return wrapped


def unfit(error: Exception) -> Exception:
    """A driver's complaint about a value that no database can hold, as `InvalidInput`; any other error as it is."""
    if not isinstance(error, UnicodeEncodeError | OverflowError):
        return error
    refused = InvalidInput(f"The request has an id that is no text, or a number that is too large: {error}.")
    refused.__cause__ = error
    return refused


def open_database(url: str, *, read_only: bool = False) -> Database:
    """The database of this URL; nothing is connected yet. `InvalidInput` for a URL that names none of ours."""
    learn_url(url)
    scheme, separator, rest = url.partition("://")
    if separator and scheme in ("postgresql", "postgresql+psycopg"):
        return PostgresDatabase(url, read_only=read_only)
    if not separator or scheme != "sqlite":
        raise _misnamed(
            f"the database URL {redact(url)!r} is not understood. Use sqlite:///path/to/file.db, "
            "sqlite:// (in memory) or postgresql+psycopg://user@host/name."
        )
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    synchronous = options.pop("synchronous", "full").lower()
    if options or synchronous not in ("full", "normal"):
        raise _misnamed(f"the database URL {redact(url)!r} has an unknown option; there is synchronous=full or normal.")
    if path and not path.startswith("/"):
        raise _misnamed(f"the database URL {redact(url)!r} names a host; a file has three slashes: sqlite:///{path}.")
    name = unquote(path.removeprefix("/"))
    path = "" if name in ("", ":memory:") else os.path.abspath(name)
    if path and os.path.isdir(path):
        raise _misnamed(f"{path!r} is a folder; name a file in it, such as {os.path.join(path, 'agentflow.db')}.")
    if path and not read_only and not os.path.isdir(os.path.dirname(path)):
        raise _misnamed(f"there is no folder {os.path.dirname(path)!r} for the database {os.path.basename(path)!r}.")
    return SqliteDatabase(url, path, synchronous, read_only=read_only)


def _misnamed(why: str) -> InvalidInput:
    return InvalidInput(f"db: {why}", detail={"field": "db"})
