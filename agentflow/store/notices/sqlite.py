"""SQLite has no notices: one thread asks the file, cheaply, whether somebody else has written to it.

Only while readers watch, and only about the sessions that they watch.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Sequence
from typing import Any

from agentflow.errors import AgentflowError
from agentflow.live.event_feed import Subscription
from agentflow.store.notices.watchers import Watchers
from agentflow.store.notices_protocol import NoNotices
from agentflow.store.sql.database import SqliteDatabase

_log = logging.getLogger("agentflow.store")

POLL_SECS = 0.05
_KEYS_AT_ONCE = 500
_SEEN = "SELECT key, seq, turn FROM session WHERE key IN"

_Standing = tuple[int, int | None]
"""A session's last number, and its running turn."""


class SqliteNotices(NoNotices):
    """Wakes a reader when its session has new events, and, while a turn runs, after each commit to the file: one of
    them may be a checkpoint of a reply.
    """

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._watchers = Watchers()
        self._changed = threading.Condition()
        self._closed = False
        self._asks = False
        self._thread: threading.Thread | None = None

    @property
    def are_heard(self) -> bool:
        return self._asks

    def watch(self, key: int, session_id: str, reader: Subscription) -> None:
        self._watchers.add(key, session_id, reader)
        with self._changed:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._live, name="agentflow-notices", daemon=True)
                self._thread.start()
            self._changed.notify()

    def unwatch(self, key: int, reader: Subscription) -> None:
        self._watchers.discard(key, reader)

    def stop(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def close(self) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def _live(self) -> None:
        while self._is_wanted():
            try:
                self._ask()
            except (sqlite3.Error, AgentflowError) as error:  # readers look by themselves meanwhile
                _log.warning("the database %r does not say what others write: %s", self._database.path, error)
                self._wait(1.0)
            finally:
                self._asks = False

    def _ask(self) -> None:
        """Until nobody watches, or the file is another one."""
        with contextlib.closing(self._database.connect()) as connection:
            place, version, known = self._database.place(), None, dict[int, _Standing]()
            self._asks = True
            while self._watchers and not self._closed and self._database.place() == place:
                before, version = version, connection.execute("PRAGMA data_version").fetchone()[0]
                keys = self._watchers.keys()
                if version != before or keys != list(known):
                    found = _standings(connection, keys)
                    self._watchers.wake(
                        key for key in keys if key in known and (known[key] != found[key] or found[key][1] is not None)
                    )
                    known = found
                self._wait(POLL_SECS)

    def _is_wanted(self) -> bool:
        """Wait for somebody who watches; false when it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._watchers))
            return not self._closed

    def _wait(self, secs: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed, secs)


def _standings(connection: Any, keys: Sequence[int]) -> dict[int, _Standing]:
    """How the sessions stand; one that is gone stands at -1."""
    found: dict[int, _Standing] = dict.fromkeys(keys, (-1, None))
    for first in range(0, len(keys), _KEYS_AT_ONCE):
        some = keys[first : first + _KEYS_AT_ONCE]
        marks = ", ".join("?" * len(some))
        found.update((key, (seq, turn)) for key, seq, turn in connection.execute(f"{_SEEN} ({marks})", some))
    return found
