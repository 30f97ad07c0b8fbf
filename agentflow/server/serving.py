"""What lives while a server serves: the runtime, how many streams each subject reads, and whether it is closing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from agentflow import Runtime
from agentflow.server.access.subject import Subject
from agentflow.server.problems import Refusal
from agentflow.server.streams.frames import CLOSING

MOST_STREAMS = 100

_LAST_EVENTS_SECS = 0.3
_LAST_STREAMS_SECS = 1.0


class Serving:
    """One opened server. `is_draining`: it starts no more turns; `closing`: its streams end."""

    def __init__(self, runtime: Runtime, drain_secs: float) -> None:
        self.runtime = runtime
        self._drain_secs = drain_secs
        self._draining: asyncio.Task[None] | None = None
        self.is_draining = False
        self.closing = asyncio.Event()
        self._streams: Counter[str] = Counter()
        self._no_streams = asyncio.Event()
        self._no_streams.set()

    def drain_soon(self) -> None:
        """Begin to drain."""
        if self._draining is None:
            self.is_draining = True
            self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def drain(self) -> None:
        """Start no more turns, let those that run end or end them, then end the streams (S2)."""
        self.drain_soon()
        assert self._draining is not None
        await asyncio.shield(self._draining)

    async def _drain(self) -> None:
        try:
            await self.runtime.end_turns(self._drain_secs)
        finally:
            self.closing.set()

    async def streams_end(self) -> None:
        """Returns once no stream is open, after a second at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_STREAMS_SECS):
                await self._no_streams.wait()

    def refuse_while_draining(self) -> None:
        """Refuse what would start a turn."""
        if self.is_draining:
            raise Refusal("server_closing", "This server is closing and starts no more turns; ask again in a moment.")

    @contextmanager
    def stream_of(self, subject: Subject) -> Iterator[None]:
        """A place among the streams of a subject, while it is entered."""
        if self._streams[subject.name] >= MOST_STREAMS:
            raise Refusal("too_many_streams", f"There are {MOST_STREAMS} open streams already; close one first.")
        self._streams[subject.name] += 1
        self._no_streams.clear()
        try:
            yield
        finally:
            self._streams[subject.name] -= 1
            if not self._streams[subject.name]:
                del self._streams[subject.name]
            if not self._streams:
                self._no_streams.set()

    async def closes(self) -> bytes:
        """Waits until the server closes and the last events had their time; the last frame of a stream."""
        await self.closing.wait()
        await asyncio.sleep(_LAST_EVENTS_SECS)
        return CLOSING
