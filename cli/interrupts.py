"""Ctrl-C and SIGTERM while a turn runs: the first one ends the turn, a second one ends the process (B78)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Entered inside a running loop, where the first signal calls `end_turn`; `exit_code` is its code from then on."""

    def __init__(self, end_turn: Callable[[], object]) -> None:
        self.exit_code: int | None = None
        self._end_turn = end_turn
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        # Not the loop's own signal handlers: those would wait for a loop that a callback keeps busy.
        self._previous = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.exit_code is not None:
            os._exit(128 + number)
        self.exit_code = 128 + number
        with contextlib.suppress(OSError):  # written past Python's buffers, which the signal may have met half-way
            os.write(2, b"stopping the turn; once more ends at once\n")
        self._loop.call_soon_threadsafe(self._end_turn)
