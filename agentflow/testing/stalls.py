"""How long one callback holds an event loop (Z3).

Measured is the processor time of the loop's thread, which neither frozen clocks nor other work of the machine change.
Loading modules and collecting garbage are not counted: they happen once, or to whoever comes by. What waits without
computing, like `time.sleep`, uses no processor time and is not seen.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ExtensionFileLoader, SourceFileLoader, SourcelessFileLoader
from types import TracebackType
from typing import Any, Self

import pytest

_NANOSECONDS = 1_000_000_000

_LOADING = (
    (SourceFileLoader, "exec_module"),
    (SourcelessFileLoader, "exec_module"),
    (ExtensionFileLoader, "create_module"),
    (ExtensionFileLoader, "exec_module"),
)


class LoopHeld(AssertionError):
    """A callback held the event loop for longer than its limit."""


@dataclass(frozen=True, slots=True)
class Stall:
    """One callback that held its loop: for how many seconds, over which limit, and which one."""

    seconds: float
    limit: float
    callback: str

    def __str__(self) -> str:
        return (
            f"The event loop was held for {self.seconds:.3f} s of processor time (limit {self.limit:g} s) by "
            f"{self.callback}. Do it in slices, on a thread or in a process."
        )


class StallMeter:
    """Notes the callbacks that hold an asyncio loop of this process for more than `limit` seconds.

    As a context manager it raises `LoopHeld` at its end when there were any, unless something else was raised; the
    callback that opens it is not measured. `limit` may be changed in between and holds from then on; `longest` is the
    most that any callback took, in seconds.
    """

    def __init__(self, limit: float = 0.05) -> None:
        self.limit = limit
        self.longest = 0.0
        self.stalls: list[Stall] = []

    def start(self) -> None:
        """Begin to measure."""
        if not _meters:
            _install()
        _meters.append(self)

    def stop(self) -> None:
        """Measure no more."""
        _meters.remove(self)
        if not _meters:
            _installed.undo()
            gc.callbacks.remove(_collecting)

    def check(self) -> None:
        """Raises `LoopHeld`, which names the longest of the stalls so far."""
        if self.stalls:
            longest = max(self.stalls, key=lambda stall: stall.seconds)
            more = f" So did {len(self.stalls) - 1} more." if len(self.stalls) > 1 else ""
            raise LoopHeld(f"{longest}{more}")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None:
            self.check()

    def note(self, seconds: float, callback: Callable[..., Any]) -> None:
        self.longest = max(self.longest, seconds)
        if seconds > self.limit:
            self.stalls.append(Stall(seconds, self.limit, _described(callback)))


_meters: list[StallMeter] = []
_installed = pytest.MonkeyPatch()


class _Aside(threading.local):
    """Processor time of this thread that no callback is charged with, in nanoseconds."""

    nanoseconds = 0
    depth = 0
    began = 0

    def enter(self) -> None:
        if not self.depth:
            self.began = time.thread_time_ns()
        self.depth += 1

    def leave(self) -> None:
        self.depth -= 1
        if not self.depth:
            self.nanoseconds += time.thread_time_ns() - self.began


_aside = _Aside()


def _install() -> None:
    """What measures stays in place for as long as anybody wants to know."""
    _installed.setattr(asyncio.Handle, "_run", _measured(asyncio.Handle._run))
    for loader, method in _LOADING:
        _installed.setattr(loader, method, _set_aside(getattr(loader, method)))
    gc.callbacks.insert(0, _collecting)


def _measured(run: Callable[[asyncio.Handle], None]) -> Callable[[asyncio.Handle], None]:
    def measured(handle: asyncio.Handle) -> None:
        callback = handle._callback  # type: ignore[attr-defined]  # asyncio's own debug mode tells it by this name
        began = time.thread_time_ns() - _aside.nanoseconds
        try:
            run(handle)
        finally:
            held = (time.thread_time_ns() - _aside.nanoseconds - began) / _NANOSECONDS
            for meter in _meters:
                meter.note(held, callback)

    return measured


def _set_aside(load: Callable[..., Any]) -> Callable[..., Any]:
    def loaded(*given: Any, **named: Any) -> Any:
        _aside.enter()
        try:
            return load(*given, **named)
        finally:
            _aside.leave()

    return loaded


def _collecting(phase: str, info: dict[str, int]) -> None:
    if phase == "start":
        _aside.enter()
    elif _aside.depth:  # a collection may end that began before anybody measured
        _aside.leave()


def _described(callback: Callable[..., Any]) -> str:
    """A task's step as the coroutines it is in, outermost first, each with where it waits now that the step is over."""
    task = getattr(callback, "__self__", None)
    if not isinstance(task, asyncio.Task):
        return getattr(callback, "__qualname__", repr(callback))
    chain: list[str] = []
    coroutine: Any = task.get_coro()
    while inspect.iscoroutine(coroutine):
        code, frame = coroutine.cr_code, coroutine.cr_frame
        where = "which ended" if frame is None else f"now at {code.co_filename}:{frame.f_lineno}"
        chain.append(f"{coroutine.__qualname__} ({where})")
        coroutine = coroutine.cr_await
    return f"task {task.get_name()!r}: {' > '.join(chain) or task.get_coro()!r}"
