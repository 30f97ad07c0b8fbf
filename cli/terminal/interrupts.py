"""Ctrl-C and SIGTERM while a turn runs: the first one ends the turn, a second one ends the process (B78)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """While it is entered the first signal starts `stop()`, or `leave()` when it comes from who ends the process.

    `exit_code` is that signal's from then on, else null, and `raised` is set.
    """

    def __init__(
        self, stop: Callable[[], Coroutine[Any, Any, object]], leave: Callable[[], Coroutine[Any, Any, object]]
    ) -> None:
        self.exit_code: int | None = None
        self.raised = asyncio.Event()
        self._ways = {signal.SIGINT: stop, signal.SIGTERM: leave}
        self._stopping: asyncio.Task[object] | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        # Not the loop's own signal handlers: those would wait for a loop that a callback keeps busy.
        self._previous = {number: signal.signal(number, self._on_signal) for number in self._ways}
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stopping is not None:
            await asyncio.gather(self._stopping, return_exceptions=True)
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.exit_code is not None:
            os._exit(128 + number)
        self.exit_code = 128 + number
        with contextlib.suppress(OSError):  # written past Python's buffers, which the signal may have met half-way
            os.write(2, b"stopping the turn; once more ends at once\n")
        self._loop.call_soon_threadsafe(self._start, number)

    def _start(self, number: int) -> None:
        self.raised.set()
        self._stopping = self._loop.create_task(self._ways[signal.Signals(number)]())
