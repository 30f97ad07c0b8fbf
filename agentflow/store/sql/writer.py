"""The writer: every waiting job in one transaction, answered after its one flush (group commit, R2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from agentflow.errors import InvalidInput, StoreError
from agentflow.store.sql.connection import Connection
from agentflow.store.sql.database import Database
from agentflow.store.sql.job_thread import Job, JobThread, OpenJobs
from agentflow.store.sql.transaction import Tx

T = TypeVar("T")
_GROUP = 256  # jobs in one transaction at most
_TRIES = 5  # of a transaction that meets a deadlock or a dead connection before its COMMIT


class _Lost(Exception):
    """The database ended the transaction on its own: what the group wrote so far is gone."""


class Hearer(Protocol):
    """Whoever wants to know what was written, on the writer's thread."""

    def committed(self, sessions: Mapping[int, int]) -> None:
        """These sessions' logs grew, by key, up to these numbers."""

    def stop(self) -> None:
        """Nothing more is written here."""


class Writer:
    """A job that raises rolls back alone: then the group is run again with a savepoint for each job.

    `on_commit` is called on the writer's thread after each COMMIT and before the answers, with the commit's number
    from 1. When it raises, the writer is dead as if the process had been killed there: nobody hears of the commit,
    and there is never another. Then the `hearer` is told.
    """

    def __init__(
        self,
        database: Database,
        on_commit: Callable[[int], None] | None = None,
        jobs: OpenJobs = JobThread,
        hearer: Hearer | None = None,
    ) -> None:
        self._database = database
        self._connection = Connection(database)
        self._on_commit = on_commit
        self._hearer = hearer
        self._commits = 0
        self._jobs = jobs("agentflow-writer", self._work, self._finish, _GROUP)

    async def run(self, call: Callable[[Tx], T], lock_key: int | str = 0) -> T:
        """The job's result, durable. `call` may be run more than once: it is a function of its transaction only.

        `lock_key` is the session whose rows it locks; processes that share a database lock sessions in one order.
        """
        return await self._jobs.run(call, lock_key)

    async def close(self) -> None:
        await self._jobs.close()

    def _finish(self) -> None:
        self._connection.drop()
        if self._hearer is not None:
            self._hearer.stop()

    def _work(self, group: list[Job]) -> None:
        group.sort(key=_lock_order)
        with self._database.lock:
            is_written = self._run_all(group) and self._commit(group)
        if not is_written:
            return
        self._commits += 1
        if self._on_commit is not None:
            self._on_commit(self._commits)
        if self._hearer is not None and (told := self._connection.told):
            self._hearer.committed(told)
        with self._database.lock:
            self._connection.forget_erased()

    def _run_all(self, group: list[Job]) -> bool:
        """Open a transaction and run the jobs in it; whether there is anything to commit."""
        for left in reversed(range(_TRIES)):
            try:
                if not self._run_together(group):
                    self._run_apart(group)
                break
            except Exception as error:
                again = left > 0 and self._connection.may_try_again(error)
                self._connection.rollback()
                if not again:
                    self._fail(group, error)
                    return False
        if all(job.error is not None for job in group):
            self._connection.rollback()
            return False
        return True

    def _run_together(self, group: list[Job]) -> bool:
        """Run the jobs without savepoints, which is the rule; false when one was refused and nothing is left of it."""
        tx = self._connection.begin(self._database.begin_write)
        for job in group:
            if not self._succeeds(tx, job):
                self._connection.rollback()
                return len(group) == 1
        return True

    def _run_apart(self, group: list[Job]) -> None:
        """Run the jobs again, each in a savepoint of its own: a refused job rolls back alone."""
        tx = self._connection.begin(self._database.begin_write)
        for job in group:
            self._connection.run("SAVEPOINT job")
            if not self._succeeds(tx, job):
                self._connection.run("ROLLBACK TO SAVEPOINT job")
            self._connection.run("RELEASE SAVEPOINT job")

    def _succeeds(self, tx: Tx, job: Job) -> bool:
        """Run one job; a refusal is its answer, anything that ends the whole transaction is raised."""
        job.value = job.error = None
        try:
            job.value = job.call(tx)
        except Exception as error:
            if self._connection.may_try_again(error):
                raise
            if not self._connection.is_open():
                raise _Lost from error
            job.error = self._database.wrap(error)
        return job.error is None

    def _commit(self, group: list[Job]) -> bool:
        """A COMMIT that fails is never tried again: it may have happened."""
        try:
            self._connection.run("COMMIT")
        except Exception as error:
            self._connection.rollback()
            self._fail(group, error)
            return False
        return True

    def _fail(self, group: list[Job], error: Exception) -> None:
        """Each job gets an error of its own; a job that had failed by itself keeps what it failed with."""
        cause = error.__cause__ if isinstance(error, _Lost) and isinstance(error.__cause__, Exception) else error
        wrapped = self._database.wrap(cause)
        kind = InvalidInput if isinstance(wrapped, InvalidInput) else StoreError
        for job in group:
            if job.error is None:
                job.value, job.error = None, kind(str(wrapped), detail=getattr(wrapped, "detail", None))
                job.error.__cause__ = cause


def _lock_order(job: Job) -> tuple[bool, int | str]:
    return isinstance(job.lock_key, str), job.lock_key
