"""Postgres tells by LISTEN and NOTIFY, on one connection a process, which one thread has for both (S3).

A notice is sent after the commit that it tells of, outside of its transaction: a transaction that notifies takes a lock
of the whole database when it commits (F23).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentflow.events import Event
from agentflow.live.event_feed import Subscription
from agentflow.store.notices.outbox import Notice, Outbox, read
from agentflow.store.notices.watchers import Watchers
from agentflow.store.notices_protocol import SoFar
from agentflow.store.sql.database import PostgresDatabase

_log = logging.getLogger("agentflow.store")

CHANNEL = "agentflow"
_SEND = f"SELECT pg_notify('{CHANNEL}', told) FROM unnest(%s::text[]) AS told"  # one commit for all of them
_ROUND_SECS = 0.01
_PROOF_ROUNDS = 200
_KEEP_ALIVE_SECS = 30.0
_AGAIN_SECS = (0.1, 0.5, 2.0, 5.0)
_CLOSE_SECS = 2.0


class _Unheard(Exception):
    """What was said on the channel did not come back."""


class PostgresNotices:
    """Its thread and connection begin with the first thing to say or to hear."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.are_heard = False
        self._database = database
        self._watchers = Watchers()
        self._lock = threading.Lock()  # of the outbox, and of how the thread begins and ends
        self._outbox = Outbox()
        self._running: dict[int, tuple[SoFar, asyncio.AbstractEventLoop]] = {}
        self._thread: threading.Thread | None = None
        self._asleep = self._wakes = -1
        self._closed = False
        self._proof = ""
        self._came: list[tuple[int, str]] = []  # sender and payload, not read yet

    @property
    def carry_replies(self) -> bool:
        return self.are_heard

    def committed(self, sessions: Mapping[int, int]) -> None:
        with self._sending() as outbox:
            outbox.committed(sessions)

    def begin(self, key: int, so_far: SoFar) -> Callable[[Event], None]:
        self._running[key] = so_far, asyncio.get_running_loop()

        def tell(event: Event) -> None:
            with self._sending() as outbox:
                outbox.tell(key, event)

        return tell

    def end(self, key: int) -> None:
        self._running.pop(key, None)

    def watch(self, key: int, session_id: str, reader: Subscription) -> None:
        self._watchers.add(key, session_id, reader)
        with self._sending() as outbox:
            outbox.add(["ask", key])

    def unwatch(self, key: int, reader: Subscription) -> None:
        self._watchers.discard(key, reader)

    def stop(self) -> None:
        with self._lock:
            self._closed = True
        self._wake()

    def close(self) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECS)

    @contextlib.contextmanager
    def _sending(self) -> Iterator[Outbox]:
        """The outbox, whose thread is woken for what waits in it then."""
        with self._lock:
            yield self._outbox
            if self._thread is None and not self._closed:
                self._asleep, self._wakes = os.pipe()
                os.set_blocking(self._wakes, False)
                self._thread = threading.Thread(target=self._live, name="agentflow-notices", daemon=True)
                self._thread.start()
        self._wake()

    def _wake(self) -> None:
        with self._lock, contextlib.suppress(BlockingIOError):  # it is being woken already
            if self._wakes >= 0:
                os.write(self._wakes, b".")

    # -- on the thread ---------------------------------------------------------------------------------------------

    def _live(self) -> None:
        """Again after each loss, a little later each time; readers look by themselves meanwhile."""
        lost = 0
        while not self._closed:
            try:
                with contextlib.closing(self._database.connect()) as connection:
                    self._listen(connection)
                    lost = 0
                    self._serve(connection)
            except _Unheard:
                _log.warning(
                    "LISTEN and NOTIFY do not come through to this database: what other processes do is seen within a "
                    "second. A pooler in transaction mode and a replica do this; name the server itself in the URL."
                )
                lost = len(_AGAIN_SECS)
            except Exception as error:
                if not self._closed:
                    _log.warning("notices of other processes are away: %s", self._database.wrap(error))
            finally:
                self.are_heard = False
            self._pause(_AGAIN_SECS[min(lost, len(_AGAIN_SECS) - 1)])
            lost += 1
        with self._lock:
            os.close(self._asleep)
            os.close(self._wakes)
            self._wakes = -1

    def _listen(self, connection: Any) -> None:
        """Listen first, prove that it is heard, and then let everybody read from where they are."""
        connection.add_notify_handler(lambda told: self._came.append((told.pid, told.payload)))
        connection.execute(f"LISTEN {CHANNEL}")
        proof = secrets.token_hex(8)
        self._send(connection, [f'[["proof","{proof}"]]'])
        for _ in range(_PROOF_ROUNDS):
            if self._proof == proof:
                break
            self._hear(connection, _ROUND_SECS)
        else:
            raise _Unheard
        self.are_heard = True
        keys = self._watchers.keys()
        self._watchers.wake(keys)
        with self._lock:
            for key in keys:
                self._outbox.add(["ask", key])

    def _serve(self, connection: Any) -> None:
        """Send and hear until it is over. While something waits, or a reply rests, a round takes 10 ms."""
        while True:
            with self._lock:
                closing = self._closed
                payloads = self._outbox.take(all_of_it=closing)
                is_busy = bool(self._outbox) or self._outbox.is_resting
            if payloads:
                self._send(connection, payloads)
            if closing:
                return
            if payloads or is_busy:
                self._pause(_ROUND_SECS)
                self._hear(connection, 0)
            elif not self._hear(connection, _KEEP_ALIVE_SECS):
                connection.execute("SELECT 1")  # a connection that is gone says so now

    def _send(self, connection: Any, payloads: list[str]) -> None:
        connection.execute(_SEND, [payloads])

    def _pause(self, secs: float) -> None:
        if not self._closed:
            time.sleep(secs)

    def _hear(self, connection: Any, secs: float) -> bool:
        """Take what has come, waiting for it so long; false when nothing came, and nobody has anything to send."""
        ready, _, _ = select.select([connection.fileno(), self._asleep], [], [], secs)
        if self._asleep in ready:
            os.read(self._asleep, 4096)
        # Below psycopg's own iterator, which waits by a clock that a test may have stopped.
        connection.pgconn.consume_input()
        while (told := connection.pgconn.notifies()) is not None:
            self._came.append((told.be_pid, told.extra.decode()))
        came, self._came = self._came, []
        for sender, payload in came:
            for notice in read(payload):
                self._heard(notice, is_own=sender == connection.info.backend_pid)
        return bool(ready)

    def _heard(self, notice: Notice, *, is_own: bool) -> None:
        match notice:
            case ["proof", str(proof)] if is_own:
                self._proof = proof
            case _ if is_own:
                return
            case ["seq", int(key), int()]:
                self._watchers.wake([key])
            case ["event", int(key), str() | None as turn_id, int(at), str(type_), dict(data)]:
                self._watchers.tell(key, turn_id, at, type_, data)
            case ["ask", int(key)] if (running := self._running.get(key)) is not None:
                so_far, loop = running
                with contextlib.suppress(RuntimeError):  # the loop is closed: nothing runs any more
                    loop.call_soon_threadsafe(self._say_again, key, so_far)

    def _say_again(self, key: int, so_far: SoFar) -> None:
        with self._sending() as outbox:
            for event in so_far():
                outbox.tell(key, event)
