"""Live events of the sessions that run in this process (T42).

The log is the truth; a feed only spares its readers the polling and carries what is not logged, the deltas.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentflow import clock
from agentflow.events import LLM_DELTA, Event, LogEntry

_MOST_UNREAD = 10_000


class Subscription:
    """One reader's unread events, in order.

    A reader that leaves 10,000 of them unread `is_behind`: it gets nothing more, and has to read the log and subscribe
    again, so that one which never reads keeps no memory (B64).
    """

    def __init__(self) -> None:
        self.is_behind = False
        self._is_woken = False
        self._unread: deque[Event] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, event: Event) -> None:
        if len(self._unread) == _MOST_UNREAD:
            self.is_behind = True
            self._unread.clear()
        if self.is_behind:
            return
        self._unread.append(event)
        self._go_on()

    def wake(self) -> None:
        """Something was written that may not come here: whoever takes is to look at the log."""
        self._is_woken = True
        self._go_on()

    def _go_on(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def take(self, timeout: float) -> list[Event]:  # noqa: ASYNC109  # an empty answer, not an error
        """All unread events, waiting up to `timeout` seconds of the loop's clock for the first; may be empty, also
        for one who was woken.
        """
        if not self._unread and not self.is_behind and not self._is_woken:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            alarm = loop.call_later(timeout, self._expire, self._waiter)
            try:
                await self._waiter
            finally:
                alarm.cancel()
                self._waiter = None
        taken = list(self._unread)
        self._unread.clear()
        self._is_woken = False
        return taken

    @staticmethod
    def _expire(waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            waiter.set_result(None)


class _Stream:
    """A model call that shows what it says: the pieces so far, by kind."""

    def __init__(self, turn_id: str, told: Mapping[str, Any]) -> None:
        self.turn_id = turn_id
        self.told = told
        self.shown: dict[str, list[str]] = {"text": [], "reasoning": []}


class Feed:
    """The live events of one session."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.subscribers: set[Subscription] = set()
        self.elsewhere: Callable[[Event], None] | None = None  # takes what is not logged, for other processes
        self._open_streams: dict[str, _Stream] = {}
        self._held: dict[str, Event] = {}

    def subscribe(self) -> Subscription:
        """A reader from now on; what is held, and the text so far of every open stream as one delta, come first."""
        subscription = Subscription()
        for event in self.so_far():
            subscription.put(event)
        self.subscribers.add(subscription)
        return subscription

    def so_far(self) -> list[Event]:
        """What a reader has missed who comes now: what is held, and what was said of every open stream."""
        told = [*self._held.values()]
        for call_id, stream in self._open_streams.items():
            for kind in ("reasoning", "text"):
                if pieces := stream.shown[kind]:
                    told.append(self._delta(stream, call_id, 0, kind, "".join(pieces)))
        return told

    def publish(self, turn_id: str | None, last_seq: int, log: Sequence[LogEntry]) -> None:
        """Tell what a commit has logged; its last entry has the number `last_seq`."""
        if not self.subscribers:
            return
        first = last_seq - len(log) + 1
        for number, entry in enumerate(log, first):
            self.tell(Event(self.session_id, number, turn_id, entry.at, entry.type, entry.full))

    def tell(self, event: Event) -> None:
        for subscription in self.subscribers:
            subscription.put(event)
        if self.elsewhere is not None and event.seq is None:
            self.elsewhere(event)

    def hold(self, call_id: str, event: Event) -> None:
        """Tell what a call waits for, also to who comes while it does: the log will not say it."""
        self._held[call_id] = event
        self.tell(event)

    def let_go(self, call_id: str) -> None:
        self._held.pop(call_id, None)

    def open_stream(self, turn_id: str, call_id: str, told: Mapping[str, Any]) -> None:
        """From now on the call may show something; each of its deltas says `told` too."""
        self._open_streams[call_id] = _Stream(turn_id, told)

    def close_stream(self, call_id: str) -> None:
        self._open_streams.pop(call_id, None)

    def delta(self, call_id: str, offset: int, kind: str, text: str) -> None:
        """One `llm.delta {call_id, offset, text|reasoning}`; `offset` counts characters of its kind before it.

        That of a sub-agent has `execution` too, and `heard: true` when the turn was handed to it: then it is the
        turn's own text, else the sub-agent talks to its parent (T34).
        """
        stream = self._open_streams[call_id]
        stream.shown[kind].append(text)
        if self.subscribers or self.elsewhere is not None:
            self.tell(self._delta(stream, call_id, offset, kind, text))

    def _delta(self, stream: _Stream, call_id: str, offset: int, kind: str, text: str) -> Event:
        data: dict[str, Any] = {"call_id": call_id, "offset": offset, kind: text, **stream.told}
        return Event(self.session_id, None, stream.turn_id, clock.instant(), LLM_DELTA, data)


class Feeds:
    """The feeds of this process, each kept only while its session runs or somebody reads it."""

    def __init__(self) -> None:
        self._feeds: dict[str, Feed] = {}
        self._running: set[str] = set()

    def start(self, session_id: str) -> Feed:
        """The feed of a session whose turn starts here."""
        self._running.add(session_id)
        return self._feeds.setdefault(session_id, Feed(session_id))

    def stop(self, session_id: str) -> None:
        """No turn of it runs here any more: who reads on looks whether one runs elsewhere."""
        self._running.discard(session_id)
        self._feeds[session_id].elsewhere = None
        for subscription in self._feeds[session_id].subscribers:
            subscription.wake()
        self._drop_unused(session_id)

    def subscribe(self, session_id: str) -> Subscription:
        return self._feeds.setdefault(session_id, Feed(session_id)).subscribe()

    def unsubscribe(self, session_id: str, subscription: Subscription) -> None:
        self._feeds[session_id].subscribers.discard(subscription)
        self._drop_unused(session_id)

    def publish(self, session_id: str, last_seq: int, log: Sequence[LogEntry]) -> None:
        """Tell what was logged of a session outside its turns, where somebody listens."""
        feed = self._feeds.get(session_id)
        if feed is not None:
            feed.publish(None, last_seq, log)

    def is_running(self, session_id: str) -> bool:
        return session_id in self._running

    def _drop_unused(self, session_id: str) -> None:
        feed = self._feeds.get(session_id)
        if feed is not None and session_id not in self._running and not feed.subscribers:
            del self._feeds[session_id]
