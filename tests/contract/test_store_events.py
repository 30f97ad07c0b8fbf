"""What is read of the log equals what was told live, texts joined in from where they are stored once (R3, T40, T41)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from agentflow import events
from agentflow.conversation.tree import Node, Place
from agentflow.errors import LimitReached
from agentflow.events import Event, LogEntry, ModelCall
from agentflow.message import Message, ToolCall, TurnState, Usage
from agentflow.store.rows import changes, inserts
from agentflow.store.rows.messages import copy_row, message_of, message_row
from agentflow.store.rows.written import Row
from agentflow.text import compact_json
from tests.contract.book import NOW, Book, Turn, ended, user

CALL = ToolCall("call", "search", '{"q": "ü"}')
FAILED = ToolCall("failed", "search", "{}")
QUESTIONS = [{"header": "Size", "question": "Which?", "options": []}]
TODOS = [{"content": "look", "status": "pending"}]
FAILURE = LimitReached("Too much.", detail={"limit": "max_cost"}).as_dict()


def a_turn_of_everything(turn: Turn) -> tuple[list[Row], list[LogEntry]]:
    """Rows and entries of each type that keeps a part of itself elsewhere."""
    said = user("my words", "u")
    reply = Message("a", "assistant", "thinking", (CALL, FAILED))
    result = Message("r", "tool", "found", (), CALL.id, "search")
    error = Message("e", "tool", "broke", (), FAILED.id, "search")
    answer = Message("z", "assistant", "the answer\n<MARKER>")
    written: list[Row] = [
        message_row(message, 1, depth, turn.number, turn.number)
        for depth, message in enumerate((said, reply, result, error, answer), 1)
    ]
    call, lost = ModelCall(reply.id, 1, "main", "m"), ModelCall("lost", 2, "summary", "m")
    usage = Usage(1, 2, None, None, Decimal("0.25"))
    for id_, iteration, purpose, model in (call, lost):
        row = (id_, turn.number, turn.number, turn.number, iteration, purpose, model, "requested", NOW, 1, 1)
        written.append(inserts.InsertLlmCall(*row))
    written += [
        _ended_call("tool_calls", None, reply.id),
        _ended_call(None, compact_json(FAILURE), "lost"),
        inserts.InsertQuestion(turn.number, "asked", turn.number, "pending", compact_json(QUESTIONS), NOW, None, 1, 2),
        inserts.InsertTodoList(turn.number, turn.number, 1, compact_json(TODOS)),
        changes.EndTurn(
            "failed", NOW, compact_json(FAILURE), "max_cost", 1, 2, 3, None, "0.25", turn.number, "running"
        ),
        changes.EndStep("failed", NOW, 7, answer.id, len("the answer"), turn.number),
    ]
    log = [
        events.turn_started(turn.id, "hash"),
        events.message_new(said, None),
        events.llm_call_requested(call),
        events.llm_call_completed(call, "tool_calls", usage),
        events.message_new(reply, "u"),
        events.tool_call_requested(CALL, reply.id),
        events.tool_call_requested(FAILED, reply.id),
        events.message_new(result, "a"),
        events.tool_call_ended(result, ok=True),
        events.message_new(error, "r"),
        events.tool_call_ended(error, ok=False),
        events.todo(TODOS, turn.number, 1),
        events.todo([], turn.number, 0),
        events.ask_user("asked", QUESTIONS, turn.number),
        events.llm_call_requested(lost),
        events.llm_call_errored(lost, FAILURE, usage),
        events.plain(events.LLM_CALL_ERRORED, {"call_id": "repaired", "code": "interrupted"}),
        events.message_new(answer, "e"),
        events.error(FAILURE),
        events.plain(events.STEP_COMPLETED, {"order": 1}),
        events.turn_completed("failed", Usage(1, 2, 3, None, Decimal("0.25")), FAILURE),
        events.done(turn.id, "the answer", "failed", turn.number, limit="max_cost", failure=FAILURE),
    ]
    return written, log


def _ended_call(finish_reason: str | None, error: str | None, id_: str) -> changes.EndLlmCall:
    return changes.EndLlmCall(
        "completed", 1, 1, 1, 1, None, None, finish_reason, None, 1, 2, None, None, "0.25", error, None, None, id_
    )  # fmt: skip


def test_every_entry_is_read_as_it_was_told(book: Book) -> None:
    async def test() -> None:
        turn = await book.begin()
        written, log = a_turn_of_everything(turn)
        appended = await book.end(turn, written, log)
        read = await book.store.events(book.session_id, 1)
        assert [(event.type, event.data) for event in read] == [(entry.type, entry.full) for entry in log]
        assert {(event.session_id, event.turn_id, event.at) for event in read} == {(book.session_id, turn.id, NOW)}
        assert read[-1].seq == appended.seq

    book.run(test)


def test_the_log_repeats_no_text(book: Book) -> None:
    """R3, B63: rows hold references."""

    async def test() -> None:
        turn = await book.begin()
        written, log = a_turn_of_everything(turn)
        await book.end(turn, written, log)
        found = await book.writer.run(lambda tx: tx.all("SELECT data FROM event WHERE session_key = ?", turn.key))
        stored = " ".join(str(data) for (data,) in found)
        texts = ("my words", "found", "broke", "answer", "Which?", "look", "ü")
        assert not [text for text in texts if text in stored]

    book.run(test)


def test_a_page_starts_after_the_number_and_ends_at_the_limit(book: Book) -> None:
    """T42."""

    async def test() -> None:
        turn = await book.begin()
        written, log = a_turn_of_everything(turn)
        await book.end(turn, written, log)
        whole = await book.store.events(book.session_id, 0)
        paged = []
        while page := await book.store.events(book.session_id, paged[-1].seq if paged else 0, 3):
            assert len(page) <= 3
            paged += page
        assert paged == whole

    book.run(test)


def test_a_copy_is_told_with_its_content(book: Book) -> None:
    """C10, X18."""

    async def test() -> None:
        turn = await book.begin()
        await book.say(turn, user("text", "o"))
        copy = copy_row("k", Node("o", Place(1, 1), "user", (), None, 1), 2, 1, turn.number, turn.number)
        told = events.message_new(Message("k", "user", "text"), None, "o")
        await book.append(turn, [inserts.InsertBranch(2, None, 0), copy], [told])
        assert (await book.store.events(book.session_id, 2))[0].data == told.full

    book.run(test)


def test_the_done_of_a_pause_stays_one_after_the_paused_turn_was_stopped(book: Book) -> None:
    """T18, T25: two entries of one step."""

    async def test() -> None:
        turn = await book.begin()
        pause = events.done(turn.id, None, TurnState.PAUSED_ASK_USER, turn.number)
        await book.append(turn, [], [pause])
        stop = events.done(turn.id, "partial", TurnState.ABORTED, turn.number)
        answer = Message("z", "assistant", "partial\n<MARKER>")
        await book.end(turn, [message_row(answer, 1, 1, 1, 1), *ended(turn, "aborted", answer, len("partial"))], [stop])
        assert [event.data for event in await book.store.events(book.session_id, 1)] == [pause.full, stop.full]

    book.run(test)


def test_a_reader_of_another_connection_follows_the_log_while_it_grows(book: Book) -> None:
    """T40: by polling, in order, each entry once."""

    async def test() -> None:
        turn = await book.begin()
        seen: list[int | None] = []
        for number in range(10):
            await book.append(turn, [], [events.plain("x", {"n": number})])
            seen += [event.seq for event in await book.store.events(book.session_id, len(seen))]
        assert seen == list(range(1, 12))

    book.run(test)


def test_a_page_reads_each_message_once_however_many_entries_tell_of_it(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D15: each call of a reply refers to the reply, which has all of them."""
    calls = tuple(ToolCall(f"c{number}", "search", "{}") for number in range(200))
    reply = Message("a", "assistant", None, calls)
    read: list[str] = []

    def counted(row: Sequence[Any]) -> Message:
        read.append(row[0])
        return message_of(row)

    monkeypatch.setattr("agentflow.store.reads.events.message_of", counted)

    async def reading() -> list[Event]:
        turn = await book.begin()
        told = [events.message_new(reply, None), *(events.tool_call_requested(call, reply.id) for call in calls)]
        await book.append(turn, [message_row(reply, 1, 1, turn.number, turn.number)], told)
        return await book.store.events(book.session_id, 0, 1000)

    told = [event.data["id"] for event in book.run(reading) if event.type == "tool.call.requested"]
    assert told == [call.id for call in calls]
    assert read == ["a"]
