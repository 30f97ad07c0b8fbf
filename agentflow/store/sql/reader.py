"""The reader: jobs that only read, each on a snapshot of its own, without waiting for the writer's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from agentflow.store.sql.connection import Connection
from agentflow.store.sql.database import Database
from agentflow.store.sql.job_thread import Job, JobThread, OpenJobs
from agentflow.store.sql.transaction import Tx

T = TypeVar("T")
_TRIES = 2  # a connection that died while it was idle is replaced once


class Reader:
    """One connection on a thread of its own."""

    def __init__(self, database: Database, jobs: OpenJobs = JobThread) -> None:
        self._database = database
        self._connection = Connection(database)
        self._jobs = jobs("agentflow-reader", self._work, self._connection.drop, 1)

    async def run(self, call: Callable[[Tx], T]) -> T:
        """What the job read; `call` may be run more than once."""
        return await self._jobs.run(call)

    async def close(self) -> None:
        await self._jobs.close()

    def _work(self, group: list[Job]) -> None:
        for job in group:
            for left in reversed(range(_TRIES)):
                with self._database.lock:
                    again = self._read(job)
                if not (again and left):
                    break

    def _read(self, job: Job) -> bool:
        """Run the job; whether another try may succeed."""
        job.value = job.error = None
        try:
            job.value = job.call(self._connection.begin(self._database.begin_read))
            self._connection.run("COMMIT")
            if self._database.read_only and not self._connection.is_current():
                return True  # somebody went to work on it in the middle of the read
        except Exception as error:
            again = self._connection.may_try_again(error)
            self._connection.rollback()
            job.error = self._database.wrap(error)
            return again
        return False
