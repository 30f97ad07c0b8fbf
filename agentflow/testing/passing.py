"""How time passes in a test: the clock moves, and what falls due meanwhile is done."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from agentflow import Runtime, Timer, clock
from agentflow.testing.frozen import FrozenClock

T = TypeVar("T")


class PassingTime:
    """The half of a `Kit` that has the clock."""

    clock: FrozenClock

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work returns."""
        raise NotImplementedError

    def can_run(self) -> bool:
        """Whether there is anything of this test's sessions that could be run now."""
        raise NotImplementedError

    @property
    def runtime(self) -> Runtime:
        """The process under test."""
        raise NotImplementedError

    def tick(self, seconds: float) -> None:
        """Move the wall clock, back when negative; nothing runs, as while no process is there."""
        self.clock.tick(timedelta(seconds=seconds))

    def advance(self, seconds: float) -> None:
        """Let time pass, and whatever falls due meanwhile be done, each at its moment, as a process does that serves.

        Sessions that are unused for long enough are deleted, and turns start that wait behind a question whose time is
        over. Expiry, idleness and leases are judged where somebody asks. In an async test only the clock moves.
        """
        if seconds < 0 or not self.can_run():
            self.tick(seconds)
            return
        end = clock.instant() + int(seconds * clock.SECOND)
        while (timer := self._next_timer()) is not None and timer.at <= end:
            self._tick_to(timer.at)
            self._do_what_is_due()
        self._tick_to(end)
        self._do_what_is_due()

    def advance_to_next_timer(self) -> Timer:
        """Let time pass until the next thing falls due, and do that; what it was.

        Raises `AssertionError` when time alone will change nothing.
        """
        timer = self._next_timer()
        assert timer is not None, (
            "Nothing falls due: no question expires, no session is idle or unused for long enough."
        )
        self._tick_to(timer.at)
        self._do_what_is_due()
        return timer

    def _next_timer(self) -> Timer | None:
        now = clock.instant()
        return next((timer for timer in self.run(self.runtime.records.timers()) if timer.at > now), None)

    def _tick_to(self, at: int) -> None:
        self.clock.tick(timedelta(microseconds=(at - clock.instant()) * 1_000_000 / clock.SECOND))

    def _do_what_is_due(self) -> None:
        now = clock.instant()
        due = [timer for timer in self.run(self.runtime.records.timers()) if timer.at <= now]
        if any(timer.kind == "retention" for timer in due):
            self.run(self.runtime.records.sweep())
        for timer in due:
            if timer.kind == "question" and self.run(self.runtime.status(timer.session_id))["queued"]:
                self.run(self.runtime.run_queue(timer.session_id))
