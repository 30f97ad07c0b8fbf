"""Ctrl-C and SIGTERM while a turn is asked for and runs: the first ends the turn, a second the process (B78)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Coroutine
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from agentflow import Runtime

BURST_SECS = 0.5  # `timeout`, a service manager and a terminal signal a process and its group: two, but meant once

Ending = Callable[[], Coroutine[Any, Any, object]]


class Interrupts:
    """While it is entered the first signal raises a flag and wakes the loop, which ends the turn.

    `exit_code` is that signal's from then on, else null, and `raised` is set. What else comes within half a second is
    the same burst; a signal after it ends the process at once. `now` gives seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.exit_code: int | None = None
        self.raised = asyncio.Event()
        self._now = now
        self._first_at = 0.0
        self._ways: dict[int, Ending] = {}
        self._says = b"stopping the turn"
        self._stopping: asyncio.Task[object] | None = None

    def ends_by(self, stop: Ending, leave: Ending) -> None:
        """From now on there is something to end: by `stop()` for the user, by `leave()` for who ends the process.

        A signal that came before, while the turn was still being asked for, ends it now.
        """
        self._ways = {signal.SIGINT: stop, signal.SIGTERM: leave}
        if self.raised.is_set():
            self._end()

    def has_result(self, runtime: Runtime) -> None:
        """From now on names alone are waited for, which a signal ends; it has no say in the exit code any more (R7)."""
        self._says = b"not waiting for the name"
        self.ends_by(runtime.end_turns, runtime.end_turns)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        # Not the loop's own signal handlers: those would wait for a loop that a callback keeps busy.
        self._previous = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.settled()
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    async def settled(self) -> None:
        """Returns once what a signal ended has ended."""
        if self.exit_code is not None and self._ways:
            await self.raised.wait()
        if self._stopping is not None:
            await asyncio.gather(self._stopping, return_exceptions=True)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.exit_code is not None:
            if self._now() - self._first_at > BURST_SECS:
                os._exit(128 + number)
            return
        self.exit_code, self._first_at = 128 + number, self._now()
        with contextlib.suppress(OSError):  # written past Python's buffers, which the signal may have met half-way
            os.write(2, self._says + b"; once more ends at once\n")
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self.raised.set()
        if self._ways:
            self._end()

    def _end(self) -> None:
        assert self.exit_code is not None
        self._stopping = self._loop.create_task(self._ways[self.exit_code - 128]())
