"""What every store promises of writes: fenced, whole, numbered without gaps (C35, R2, R12, T27, T40)."""

from __future__ import annotations

import asyncio

import pytest

from agentflow import events
from agentflow.errors import StaleOwner, StoreError, TurnAlreadyActive
from agentflow.message import ToolCallStatus, TurnState
from agentflow.store.rows import changes, inserts, written
from agentflow.store.sql.tables import Base
from agentflow.store.sql.transaction import Missed, Tx
from tests.contract.book import NOW, TABLES, Book, ended, user


def test_a_commit_is_read_back(book: Book) -> None:
    """R3: what was answered is in the database, for a reader with a connection of its own."""

    async def test() -> None:
        turn = await book.begin()
        said = user("hello \U0001f600 'quoted' %s ?")
        await book.say(turn, said)
        assert [entry.message for entry in await book.store.path(turn.key, turn.head, lean_before=None)] == [said]

    book.run(test)


def test_a_writer_of_an_earlier_epoch_is_refused_and_writes_nothing(book: Book) -> None:
    """C35, T28."""

    async def test() -> None:
        old = await book.begin()
        new = await book.begin()
        before = await book.rows_of(old.key)
        with pytest.raises(StaleOwner):
            await book.say(old, user("too late"))
        with pytest.raises(StaleOwner):
            await book.end(old)
        assert await book.rows_of(old.key) == before
        await book.say(new, user("in time"))

    book.run(test)


def test_a_writer_is_refused_when_its_own_turn_was_taken_up_by_another(book: Book) -> None:
    """C35, T20: a turn that is resumed keeps its number, only the epoch tells its owners apart."""

    async def test() -> None:
        turn = await book.begin()
        await book.writer.run(lambda tx: tx.execute("UPDATE session SET epoch = epoch + 1 WHERE key = ?", turn.key))
        with pytest.raises(StaleOwner):
            await book.say(turn, user("too late"))
        with pytest.raises(StaleOwner):
            await book.end(turn, ended(turn))
        assert await book.count("message", turn.key) == 0

    book.run(test)


def test_a_turn_that_ended_writes_nothing_more(book: Book) -> None:
    """C35: the epoch is still the session's, but nobody claims it any more."""

    async def test() -> None:
        turn = await book.begin()
        await book.end(turn, ended(turn))
        with pytest.raises(StaleOwner):
            await book.say(turn, user("too late"))

    book.run(test)


@pytest.mark.parametrize(
    "missing",
    [
        changes.MoveTurn(TurnState.ABORTED, 1, TurnState.PAUSED_ASK_USER),
        changes.EndToolCall(ToolCallStatus.FINISHED, 1, 1, "r", None, 0, 1, "call", ToolCallStatus.STARTED),
        changes.MoveQuestion("answered", 1, "call", "pending"),
        changes.CheckpointLlmCall("text", "no such call"),
    ],
    ids=lambda row: type(row).__name__,
)
def test_an_update_that_misses_is_refused_by_name_and_undoes_its_commit(book: Book, missing: written.Row) -> None:
    """C35, C29, T2: a conditional update changes exactly one row."""

    async def test() -> None:
        turn = await book.begin()
        before = await book.rows_of(turn.key)
        alias = inserts.InsertAlias("turn", "other", turn.id)
        with pytest.raises(Missed) as caught:
            await book.append(turn, [alias, missing], [events.plain("x", {})])
        assert caught.value.row == missing
        assert written.UPDATES[type(missing)][0] in str(caught.value)
        assert await book.rows_of(turn.key) == before
        session = await book.store.session(book.session_id)
        assert session is not None
        assert session.seq == 1

    book.run(test)


