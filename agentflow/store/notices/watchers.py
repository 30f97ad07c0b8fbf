"""The readers of this process that wait for what others do, woken from any thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from agentflow.clock import Instant
from agentflow.events import Event
from agentflow.live.event_feed import Subscription


class _Watcher(NamedTuple):
    session_id: str
    reader: Subscription
    loop: asyncio.AbstractEventLoop


class Watchers:
    """By session key. Readers come and go in their loop; they are woken by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[int, list[_Watcher]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def add(self, key: int, session_id: str, reader: Subscription) -> None:
        with self._lock:
            watchers = self._by_key.setdefault(key, [])
            watchers.append(_Watcher(session_id, reader, asyncio.get_running_loop()))

    def discard(self, key: int, reader: Subscription) -> None:
        with self._lock:
            left = [watcher for watcher in self._by_key.get(key, ()) if watcher.reader is not reader]
            if left:
                self._by_key[key] = left
            else:
                self._by_key.pop(key, None)

    def keys(self) -> list[int]:
        with self._lock:
            return list(self._by_key)

    def wake(self, keys: Iterable[int]) -> None:
        """Let the readers of these sessions look at the log."""
        for key in keys:
            for watcher in self._of(key):
                _soon(watcher.loop, watcher.reader.wake)

    def tell(self, key: int, turn_id: str | None, at: Instant, type: str, data: dict[str, object]) -> None:
        """Give the readers of a session an event that is not logged."""
        for watcher in self._of(key):
            event = Event(watcher.session_id, None, turn_id, at, type, data)
            _soon(watcher.loop, watcher.reader.put, event)

    def _of(self, key: int) -> list[_Watcher]:
        with self._lock:
            return list(self._by_key.get(key, ()))


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *args: object) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody reads any more
        loop.call_soon_threadsafe(call, *args)
