"""Several processes on one database (R2, B49, B52): nobody is locked out, nothing is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence

import pytest

from agentflow.store.sql.database import open_database
from tests.contract.book import Book
from tests.contract.crowd import session

PROCESSES = 3
SESSIONS = 50


@pytest.fixture
def shared(url: str) -> str:
    if url == "sqlite://":
        pytest.skip("memory belongs to one process")
    return url


def crowd(url: str, names: Sequence[str], count: int) -> list[str]:
    """Run the processes at once; what each printed."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.contract.crowd", url, name, str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in names
    ]  # fmt: skip
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate() for process in running]
    return [out.strip() or err for out, err in told]


def test_fifty_first_messages_in_each_of_three_processes_on_a_new_database(shared: str) -> None:
    """B52: the tables are made by whoever comes first."""
    book = Book(shared)
    names = [f"{book.session_id}-{number}" for number in range(PROCESSES)]
    assert crowd(shared, names, SESSIONS) == [str(SESSIONS)] * PROCESSES

    async def test() -> None:
        for name in names:
            for number in range(SESSIONS):
                record = await book.store.session(f"{name}-{number}")
                assert record is not None
                assert (record.seq, record.outcome) == (2, "done")

    book.run(test)


def test_a_long_reader_does_not_hold_writers_up(shared: str) -> None:
    """B52: an export that is open meanwhile sees the database as it was."""
    book, database = Book(shared), open_database(shared)
    count = f"SELECT count(*) FROM session WHERE id LIKE '{book.session_id}%'"

    async def test() -> None:
        await book.begin()
        reader = database.connect()
        reader.execute(database.begin_read)
        assert reader.execute(count).fetchone() == (1,)
        await asyncio.gather(*(session(book, f"{book.session_id}-{number}") for number in range(SESSIONS)))
        assert reader.execute(count).fetchone() == (1,)
        reader.execute("COMMIT")
        assert reader.execute(count).fetchone() == (SESSIONS + 1,)
        database.release(reader)

    book.run(test)


def test_two_stores_on_one_session_take_turns(shared: str) -> None:
    """B49, C35: the second claim fences the first; nothing of either is overwritten."""
    one, two = Book(shared), Book(shared)
    two.session_id = one.session_id

    async def test() -> None:
        numbers = [(await book.begin()).number for book in (one, two, one, two)]
        assert numbers == [1, 2, 3, 4]
        record = await two.store.session(one.session_id)
        assert record is not None
        assert (record.turns, record.epoch, record.seq) == (4, 4, 4)
        await two.writer.close()
        await two.store.close()

    one.run(test)
