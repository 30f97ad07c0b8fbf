"""What goes on, shown while a turn is followed: drawn on a terminal, told in a line each elsewhere (B77)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from .activity import Activity
from .area import AREA, is_steerable, raw_standard_error, width_of
from .colors import COLOR
from .output import note

if TYPE_CHECKING:
    from agentflow import Event

TICK_SECS = 0.1


class Status:
    """Follows a turn's events while it is entered.

    `break_line` ends a line of the answer that stands open on the same terminal. With `quiet` nothing is told, and
    nothing drawn; with `streams` the answer is seen as it comes, and nothing else meanwhile. The running loop's clock
    measures.
    """

    def __init__(self, break_line: Callable[[], None], *, streams: bool, quiet: bool) -> None:
        self._activity = Activity()
        self._break_line = break_line
        self._streams = streams
        self._quiet = quiet

    async def __aenter__(self) -> Self:
        self._now = asyncio.get_running_loop().time
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ticking.cancel()
        AREA.erase()

    def event(self, event: Event) -> None:
        self._activity.event(event.type, event.data, self._now(), logged=event.seq is not None)
        if event.type == "done":
            AREA.erase()

    async def _tick(self) -> None:
        while not self._quiet:
            self.show(self._now())
            await asyncio.sleep(TICK_SECS)

    def show(self, now: float) -> None:
        """What there is to show at this second."""
        stream = raw_standard_error()
        if stream is None or not is_steerable(stream, os.environ, COLOR.choice):
            for line in self._activity.slow(now):
                note(line)
            return
        is_seen = self._streams and self._activity.speaking is not None
        lines = [] if is_seen else self._activity.lines(now, width_of(stream))
        if lines:
            self._break_line()
        AREA.draw(lines, stream)
