"""A burst of signals is one, a signal after it ends the process, and none is lost before there is a turn (B78, D69)."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from cli.terminal.interrupts import BURST_SECS, Interrupts


class Killed(Exception):
    """The process would be gone."""


def _way(name: str, ended: list[str]) -> Callable[[], Coroutine[Any, Any, None]]:
    async def end() -> None:
        ended.append(name)

    return end


def _raised(*signals: tuple[signal.Signals, float], early: bool = False) -> tuple[int | None, list[str]]:
    """The exit code and what was ended, after signals at seconds of a clock; `early`, before there is a turn."""
    times = iter([at for _, at in signals])
    ended: list[str] = []

    async def run() -> int | None:
        async with Interrupts(lambda: next(times)) as interrupts:
            ways = (_way("stopped", ended), _way("left", ended))
            if not early:
                interrupts.ends_by(*ways)
            for number, _ in signals:
                signal.raise_signal(number)
            if early:
                await interrupts.raised.wait()
                interrupts.ends_by(*ways)
            await interrupts.settled()
        return interrupts.exit_code

    return asyncio.run(run()), ended


@pytest.mark.parametrize("early", [True, False])
def test_a_signal_ends_the_turn_the_way_it_means(early: bool) -> None:
    assert _raised((signal.SIGINT, 1.0), early=early) == (130, ["stopped"])
    assert _raised((signal.SIGTERM, 1.0), early=early) == (143, ["left"])


def test_a_burst_is_one_signal() -> None:
    burst = [(signal.SIGTERM, 1.0), (signal.SIGTERM, 1.0003), (signal.SIGINT, 1.0 + BURST_SECS)]
    assert _raised(*burst) == (143, ["left"])


def test_a_signal_after_the_burst_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(code: int) -> None:
        raise Killed(code)

    monkeypatch.setattr(os, "_exit", gone)
    with pytest.raises(Killed, match="130"):
        _raised((signal.SIGTERM, 1.0), (signal.SIGINT, 1.01 + BURST_SECS))


def test_the_handlers_before_it_are_back_after_it() -> None:
    before = signal.getsignal(signal.SIGTERM)
    _raised((signal.SIGTERM, 1.0))
    assert signal.getsignal(signal.SIGTERM) is before
