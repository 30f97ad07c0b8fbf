"""One reader's stream: fed from the log, kept alive, bounded, and ended when its reader or its time is gone (S6)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agentflow.server.streams.frames import ALIVE
from agentflow.server.streams.outbox import Outbox

ALIVE_SECS = 15.0
HANG_SECS = 30.0
FULL_SECS = 5.0
BACKLOG = 256_000 - 65_536  # the rest lies in the transport's own buffer

_HEADERS = {"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"}
_log = logging.getLogger("agentflow.server")

LastWords = Callable[[], Coroutine[Any, Any, bytes]]
"""Waits for what ends a stream before its time, and returns the frame that is sent then."""


class EventStream(Response):
    """Answers with the frames until they end, one of `ends` is over, or the reader has left.

    `place` is entered while it does, and may refuse. A reader that lets 256 KB wait for five seconds, or one write
    for thirty, is dropped; it may come back to where it was.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: AsyncGenerator[bytes],
        place: AbstractContextManager[None],
        ends: Sequence[LastWords] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(headers={**_HEADERS, **(headers or {})})
        del self.headers["content-length"]
        self._frames = frames
        self._place = place
        self._ends = ends
        self._outbox = Outbox(BACKLOG)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._place:
                await self._stream(receive, send)
        finally:
            await self._frames.aclose()

    async def _stream(self, receive: Receive, send: Send) -> None:
        writing = asyncio.create_task(self._write(send))
        leaving = asyncio.create_task(_left(receive))
        feeding = asyncio.create_task(self._feed(writing))
        ending = [asyncio.create_task(self._end(end, feeding)) for end in self._ends]
        tasks = (writing, leaving, feeding, *ending)
        try:
            await asyncio.wait((writing, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for fault in outcomes:
            if isinstance(fault, Exception) and not isinstance(fault, OSError):
                _log.error("a stream of events has ended by a fault", exc_info=fault)

    async def _feed(self, writing: asyncio.Task[None]) -> None:
        try:
            async for frame in self._frames:
                async with asyncio.timeout(FULL_SECS):
                    await self._outbox.put(frame)
        except TimeoutError:
            _log.info("a reader of events is dropped: it does not read")
            writing.cancel()
        except Exception:
            self._outbox.end()
            raise
        else:
            self._outbox.end()

    async def _end(self, end: LastWords, feeding: asyncio.Task[None]) -> None:
        last = await end()
        feeding.cancel()
        await asyncio.wait((feeding,))
        self._outbox.end(last)

    async def _write(self, send: Send) -> None:
        await _sent(send, {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        while (frames := await self._next()) is not None:
            await _sent(send, {"type": "http.response.body", "body": frames, "more_body": True})
        await _sent(send, {"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(ALIVE_SECS):
                return await self._outbox.take()
        except TimeoutError:
            return ALIVE


async def _sent(send: Send, message: Message) -> None:
    """Raises `TimeoutError`, an `OSError`, when the reader takes nothing."""
    async with asyncio.timeout(HANG_SECS):
        await send(message)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
