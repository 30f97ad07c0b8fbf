"""A line to the database: one connection with its cursor, made when it is first needed and again after it broke."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from agentflow.store.sql.database import Database, RawConnection
from agentflow.store.sql.schema import prepare
from agentflow.store.sql.transaction import Tx

_log = logging.getLogger("agentflow.store")


class Connection:
    """Used by one thread. Its transactions are opened and closed by text, so nothing happens behind our back."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._connection: RawConnection = None
        self._cursor: Any = None
        self._place: object = None
        self._tx: Tx | None = None

    def begin(self, text: str) -> Tx:
        """A transaction; `StoreError` when the database is away or of another version (R1)."""
        if self._connection is not None and not self.is_current():
            self.drop()  # its file was deleted or replaced: what is written there would be lost without a word
            self.database.is_prepared = False
        if self._connection is None:
            connection = self.database.connect()
            try:
                prepare(self.database, connection)
            except BaseException:
                self.database.release(connection)
                raise
            self._connection, self._cursor, self._place = connection, connection.cursor(), self.database.place()
        self._cursor.execute(text)
        self._tx = Tx(self._cursor, self.database.name)
        return self._tx

    def run(self, text: str) -> None:
        self._cursor.execute(text)

    def is_current(self) -> bool:
        """Whether what is open is still what lies there."""
        return self.database.place() == self._place

    @property
    def told(self) -> dict[int, int]:
        """The sessions whose logs the last transaction let grow, by key, up to which number."""
        return {} if self._tx is None else self._tx.told

    def forget_erased(self) -> None:
        """After a commit: let the texts it deleted be gone from the files too (Z8)."""
        if self._tx is None or not self._tx.erased:
            return
        try:
            self.database.forget(self._connection)
        except Exception as error:
            _log.warning("deleted texts are still in the database's log until it is next emptied: %s", error)

    def is_open(self) -> bool:
        """Whether the transaction is still there."""
        return self.database.in_transaction(self._connection)

    def may_try_again(self, error: Exception) -> bool:
        return self._connection is not None and self.database.may_succeed_again(error, self._connection)

    def rollback(self) -> None:
        """End the transaction whatever its state; a connection that cannot even do that is given up."""
        if self._connection is None:
            return
        try:
            if self.is_open():
                self._cursor.execute("ROLLBACK")
        except Exception:
            self.drop()
        else:
            if self.database.is_dead(self._connection):
                self.drop()

    def drop(self) -> None:
        """Give the connection up; what is not committed is lost."""
        if self._connection is None:
            return
        with self.database.lock, contextlib.suppress(Exception):
            if self.is_open():
                self._cursor.execute("ROLLBACK")
        with contextlib.suppress(Exception):
            self.database.release(self._connection)
        self._connection = self._cursor = None
