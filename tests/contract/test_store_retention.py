"""R12: sessions that nobody used for long are deleted under a lease, whole, and not when they are used after all."""

from __future__ import annotations

import asyncio

import pytest

from agentflow.clock import SECOND, uuid7
from agentflow.store.sweeping import DeleteUnused, ListUnused, Unused
from tests.contract.book import NOW, TABLES, Book, Turn, ended
from tests.contract.test_store_erase import fill

LATER = NOW + 100 * SECOND


def never(owner: str, lease_until: int, turn_id: str) -> bool:
    return False


def always(owner: str, lease_until: int, turn_id: str) -> bool:
    return True


async def a_session(book: Book, agent: str = "helper", name: str | None = None) -> Turn:
    turn = await book.begin(name or uuid7(), agent=agent)
    await book.end(turn, ended(turn))
    return turn


async def listed(book: Book, agent: str, before: int, alive: object = never) -> list[Unused]:
    asked = ListUnused(agent, before, always if alive is always else never)
    return await book.store.ledger.unused(asked)


async def delete(book: Book, owner: str, *turns: Turn, before: int = LATER, at: int = LATER) -> list[str] | None:
    asked = DeleteUnused(owner, at, at + SECOND, {turn.key: before for turn in turns}, never)
    return await book.store.ledger.delete_unused(asked)


@pytest.fixture
def agent() -> str:
    """Sessions of earlier tests stay in the Postgres schema."""
    return f"helper-{uuid7()[-8:]}"


def test_a_deleted_session_leaves_zero_rows_in_every_table_and_the_others_all_of_theirs(book: Book, agent: str) -> None:
    async def test() -> None:
        old, other = [await book.begin(uuid7(), agent=agent) for _ in range(2)]  # whose process is gone
        for turn in (old, other):
            await book.writer.run(lambda tx, turn=turn: fill(tx, turn))
            assert set(await book.rows_of(turn.key)) == set(TABLES)
        kept = await book.rows_of(other.key)
        owner = uuid7()
        assert len(await delete(book, owner, old) or ()) == 1
        assert await book.rows_of(old.key) == {}
        assert await book.rows_of(other.key) == kept
        await book.store.ledger.end_sweep(owner)
        assert await book.writer.run(lambda tx: tx.one("SELECT count(*) FROM sweep")) == (0,)

    book.run(test)


def test_pages_are_in_order_and_name_what_runs_and_what_waits(book: Book, agent: str) -> None:
    async def test() -> None:
        idle, running, queued = [await a_session(book, agent) for _ in range(3)]
        update = "UPDATE session SET {} WHERE key = ?"
        await book.writer.run(
            lambda tx: tx.execute(update.format("turn = 1, owner = 'x', lease_until = 0"), running.key)
        )
        await book.writer.run(lambda tx: tx.execute(update.format("queued = 1"), queued.key))
        busy = {each.key: each.busy for each in await listed(book, agent, LATER, always)}
        assert busy == {idle.key: None, running.key: "running", queued.key: "queued"}
        assert list(busy) == sorted(busy)
        dead = {each.key: each.busy for each in await listed(book, agent, LATER)}
        assert dead[running.key] is None  # its process is gone
        asked = ListUnused(agent, LATER, never, after_key=idle.key, limit=1)
        assert [each.key for each in await book.store.ledger.unused(asked)] == [running.key]
        assert len(await delete(book, "o", idle, queued) or ()) == 1
        assert await listed(book, agent, NOW) == []
        await book.store.ledger.end_sweep("o")

    book.run(test)


def test_activity_is_the_latest_of_any_write_and_an_unknown_time_is_never_old(book: Book, agent: str) -> None:
    async def test() -> None:
        logged, unknown, evaluated, used = [await a_session(book, agent) for _ in range(4)]
        await book.writer.run(lambda tx: tx.execute("UPDATE event SET at = ? WHERE session_key = ?", LATER, logged.key))
        await book.writer.run(lambda tx: tx.execute("UPDATE session SET updated_at = 0 WHERE key = ?", unknown.key))
        await book.writer.run(
            lambda tx: tx.execute("UPDATE session SET environment = 'evaluation' WHERE key = ?", evaluated.key)
        )
        found = {each.key: each.used_at for each in await listed(book, agent, LATER)}
        assert found == {logged.key: LATER, used.key: NOW}
        assert await delete(book, "o", logged) == []  # its log is younger than its row
        assert await book.store.ledger.rate(used.key, 1, "up", None, LATER)
        assert await delete(book, "o", used) == []  # used since it was looked at
        await book.store.ledger.end_sweep("o")

    book.run(test)


def test_one_sweeps_at_a_time_and_a_lease_that_ran_out_is_anybodys(book: Book, agent: str) -> None:
    async def test() -> None:
        ledger = book.store.ledger
        first, second = await a_session(book, agent), await a_session(book, agent)
        assert await ledger.take_sweep("one", NOW, NOW + SECOND)
        assert not await ledger.take_sweep("two", NOW, NOW + SECOND)
        assert await delete(book, "two", first, at=NOW) is None
        assert len(await delete(book, "one", first, at=NOW) or ()) == 1
        assert await ledger.take_sweep("two", NOW + SECOND, NOW + 2 * SECOND)
        assert await delete(book, "one", second, at=NOW + SECOND) is None
        await ledger.end_sweep("one")  # it is not its own any more
        assert not await ledger.take_sweep("three", NOW + SECOND, NOW + 2 * SECOND)
        await ledger.end_sweep("two")
        assert await ledger.take_sweep("three", NOW, NOW + SECOND)
        await ledger.end_sweep("three")

    book.run(test)


def test_two_processes_delete_each_session_once(url: str, agent: str) -> None:
    if url == "sqlite://":
        pytest.skip("a database in memory has one process")
    book, other = Book(url), Book(url)

    async def test() -> None:
        turns = [await a_session(book, agent) for _ in range(8)]
        gone = await asyncio.gather(*(delete(each, each.session_id, *turns) for each in (book, other)))
        assert sorted(map(len, (each for each in gone if each is not None))) in ([8], [0, 8])
        for each in (book, other):
            await each.store.ledger.end_sweep(each.session_id)
        assert await listed(book, agent, LATER) == []

    async def both() -> None:
        try:
            await test()
        finally:
            await other.writer.close()
            await other.store.close()

    book.run(both)
