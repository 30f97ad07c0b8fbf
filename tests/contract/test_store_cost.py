"""The cost of a turn does not grow with the session (R4, B63): statements are counted, never timed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from agentflow.store.rows import changes, inserts
from agentflow.store.sql.database import SqliteDatabase
from tests.contract.book import Book, Turn
from tests.contract.test_store_events import a_turn_of_everything


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that any connection runs, values filled in."""
    seen: list[str] = []
    connect = SqliteDatabase.connect

    def traced(database: SqliteDatabase) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database)
        connection.set_trace_callback(seen.append)
        return connection

    monkeypatch.setattr(SqliteDatabase, "connect", traced)
    return seen


async def a_turn(book: Book) -> Turn:
    """A turn with every kind of row, its ids its own."""
    turn = await book.begin()
    depth = turn.head.depth if turn.head is not None else 0
    written, log = a_turn_of_everything(turn)
    for at, row in enumerate(written):
        if isinstance(row, inserts.InsertMessage):
            written[at] = row._replace(id=f"{row.id}-{turn.number}", depth=depth + row.depth)
        elif isinstance(row, inserts.InsertLlmCall | changes.EndLlmCall):
            written[at] = row._replace(id=f"{row.id}-{turn.number}")
        elif isinstance(row, changes.EndStep):
            written[at] = row._replace(answer_id=f"z-{turn.number}")
    await book.end(turn, written, log)
    return turn


NO_TABLE = ("SCAN line", "SCAN given", "SCAN told", "SCAN CONSTANT ROW")  # what a statement makes itself


def test_a_turn_runs_as_many_statements_at_turn_200_as_at_turn_10(tmp_path: Path, statements: list[str]) -> None:
    book = Book(f"sqlite:///{tmp_path / 'x.db'}")

    async def of_next_turn() -> list[str]:
        statements.clear()
        await a_turn(book)
        return [" ".join(text.split()[:3]) for text in statements]

    async def test() -> None:
        for _ in range(9):
            await a_turn(book)
        at_10 = await of_next_turn()
        for _ in range(189):
            await a_turn(book)
        assert await of_next_turn() == at_10
        assert at_10.count("COMMIT") == 2

    book.run(test)


def test_the_database_grows_by_the_same_for_each_turn(tmp_path: Path) -> None:
    book, file = Book(f"sqlite:///{tmp_path / 'x.db'}"), tmp_path / "x.db"

    async def size_after(turns: int) -> int:
        for _ in range(turns):
            await a_turn(book)
        await book.writer.run(lambda tx: None)
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return file.stat().st_size

    async def test() -> None:
        start, first, second = await size_after(20), await size_after(100), await size_after(100)
        assert second - first <= 1.2 * (first - start)

    book.run(test)


def test_the_path_and_the_log_are_read_through_indexes(tmp_path: Path, statements: list[str]) -> None:
    """No table is scanned."""
    book = Book(f"sqlite:///{tmp_path / 'x.db'}")

    async def test() -> None:
        turn = await a_turn(book)
        statements.clear()
        await book.store.path(turn.key, turn.head, lean_before=1)
        await book.store.events(book.session_id, 5)
        await book.store.step(turn.key, turn.id)
        asked = [text for text in statements if text.split()[0] in ("SELECT", "WITH")]
        assert len(asked) >= 8
        for text in asked:
            plan = await book.writer.run(lambda tx, text=text: tx.all(f"EXPLAIN QUERY PLAN {text}"))
            assert [step for *_, step in plan if step.startswith("SCAN") and step not in NO_TABLE] == [], text

    book.run(test)
