"""Where the store's jobs run: a thread of its own, reached from any event loop with one hop each way.

`Writer` and `Reader` are given what opens such a place, so that a simulation can run the jobs under its own clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from agentflow.errors import StoreError
from agentflow.live.home import Home
from agentflow.store.sql.transaction import Tx

T = TypeVar("T")


def closed() -> StoreError:
    """What a job gets that comes too late."""
    return StoreError("The store is closed.")


class Job:
    """A function of a transaction, and where its answer goes. `value` or `error` is set by whoever ran it."""

    __slots__ = ("call", "error", "future", "lock_key", "loop", "value")

    def __init__(self, call: Callable[[Tx], Any], lock_key: int | str, loop: asyncio.AbstractEventLoop) -> None:
        self.call = call
        self.lock_key = lock_key
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.value: Any = None
        self.error: Exception | None = None


Work = Callable[[list[Job]], None]
Finish = Callable[[], None]


class JobRunner(Protocol):
    """Where the jobs of one connection run, one group at a time and in the order they came."""

    async def run(self, call: Callable[[Tx], T], lock_key: int | str = 0) -> T:
        """The job's result. Cancelling the caller does not cancel the job."""
        ...

    async def close(self) -> None:
        """Wait until the jobs given so far are done, then take no more."""
        ...


OpenJobs = Callable[[str, Work, Finish, int], JobRunner]
"""`(name, work, finish, limit) -> runner`; what they mean is said by `JobThread`, which is one."""


class JobThread:
    """Runs jobs on one daemon thread, started by the first, in groups of at most `limit`.

    Jobs come from any loop, but where there is a `home`, which the threads of one store share, only from there.
    `work` runs a group of jobs and sets each one's value or error. When it raises, the thread is dead: the group and
    all later jobs get `StoreError`. `finish` is called once, on the thread, when it ends.
    """

    def __init__(self, name: str, work: Work, finish: Finish, limit: int, home: Home | None = None) -> None:
        self._name = name
        self._home = home
        self._limit = limit
        self._work = work
        self._finish = finish
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()  # no job may enter the queue after the thread has emptied it for good
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, call: Callable[[Tx], T], lock_key: int | str = 0) -> T:
        """The job's result. Cancelling the caller does not cancel the job."""
        loop = asyncio.get_running_loop()
        if self._home is not None:
            self._home.check(loop)
        job = Job(call, lock_key, loop)
        with self._lock:
            if self._closed:
                raise closed()
            if self._thread is None:
                self._thread = threading.Thread(target=self._live, name=self._name, daemon=True)
                self._thread.start()
            self._queue.put(job)
        result: T = await job.future
        return result

    async def close(self) -> None:
        """Wait until the jobs given so far are done, then end the thread."""
        with self._lock:
            self._closed = True
        if self._thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)

    def _live(self) -> None:
        group: list[Job] = []
        try:
            while group := self._take():
                self._work(group)
                answer(group)
        except BaseException:  # a crash point or a fault of ours: nobody may hear that this group was written
            self._refuse(group)
        finally:
            with self._lock:
                self._closed = True
            with contextlib.suppress(queue.Empty):
                while True:
                    left = self._queue.get_nowait()
                    self._refuse([left] if left is not None else [])
            self._finish()

    def _take(self) -> list[Job]:
        """Every waiting job, at least one; empty at the end."""
        first = self._queue.get()
        if first is None:
            return []
        group = [first]
        with contextlib.suppress(queue.Empty):
            while len(group) < self._limit:
                job = self._queue.get_nowait()
                if job is None:
                    self._queue.put(None)
                    break
                group.append(job)
        return group

    @staticmethod
    def _refuse(group: list[Job]) -> None:
        for job in group:
            job.error = closed()
        answer(group)


def answer(group: list[Job]) -> None:
    """Wake the waiting tasks: one call for each event loop, not one for each job."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in group:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, jobs in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, jobs)


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():  # cancelled meanwhile
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.value)
