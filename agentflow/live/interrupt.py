"""Interrupting a running turn: by its user, by its time limit, or because the runtime closes.

A turn's task is interrupted only where it waits for somebody else: inside a window, while a model streams or tools
run. Outside of windows it is deciding or committing, and hears of the request at the next window (T23, T26).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

StopReason = Literal["stop", "timeout", "closing"]


class Interrupted(BaseException):
    """Unwinds a turn to its end. Not an `Exception`: neither flows nor adapters may swallow it."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


class Interrupt:
    """The one request to end that a turn's tasks may get, its own and its sub-agents'; the first reason counts."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self._waiting: set[asyncio.Task[object]] = set()

    def request(self, reason: StopReason) -> None:
        """Ask the turn to end, from the loop's own thread."""
        if self.reason is None:
            self.reason = reason
            for task in self._waiting:
                task.cancel()

    def check(self) -> None:
        """Raises `Interrupted` once the turn has been asked to end."""
        if self.reason is not None:
            raise Interrupted(self.reason)

    @contextmanager
    def window(self) -> Iterator[None]:
        """A place where the current task may be interrupted: `Interrupted` is raised out of it."""
        self.check()
        task = asyncio.current_task()
        if task is not None:
            self._waiting.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if self.reason is None or task is None:
                raise
            task.uncancel()
            raise Interrupted(self.reason) from None
        finally:
            if task is not None:
                self._waiting.discard(task)
        self.check()
