"""R7: a session's name is kept by one update where there is none; tries are counted before they are made."""

from __future__ import annotations

import asyncio

import pytest

from agentflow.store.rows import inserts, written
from agentflow.store.session.session_row import NAME_TRIES
from tests.contract.book import NOW, Book, ended


async def name_of(book: Book) -> str | None:
    record = await book.store.session(book.session_id)
    assert record is not None
    return record.name


def call(id_: str) -> list[written.Row]:
    return [inserts.InsertLlmCall(id_, 0, 0, 1, 0, "title", "model", "requested", NOW, None, None)]


def test_a_try_is_counted_until_there_were_three_or_there_is_a_name(book: Book) -> None:
    async def test() -> None:
        turn, ledger = await book.begin(), book.store.ledger
        assert [await ledger.begin_naming(turn.key) for _ in range(NAME_TRIES + 1)] == [True, True, True, False]
        named = await book.begin(f"{book.session_id}-named")
        assert await ledger.give_name(named.key, "Mine", NOW) is not None
        assert not await ledger.begin_naming(named.key)

    book.run(test)


def test_a_model_gives_the_first_name_only_and_its_call_is_written_all_the_same(book: Book) -> None:
    async def test() -> None:
        turn, ledger = await book.begin(), book.store.ledger
        told = await ledger.end_naming(turn.key, call("one"), "First", NOW)
        assert told is not None
        assert (told[0], told[1][0].full) == (2, {"name": "First"})
        assert await ledger.end_naming(turn.key, call("two"), "Second", NOW) is None
        assert await ledger.end_naming(turn.key, call("three"), None, NOW) is None
        assert await name_of(book) == "First"
        assert await book.count("llm_call", turn.key) == 3

    book.run(test)


def test_a_name_given_while_a_turn_writes_leaves_no_gap_in_the_log(book: Book) -> None:
    """T40: the turn's own commits go on with the number after it."""

    async def test() -> None:
        turn, ledger = await book.begin(), book.store.ledger
        await ledger.give_name(turn.key, "Mine", NOW)
        await book.append(turn, [inserts.InsertBlob("h", "{}")])
        await ledger.give_name(turn.key, None, NOW)
        await book.end(turn, ended(turn))
        log = await book.store.events(book.session_id, 0)
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        assert [event.data for event in log if event.type == "session.named"] == [{"name": "Mine"}, {"name": None}]
        assert await name_of(book) is None

    book.run(test)


def test_nothing_is_written_into_a_session_that_is_gone(book: Book) -> None:
    """R12"""

    async def test() -> None:
        turn, ledger = await book.begin(), book.store.ledger
        assert await book.store.delete(book.session_id, lambda *_: False)
        assert not await ledger.begin_naming(turn.key)
        assert await ledger.end_naming(turn.key, call("one"), "First", NOW) is None
        assert await ledger.give_name(turn.key, "Mine", NOW) is None
        assert await book.rows_of(turn.key) == {}

    book.run(test)


def test_of_two_processes_that_name_at_once_one_wins(url: str) -> None:
    if url == "sqlite://":
        pytest.skip("a database in memory has one process")
    book, other = Book(url), Book(url)

    async def test() -> None:
        turn = await book.begin()
        told = await asyncio.gather(
            *(
                each.store.ledger.end_naming(turn.key, call(name), name, NOW)
                for each, name in ((book, "a"), (other, "b"))
            )
        )
        assert sum(each is not None for each in told) == 1
        assert await name_of(book) == ("a" if told[0] is not None else "b")
        await other.writer.close()
        await other.store.close()

    book.run(test)
