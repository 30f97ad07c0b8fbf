"""Hearing of the end of the process before the server that runs us tells its applications (S2).

uvicorn and gunicorn wait for open streams before they end an application's lifespan, and streams wait for it. So the
handlers of SIGTERM and SIGINT are chained: ours begins the drain, the former one does what it did.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ShutdownWatch:
    """While it is entered in the main thread, `heard` is called in the running loop at the first such signal."""

    def __init__(self, heard: Callable[[], object]) -> None:
        self._heard = heard
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._loop = asyncio.get_running_loop()
            for number in _SIGNALS:
                self._former[number] = signal.getsignal(number)
                if callable(self._former[number]):
                    signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, former in self._former.items():
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, former)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._heard)
        self._former[number](number, frame)
