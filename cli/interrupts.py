"""Ctrl-C and SIGTERM while a turn runs: the first one stops the turn, a second one ends the process (B78)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from types import FrameType, TracebackType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Entered inside a running loop: `received` is the first signal's number, `wait` returns when it has come."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()

    def __enter__(self) -> Self:
        # Not the loop's own signal handlers: those would wait for a loop that a callback keeps busy.
        self._previous = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    async def wait(self) -> None:
        await self._arrived.wait()

    @property
    def exit_code(self) -> int | None:
        """130 or 143 once a signal has come."""
        return None if self.received is None else 128 + self.received

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.received is not None:
            os._exit(128 + number)
        self.received = number
        with contextlib.suppress(OSError):  # written past Python's buffers, which the signal may have met half-way
            os.write(2, b"stopping the turn; once more ends at once\n")
        self._loop.call_soon_threadsafe(self._arrived.set)