def test_a_row_that_breaks_a_rule_of_the_database_is_told_in_our_words(
    book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    """D18: what names tables and keys is in the log, and the driver's error is the cause."""

    async def test() -> None:
        turn = await book.begin()
        twice = inserts.InsertAlias("turn", "other", turn.id)
        with pytest.raises(StoreError, match="contradicts what is recorded already") as caught:
            await book.append(turn, [twice, twice])
        assert caught.value.__cause__ is not None
        assert "alias" not in str(caught.value)
        assert "alias" in caplog.text
        assert await book.count("alias", turn.key) == 0

    book.run(test)


def test_a_blob_that_the_session_has_is_kept(book: Book) -> None:
    """R3: stored once."""

    async def test() -> None:
        turn = await book.begin()
        await book.append(turn, [inserts.InsertBlob("h", "first"), inserts.InsertBlob("h", "second")])
        await book.append(turn, [inserts.InsertBlob("h", "third")])
        assert await book.count("blob", turn.key) == 1

    book.run(test)


def test_the_log_is_numbered_from_one_without_gaps(book: Book) -> None:
    """T40: also over refused writes and several turns."""

    async def test() -> None:
        for number in range(3):
            turn = await book.begin()
            appended = await book.append(turn, [], [events.plain("x", {"n": 0}), events.plain("x", {"n": 1})])
            assert appended.seq == number * 4 + 3
            with pytest.raises(Missed):
                await book.append(turn, [changes.MoveTurn("done", 99, "running")], [events.plain("x", {})])
            assert (await book.end(turn, ended(turn), [events.plain("y", {})])).seq == number * 4 + 4
        read = await book.store.events(book.session_id, 0)
        assert [event.seq for event in read] == list(range(1, 13))

    book.run(test)


def test_order_is_by_number_even_when_the_clock_steps_back(book: Book) -> None:
    """T38."""

    async def test() -> None:
        turn = await book.begin()
        for step in range(5):
            await book.append(turn, [], [events.plain("x", {"n": step})], at=NOW - step * 1_000_000)
        read = await book.store.events(book.session_id, 1)
        assert [event.data["n"] for event in read] == [0, 1, 2, 3, 4]
        assert [event.at for event in read] == [NOW - step * 1_000_000 for step in range(5)]

    book.run(test)


def test_a_writer_learns_from_its_commit_that_it_was_asked_to_stop(book: Book) -> None:
    """T23."""

    async def test() -> None:
        turn = await book.begin()
        assert (await book.append(turn, [])).stop_turn is None
        await book.writer.run(
            lambda tx: tx.execute("UPDATE session SET stop_turn = ? WHERE key = ?", turn.id, turn.key)
        )
        assert (await book.append(turn, [])).stop_turn == turn.id
        assert await book.store.stops([turn.key]) == [(turn.key, turn.id)]
        await book.end(turn, ended(turn))
        assert await book.store.stops([turn.key]) == []

    book.run(test)


def test_the_end_releases_the_session(book: Book) -> None:
    """T10."""

    async def test() -> None:
        turn = await book.begin()
        held = await book.store.session(book.session_id)
        assert held is not None
        assert (held.running_turn, held.owner) == (turn.id, "me")
        await book.end(turn, ended(turn), at=NOW + 9)
        free = await book.store.session(book.session_id)
        assert free is not None
        assert (free.running_turn, free.owner, free.lease_until) == (None, None, None)
        assert (free.outcome, free.ended_at, free.updated_at) == ("done", NOW + 9, NOW + 9)

    book.run(test)


def test_renewing_extends_only_the_owners_leases(book: Book) -> None:
    """T27."""

    async def test() -> None:
        mine, theirs = await book.begin(), await book.begin(book.session_id + "-other")
        await book.writer.run(lambda tx: tx.execute("UPDATE session SET owner = 'they' WHERE key = ?", theirs.key))
        await book.store.renew([mine.key, theirs.key], "me", NOW + 5)
        await book.store.renew([], "me", NOW + 6)
        leases = [await book.store.session(name) for name in (book.session_id, book.session_id + "-other")]
        assert [session and session.lease_until for session in leases] == [NOW + 5, NOW]

    book.run(test)


def test_deleting_a_session_leaves_zero_rows_and_the_same_id_starts_blank(book: Book) -> None:
    """R3, R12."""

    async def test() -> None:
        turn = await book.begin()
        await fill(book, turn.key)
        assert set(await book.rows_of(turn.key)) == set(TABLES)
        await book.end(turn, ended(turn))
        assert await book.store.delete(book.session_id, never) is True
        assert await book.rows_of(turn.key) == {}
        assert await book.store.session(book.session_id) is None
        assert await book.store.delete(book.session_id, never) is False
        again = await book.begin()
        assert again.key != turn.key
        assert (again.number, again.head) == (1, None)

    book.run(test)


def test_a_late_writer_cannot_bring_a_deleted_session_back(book: Book) -> None:
    """R12: the dead owner's turn was deleted under it."""

    async def test() -> None:
        turn = await book.begin()
        assert await book.store.delete(book.session_id, never) is True
        with pytest.raises(StaleOwner):
            await book.say(turn, user("I am still here"))
        with pytest.raises(StaleOwner):
            await book.end(turn)
        assert await book.rows_of(turn.key) == {}

    book.run(test)


def test_a_running_session_is_not_deleted(book: Book) -> None:
    """R12."""

    async def test() -> None:
        turn = await book.begin()
        with pytest.raises(TurnAlreadyActive) as caught:
            await book.store.delete(book.session_id, lambda owner, lease_until, turn_id: True)
        assert caught.value.detail["turn_id"] == turn.id
        assert await book.store.session(book.session_id) is not None

    book.run(test)


def test_writes_of_many_sessions_at_once_do_not_touch_each_other(book: Book) -> None:
    """R2, B49: one transaction for many sessions, each session whole."""

    async def session(name: str) -> list[str | None]:
        turn = await book.begin(name)
        said = [user(f"{name} {number}") for number in range(5)]
        for message in said:
            await book.say(turn, message)
        await book.end(turn, ended(turn))
        return [str(entry.message.content) for entry in await book.store.path(turn.key, turn.head, lean_before=None)]

    async def test() -> None:
        names = [f"{book.session_id}-{number}" for number in range(20)]
        for name, path in zip(names, await asyncio.gather(*map(session, names)), strict=True):
            assert path == [f"{name} {number}" for number in range(5)]

    book.run(test)


def never(owner: str, lease_until: int, turn_id: str) -> bool:
    return False


async def fill(book: Book, key: int) -> None:
    """One row more in every table of the session."""

    def job(tx: Tx) -> None:
        for table in TABLES:
            columns = Base.metadata.tables[table].columns
            other = {int: 99, str: "x", bytes: b"x"}
            values = [key if column.name == "session_key" else other[column.type.python_type] for column in columns]
            names, marks = ", ".join(columns.keys()), ", ".join("?" * len(values))
            tx.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", *values)

    await book.writer.run(job)
