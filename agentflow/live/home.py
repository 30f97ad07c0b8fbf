"""Where a runtime lives: one process and one event loop, those of its first work. Elsewhere it would wait for ever."""

from __future__ import annotations

import asyncio
import os
import time

from agentflow.errors import InvalidInput

_TRIAL_SECS = 50e-6


class Home:
    """The process and the loop that were the first to work here; a loop that was closed makes room for the next."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0

    def check(self, loop: asyncio.AbstractEventLoop) -> None:
        """May work begin here and now? Raises `InvalidInput` in a forked child, another loop, or stopped time."""
        process = os.getpid()
        if self._loop is None:
            self._loop, self._process = loop, process
        if process != self._process:
            raise InvalidInput(
                f"This runtime works in process {self._process}, and this is process {process}, forked from it: its "
                "threads and connections stayed there. Open a runtime after the fork, or use one first after it.",
                detail={"process": process, "own_process": self._process},
            )
        if loop is not self._loop:
            if not self._loop.is_closed():
                raise another_loop()
            self._loop = loop
        if _stands_still(loop):
            raise InvalidInput(
                "The event loop's clock stands still, so nothing that waits would ever go on. Freeze time with "
                "freeze_time(..., real_asyncio=True), or take the pytest fixture `agentflow`, whose clock is frozen "
                "and moved by agentflow.advance(seconds)."
            )


def another_loop() -> InvalidInput:
    """What whoever uses a runtime from a loop that is not its own is told."""
    return InvalidInput(
        "This runtime belongs to another event loop that is still open, perhaps another thread's: open a runtime for "
        "each loop, or bring the call there with asyncio.run_coroutine_threadsafe(coroutine, loop)."
    )


def _stands_still(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether somebody froze the loop's clock together with the others. Costs next to nothing where nobody did."""
    if time.monotonic.__module__ == "time" or loop.time() != (before := time.monotonic()):
        return False
    end = time.thread_time() + _TRIAL_SECS  # a clock that ticks has to be given the time to do so
    while time.thread_time() < end:
        pass
    return loop.time() == before
