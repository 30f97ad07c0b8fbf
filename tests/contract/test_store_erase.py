"""`observability: false` (R5): what a turn said and used is gone in the transaction that ends it."""

from __future__ import annotations

from agentflow import events
from agentflow.message import Usage
from agentflow.store.rows import inserts
from agentflow.store.sql.tables import Base
from agentflow.store.sql.transaction import Tx
from tests.contract.book import NOW, TABLES, Book, Turn, ended, user
from tests.contract.test_store_events import a_turn_of_everything


def test_an_erased_turn_keeps_its_id_its_steps_and_its_questions(book: Book) -> None:
    async def test() -> None:
        turn = await book.begin()
        written, log = a_turn_of_everything(turn)
        call = inserts.InsertLlmCall("l", 1, 1, 1, 1, "main", "model", "requested", NOW, 1, 1)
        tool = inserts.InsertToolCall(1, "call", 1, "a", "search", "planned", None)
        await book.append(turn, [inserts.InsertBlob("hash", "{}"), inserts.InsertBlob("p", "prompt"), call, tool])
        await book.end(turn, written, log, erase=True)
        assert await book.rows_of(turn.key) == {
            "turn": 1,
            "step": 1,
            "question": 1,
            "blob": 1,
            "session_stats": 1,
            "event": len(log) + 2,
        }
        step = await book.store.step(turn.key, turn.id)
        assert step is not None
        assert (step.turn_state, step.opened_at, step.completed_at) == ("failed", NOW, NOW)
        assert (step.answer, step.user_message_id, step.usage) == (None, None, Usage())
        session = await book.store.session(book.session_id)
        assert session is not None
        assert (session.head, session.running_turn, session.outcome) == (None, None, "done")

    book.run(test)


def test_the_texts_of_its_events_read_as_null(book: Book) -> None:
    async def test() -> None:
        turn = await book.begin()
        written, log = a_turn_of_everything(turn)
        log.insert(0, events.plain(events.HOOK_COMPLETED, {"call_id": "l", "model": "m", "usage": {"input": 9}}))
        await book.end(turn, written, log, erase=True)
        read = await book.store.events(book.session_id, 1)
        assert [event.type for event in read] == [entry.type for entry in log]
        told = " ".join(str(event.data) for event in read)
        texts = ("my words", "thinking", "found", "broke", "the answer", "look")
        assert not [text for text in texts if text in told]
        by_type = {event.type: event.data for event in read}
        assert by_type[events.HOOK_COMPLETED] == {"call_id": "l", "model": "m", "usage": None}
        assert by_type[events.LLM_CALL_COMPLETED]["call_id"] == "a"
        assert by_type[events.LLM_CALL_COMPLETED]["usage"] == Usage().as_dict()
        assert by_type[events.MESSAGE_NEW]["message"] == {"id": "z", "role": None, "content": None}
        assert by_type[events.TOOL_CALL_COMPLETED] == {"id": None, "name": None, "result": None}
        assert by_type[events.TOOL_CALL_REQUESTED]["arguments"] is None
        assert by_type[events.TURN_COMPLETED]["usage"] == Usage().as_dict()
        assert by_type[events.DONE]["answer"] is None
        assert by_type[events.DONE]["turn_id"] == turn.id

    book.run(test)


def test_the_next_turn_starts_on_an_empty_path(book: Book) -> None:
    async def test() -> None:
        turn = await book.begin()
        written, log = a_turn_of_everything(turn)
        await book.end(turn, written, log, erase=True)
        later = await book.begin()
        assert later.head is None
        await book.append(later, [inserts.InsertBranch(2, None, 0)])
        await book.say(later, user("again", "u"), branch=2, depth=1)
        assert [entry.message.id for entry in await book.store.path(later.key, later.head, lean_before=None)] == ["u"]

    book.run(test)


def test_earlier_turns_that_were_kept_stay(book: Book) -> None:
    """The setting counts for the turn that ends with it."""

    async def test() -> None:
        kept = await book.begin()
        await book.say(kept, user("kept", "k"))
        await book.end(kept)
        turn = await book.begin()
        await book.say(turn, user("erased", "x"))
        await book.end(turn, ended(turn), erase=True)
        assert [node.message.id for node in (await book.store.tree(kept.key)).nodes] == ["k"]

    book.run(test)


STAY = {
    "turn", "step", "question", "hook_run", "event", "queue_entry", "agent_memory", "feedback", "session_stats",
    "blob",  # the turn's configuration
}  # fmt: skip
BLANK = {
    "turn": "request, tools_hash, plan, input, output, cache_read, cache_write, cost",
    "step": "user_message_id, answer_id, answer_chars, first_token_ms",
    "hook_run": "error",
}


def test_of_every_table_nothing_stays_but_an_outline(book: Book) -> None:
    """Also of a table that comes later: what stays is listed here, and what of it is blank."""

    async def test() -> None:
        turn = await book.begin()
        await book.writer.run(lambda tx: fill(tx, turn))
        assert set(await book.rows_of(turn.key)) == set(TABLES)
        await book.end(turn, ended(turn, answer=user("x"), chars=1), erase=True)
        assert set(await book.rows_of(turn.key)) == STAY
        for table, columns in BLANK.items():
            of_turn = "number" if table == "turn" else "turn"
            left = f"SELECT {columns} FROM {table} WHERE session_key = ? AND {of_turn} = ?"
            found = await book.writer.run(lambda tx, left=left: tx.all(left, turn.key, turn.number))
            assert {value for row in found for value in row} == {None}, table

    book.run(test)


def fill(tx: Tx, turn: Turn) -> None:
    """A row of the turn in every table of the session, and something in each field that is to be blank."""
    known = {"session_key": turn.key, "turn": turn.number, "kind": "message", "data": "{}"} | dict.fromkeys(
        ("config_hash", "tools_hash"), "kept"
    )
    for table in TABLES:
        columns = Base.metadata.tables[table].columns
        values = [
            known.get(column.name, {int: 99, str: "x", bytes: b"x"}[column.type.python_type]) for column in columns
        ]
        names, marks = ", ".join(columns.keys()), ", ".join("?" * len(values))
        tx.execute(f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING", *values)
    said = (
        "UPDATE turn SET request = '{}', tools_hash = 'x', plan = 'x', cache_read = 1, cache_write = 1 WHERE number = ?"
    )
    tx.execute(f"{said} AND session_key = ?", turn.number, turn.key)
