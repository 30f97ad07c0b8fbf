"""What waits to be sent to one reader, bounded in bytes (S6)."""

from __future__ import annotations

import asyncio
from collections import deque

_TOGETHER = 65_536


class Outbox:
    """Frames in order. Whoever puts one waits while `most` bytes are not sent; a longer one goes when nothing waits."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._frames: deque[bytes] = deque()
        self._unsent = 0
        self._taken = 0
        self._ended = False
        self._changed = asyncio.Event()

    async def put(self, frame: bytes) -> None:
        while self._unsent and self._unsent + len(frame) > self._most:
            self._changed.clear()
            await self._changed.wait()
        self._add(frame)

    def end(self, last: bytes = b"") -> None:
        """Nothing more is put behind `last`."""
        self._ended = True
        self._add(last)

    def _add(self, frame: bytes) -> None:
        if frame:
            self._frames.append(frame)
            self._unsent += len(frame)
        self._changed.set()

    async def take(self) -> bytes | None:
        """The next 64 KB at most, null at the end; what was taken before has been sent by now."""
        self._unsent -= self._taken
        self._taken = 0
        self._changed.set()
        while not self._frames and not self._ended:
            self._changed.clear()
            await self._changed.wait()
        if not self._frames:
            return None
        taken = self._pieces()
        self._taken = len(taken)
        return taken

    def _pieces(self) -> bytes:
        pieces, room = [], _TOGETHER
        while self._frames and room:
            frame = self._frames.popleft()
            pieces.append(frame[:room])
            if len(frame) > room:
                self._frames.appendleft(frame[room:])
            room -= len(pieces[-1])
        return b"".join(pieces)
