"""A process: its runtime, its place in the world, and the jobs of its store, which the scheduler runs.

What the operating system would tell (host, pid, start time, the clock, threads) is asked of the world instead, by the
few names in `faked`.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from agentflow import Runtime, clock
from agentflow.agents.data_source import DataSource
from agentflow.agents.loading import Agents
from agentflow.live import event_feed, owner
from agentflow.store.sql.job_thread import Finish, Job, Work, answer, closed
from agentflow.store.sql_store import SqlStore
from agentflow.tools.flows.threads import FLOW_THREADS
from tests.simulation.database import SimulatedDatabase
from tests.simulation.loop import LANE, Lane, SimulatedLoop

START = datetime(2030, 1, 1, 9, tzinfo=UTC)


class Jobs:
    """A store's thread without a thread: what waits is run when the scheduler says so."""

    def __init__(self, process: Process, name: str, work: Work, finish: Finish, limit: int) -> None:
        self.process = process
        self.name = name
        self.slow_until = 0.0
        self.waiting: deque[Job] = deque()
        self._work, self._finish, self._limit = work, finish, limit
        self._closed = False
        self._emptied: Any = None

    async def run(self, call: Callable[[Any], Any], lock_key: int | str = 0) -> Any:
        if self._closed:
            raise closed()
        job = Job(call, lock_key, self.process.loop)
        self.waiting.append(job)
        return await job.future

    async def close(self) -> None:
        self._closed = True
        if self.waiting:
            self._emptied = self.process.loop.create_future()
            await self._emptied
        self._finish()

    def work(self, rng: random.Random) -> list[Job]:
        """Run what waits, or the first of it; the group, whose answers are still to be given."""
        count = min(len(self.waiting), self._limit)
        if count > 1 and rng.random() < 0.3:
            count = rng.randint(1, count)
        group = [self.waiting.popleft() for _ in range(count)]
        self._work(group)
        return group

    def answer(self, group: list[Job]) -> None:
        answer(group)
        if self._emptied is not None and not self.waiting and not self._emptied.done():
            self._emptied.set_result(None)


class Process:
    """One process of a host. `dies_after` counts down its commits: at 0 it is killed before anybody is answered."""

    def __init__(
        self, loop: SimulatedLoop, shared: sqlite3.Connection, agents: Agents, new_id: Callable[[], str], name: str,
        host: str, pid: int, *, drain: bool, serve_queues: bool,
    ) -> None:  # fmt: skip
        self.loop = loop
        self.name, self.host, self.pid = name, host, pid
        self.lane = Lane(name)
        self.started = pid * 100
        self.dies_after: int | None = None
        self.commits = 0
        self.is_closing = self.is_disturbed = False
        self.jobs: list[Jobs] = []
        self.database = SimulatedDatabase(shared)
        self.context: Context = copy_context()
        self.context.run(LANE.set, self.lane)
        self.context.run(PROCESS_OF.__setitem__, self.lane, self)
        self.runtime = self.context.run(self._open, agents, new_id, drain, serve_queues)

    def _open(self, agents: Agents, new_id: Callable[[], str], drain: bool, serve_queues: bool) -> Runtime:
        store = SqlStore(self.database, self._committed, self._open_jobs)
        source = DataSource.of("production", agents.flow, None)
        return Runtime(store, agents, new_id, source, drain, serve_queues)

    def _open_jobs(self, name: str, work: Work, finish: Finish, limit: int) -> Jobs:
        self.jobs.append(Jobs(self, name.removeprefix("agentflow-"), work, finish, limit))
        return self.jobs[-1]

    def _committed(self, number: int) -> None:
        self.commits = number
        if self.dies_after is not None:
            self.dies_after -= 1

    def task(self, coroutine: Any, name: str) -> Any:
        """Begin a coroutine in this process."""
        return self.context.copy().run(self.loop.create_task, coroutine, name=name)

    @property
    def is_up(self) -> bool:
        return self.lane.is_alive

    def kill(self) -> None:
        """Never again anything of it."""
        self.lane.is_alive = False
        self.lane.ready.clear()
        for jobs in self.jobs:
            jobs.waiting.clear()


PROCESS_OF: dict[Lane, Process] = {}


def _here() -> Process:
    return PROCESS_OF[LANE.get()]


def _machine() -> tuple[str, str, str]:
    return _here().host, "boot", "namespace"


def _start_time(pid: int) -> str | None:
    """What the host of whoever asks knows of a pid."""
    host = _here().host
    found = (each for each in PROCESS_OF.values() if (each.host, each.pid) == (host, pid) and each.is_up)
    return next((str(each.started) for each in found), None)


@contextlib.contextmanager
def faked(loop: SimulatedLoop, new_id: Callable[[], str], delay: Callable[[], float]) -> Iterator[None]:
    """The world in place of the operating system; `delay` is how long a thread takes to begin."""

    def run_on_thread(job: Callable[[], None]) -> None:
        loop.call_later(delay(), job)

    subscriptions = itertools.count()

    def subscription_hash(self: Any) -> int:
        if "_number" not in vars(self):
            self._number = next(subscriptions)
        number: int = self._number
        return number

    fakes: list[tuple[Any, str, Any]] = [
        (clock, "now", lambda: START + timedelta(seconds=loop.now)),
        (owner, "_machine", _machine),
        (owner, "_start_time", _start_time),
        (owner, "os", SimpleNamespace(getpid=lambda: _here().pid)),
        (owner, "uuid7", new_id),
        (FLOW_THREADS, "run", run_on_thread),
    ]
    before = [(where, name, getattr(where, name)) for where, name, _ in fakes]
    for where, name, fake in fakes:
        setattr(where, name, fake)
    event_feed.Subscription.__hash__ = subscription_hash  # type: ignore[method-assign]  # sets of them are told in turn
    PROCESS_OF.clear()
    try:
        yield
    finally:
        for where, name, value in before:
            setattr(where, name, value)
        del event_feed.Subscription.__hash__
        PROCESS_OF.clear()
