"""Group commit (R2): one flush for every waiting job, and each job as if it were alone."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentflow.errors import InvalidInput, StoreError
from agentflow.store.sql.database import open_database
from agentflow.store.sql.transaction import Tx
from agentflow.store.sql.writer import Writer
from tests.unit.store.sql.groups import together


def add(session_id: str) -> Callable[[Tx], int]:
    """A job that makes a session; its result is the number of rows written."""
    return lambda tx: tx.execute(
        "INSERT INTO session (id, agent, environment, created_at, updated_at, seq, epoch, queued, turns, steps, "
        "executions, branches) VALUES (?, 'a', 'e', 0, 0, 0, 0, 0, 0, 0, 0, 0)",
        session_id,
    )


def refused(tx: Tx) -> None:
    add("refused")(tx)
    raise InvalidInput("no")


def orphan(tx: Tx) -> None:
    """Breaks a foreign key that is only checked by COMMIT."""
    tx.execute("PRAGMA defer_foreign_keys=ON")
    tx.execute("INSERT INTO blob (session_key, hash, body) VALUES (999, 'h', 'b')")


def names(path: Path) -> set[str]:
    """The sessions another connection sees."""
    with sqlite3.connect(path) as connection:
        found = {name for (name,) in connection.execute("SELECT id FROM session")}
    connection.close()
    return found


class Desk:
    """A writer on a new file; `run` runs the test and closes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commits: list[int] = []
        self.crash_at = 0
        self.writer = Writer(open_database(f"sqlite:///{path}"), self._committed)

    def _committed(self, number: int) -> None:
        self.commits.append(number)
        if number == self.crash_at:
            raise SystemExit

    def run(self, test: Callable[[], Any]) -> None:
        async def closing() -> None:
            try:
                await test()
            finally:
                await self.writer.close()

        asyncio.run(closing())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "sessions.db")


def test_waiting_jobs_share_one_commit(desk: Desk) -> None:
    async def test() -> None:
        assert await together(desk.writer, add("a"), add("b"), add("c")) == [1, 1, 1]
        assert desk.commits == [1, 2]  # the one that held the writer, and the group
        assert names(desk.path) == {"a", "b", "c"}

    desk.run(test)


def test_a_refused_job_leaves_the_others_of_its_group(desk: Desk) -> None:
    async def test() -> None:
        first, error, broken, last = await together(desk.writer, add("a"), refused, add("a"), add("b"))
        assert (first, last) == (1, 1)
        assert isinstance(error, InvalidInput)
        assert isinstance(broken, StoreError)
        assert isinstance(broken.__cause__, sqlite3.IntegrityError)
        assert desk.commits == [1, 2]
        assert names(desk.path) == {"a", "b"}

    desk.run(test)


def test_a_group_of_refused_jobs_is_no_commit(desk: Desk) -> None:
    async def test() -> None:
        errors = await together(desk.writer, refused, refused)
        assert [type(error) for error in errors] == [InvalidInput, InvalidInput]
        assert desk.commits == [1]
        assert names(desk.path) == set()

    desk.run(test)


def test_a_fault_in_a_job_is_raised_as_it_is_and_the_writer_lives_on(desk: Desk) -> None:
    async def test() -> None:
        with pytest.raises(ZeroDivisionError):
            await desk.writer.run(lambda tx: add("a")(tx) / 0)
        assert await desk.writer.run(add("b")) == 1
        assert names(desk.path) == {"b"}

    desk.run(test)


def test_when_the_commit_fails_every_job_of_the_group_is_told(desk: Desk) -> None:
    """R2: each with an error of its own, and nothing of the group is there."""

    async def test() -> None:
        errors = await together(desk.writer, add("a"), orphan, add("b"))
        assert [type(error) for error in errors] == [StoreError] * 3
        assert len({id(error) for error in errors}) == 3
        assert names(desk.path) == set()
        assert await desk.writer.run(add("c")) == 1
        assert desk.commits == [1, 2]

    desk.run(test)


def test_a_job_is_answered_after_its_commit(desk: Desk) -> None:
    """R2: the door for crash points stands between the two."""

    async def test() -> None:
        await desk.writer.run(add("a"))
        assert desk.commits == [1]
        await desk.writer.run(add("b"))
        assert desk.commits == [1, 2]

    desk.run(test)


def test_after_a_crash_point_the_commit_is_there_and_nobody_heard_of_it(desk: Desk) -> None:
    desk.crash_at = 2

    async def test() -> None:
        await desk.writer.run(add("a"))
        with pytest.raises(StoreError, match="closed"):
            await desk.writer.run(add("b"))
        with pytest.raises(StoreError, match="closed"):
            await desk.writer.run(add("c"))
        assert names(desk.path) == {"a", "b"}
        assert desk.commits == [1, 2]

    desk.run(test)


def test_jobs_waiting_at_a_crash_point_are_refused(desk: Desk) -> None:
    desk.crash_at = 1

    async def test() -> None:
        tasks = [asyncio.create_task(desk.writer.run(add(name))) for name in "abc"]
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(error) for error in errors] == [StoreError] * 3

    desk.run(test)


def test_cancelling_the_caller_does_not_cancel_the_job(desk: Desk) -> None:
    """And its answer, which nobody takes, disturbs nothing."""

    async def test() -> None:
        complaints: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        begun, go = threading.Event(), threading.Event()

        def slow(tx: Tx) -> None:
            begun.set()
            go.wait()
            add("a")(tx)

        task = asyncio.create_task(desk.writer.run(slow))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        await desk.writer.run(add("b"))
        assert names(desk.path) == {"a", "b"}
        assert complaints == []

    desk.run(test)


def test_closing_finishes_the_jobs_it_has_and_refuses_later_ones(desk: Desk) -> None:
    async def test() -> None:
        task = asyncio.create_task(desk.writer.run(add("a")))
        await asyncio.sleep(0)
        await desk.writer.close()
        assert await task == 1
        with pytest.raises(StoreError, match="closed"):
            await desk.writer.run(add("b"))

    desk.run(test)


def test_closing_a_writer_that_never_worked_makes_no_file(desk: Desk) -> None:
    async def test() -> None:
        await desk.writer.close()
        assert not desk.path.exists()

    desk.run(test)


def test_two_event_loops_share_a_writer(desk: Desk) -> None:
    """The sync façade runs a loop of its own."""

    async def test() -> None:
        here, there = await asyncio.gather(
            desk.writer.run(add("a")), asyncio.to_thread(lambda: asyncio.run(desk.writer.run(add("b"))))
        )
        assert (here, there) == (1, 1)

    desk.run(test)


def test_an_answer_for_a_loop_that_is_gone_is_dropped(desk: Desk) -> None:
    async def test() -> None:
        go = threading.Event()

        async def leave() -> None:
            task = asyncio.create_task(desk.writer.run(lambda tx: go.wait() and add("a")(tx)))
            await asyncio.sleep(0)
            task.cancel()

        await asyncio.to_thread(lambda: asyncio.run(leave()))
        go.set()
        assert await desk.writer.run(add("b")) == 1
        assert names(desk.path) == {"a", "b"}

    desk.run(test)


def test_a_lock_that_is_not_given_in_time_is_a_store_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """B52: only after the busy timeout."""
    monkeypatch.setattr("agentflow.store.sql.database.BUSY_TIMEOUT_MS", 1)

    async def test() -> None:
        await desk.writer.run(add("a"))
        with sqlite3.connect(desk.path, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked"):
                await desk.writer.run(add("b"))
            other.execute("ROLLBACK")
        other.close()
        assert await desk.writer.run(add("b")) == 1

    desk.run(test)
