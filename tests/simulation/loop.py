"""An event loop without time of its own: the scheduler chooses whose callback runs next, and when time passes.

Callbacks belong to the process in whose context they were made, and run there in the order they came, as asyncio
runs them; between processes there is no order. A process that is dead never runs anything again.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from asyncio import events
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any


class Lane:
    """The callbacks of one process. `awake_at`: until then the process stands still, as one that was suspended."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready: deque[asyncio.Handle] = deque()
        self.is_alive = True
        self.awake_at = 0.0


LANE: ContextVar[Lane] = ContextVar("lane")

_numbers = itertools.count()


class Task(asyncio.Task[Any]):
    """A task whose place in a set does not depend on where it lies in memory."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._number = next(_numbers)
        super().__init__(*args, **options)

    def __hash__(self) -> int:
        return self._number


class SimulatedLoop(asyncio.AbstractEventLoop):
    """`now` moves by `advance` only; `complaints` are what nobody caught, with the lane it happened in."""

    def __init__(self) -> None:
        self.now = 0.0
        self.complaints: list[tuple[Lane | None, dict[str, Any]]] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = itertools.count()
        self._tasks: list[asyncio.Task[Any]] = []  # a dead process's tasks must not be collected: they would wake up

    # -- what asyncio asks ------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self.now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> asyncio.Task[Any]:
        task = Task(coro, loop=self, name=name or f"task {next(self._count)}", context=context)
        self._tasks.append(task)
        if len(self._tasks) % 4096 == 0:
            self._tasks = [each for each in self._tasks if not each.done()]
        return task

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._enqueue(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._count), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Left in the heap and passed over when its time comes."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """A thread's work is done at once, its answer comes as a callback."""
        future = self.create_future()
        self.call_soon(_settle, future, func, args)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.complaints.append((LANE.get(None), context))

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    async def shutdown_asyncgens(self) -> None:
        """Nothing to do: the scheduler lets generators go with their process."""

    # -- what the scheduler does ------------------------------------------------------------------------------------

    def _enqueue(self, handle: asyncio.Handle) -> None:
        lane = _context(handle).get(LANE)
        if lane is None:
            raise RuntimeError(f"a callback of no process: {handle!r}")
        if lane.is_alive:
            lane.ready.append(handle)

    def alarm(self, when: float) -> None:
        """Time stops at this moment too, though nothing is called then."""
        heapq.heappush(self._timers, (when, next(self._count), _nothing(self)))

    def next_time(self) -> float | None:
        """When something is due next."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def advance(self) -> None:
        """Let time pass until something is due."""
        due = self.next_time()
        if due is None:
            return
        self.now = max(self.now, due)
        while self._timers and self._timers[0][0] <= self.now:
            handle = heapq.heappop(self._timers)[2]
            if not handle.cancelled() and _context(handle).get(LANE) is not None:
                self._enqueue(handle)

    def run(self, lane: Lane) -> asyncio.Handle | None:
        """Run the lane's next callback; null when only cancelled ones were left."""
        while lane.ready:
            handle = lane.ready.popleft()
            if not handle.cancelled():
                handle._run()
                return handle
        return None

    def __enter__(self) -> SimulatedLoop:
        events._set_running_loop(self)
        return self

    def __exit__(self, *exception: object) -> None:
        events._set_running_loop(None)

    def unfinished(self) -> list[asyncio.Task[Any]]:
        return [task for task in self._tasks if not task.done()]


def _context(handle: asyncio.Handle) -> Context:
    context: Context = handle._context  # type: ignore[attr-defined]
    return context


def _nothing(loop: SimulatedLoop) -> asyncio.TimerHandle:
    return asyncio.TimerHandle(0, lambda: None, (), loop, Context())


def _settle(future: asyncio.Future[Any], func: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if future.cancelled():
        return
    try:
        future.set_result(func(*args))
    except Exception as error:
        future.set_exception(error)
