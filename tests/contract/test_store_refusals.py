"""What comes too late, and what was sent before: told by what became of the newest of that id (C18, C29, C34)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.clock import uuid7
from agentflow.errors import AgentflowError, CallAlreadyAnswered, InvalidInput, NoPendingQuestion, QuestionExpired
from agentflow.message import ToolCall
from agentflow.store.requests import MoveHead, Settle, Stop
from agentflow.store.rows import changes, inserts
from agentflow.store.rows.written import Row
from tests.contract.book import NOW, Book, Turn, assistant, ended, owning_of, turn_of

LATER = NOW + 3_600_000_000
ANSWER = {"type": "ask_user.answer", "tool_call_id": "asked", "answers": "L"}


async def begun(book: Book, text: str) -> Turn:
    return turn_of(
        await book.claim({"type": "client.message", "message": {"id": text, "role": "user", "content": text}})
    )


def never(owner: str, lease_until: int, turn_id: str) -> bool:
    return False


async def change(book: Book, sql: str, *values: Any) -> None:
    await book.writer.run(lambda tx: tx.execute(sql, *values))


@pytest.mark.parametrize(("at", "error"), [(LATER - 1, InvalidInput), (LATER, QuestionExpired)])
def test_on_another_branch_a_question_is_over_at_its_very_moment(
    book: Book, at: int, error: type[AgentflowError]
) -> None:
    """T21."""

    async def test() -> None:
        turn = await begun(book, "u-1")
        await book.pause(turn, "asked")
        await change(book, "UPDATE question SET expires_at = ? WHERE session_key = ?", LATER, turn.key)
        await book.store.move_head(MoveHead(book.session_id, "u-1", NOW, never, uuid7))
        with pytest.raises(error):
            await book.claim(ANSWER, at=at)

    book.run(test)


def test_of_two_questions_of_one_id_the_newer_says_why_an_answer_is_refused(book: Book) -> None:
    async def test() -> None:
        first = await begun(book, "u-1")
        await book.pause(first, "asked")
        again = turn_of(await book.claim(ANSWER))
        await book.end(again, [changes.EndTurn("done", NOW, None, None, 1, 2, None, None, None, 1, "running")])
        second = await begun(book, "u-2")
        await book.pause(second, "asked")
        await book.store.stop(Stop(book.session_id, None, False, NOW, never, uuid7))
        with pytest.raises(NoPendingQuestion):
            await book.claim(ANSWER)

    book.run(test)


def test_what_waits_for_the_client_is_answered_as_no_question(book: Book) -> None:
    """C39."""

    async def test() -> None:
        turn = await begun(book, "u-1")
        await book.pause(turn, "asked")
        await change(book, "UPDATE question SET kind = 'tools' WHERE session_key = ?", turn.key)
        with pytest.raises(NoPendingQuestion):
            await book.claim(ANSWER)

    book.run(test)


def settling(book: Book, text: str, *, ok: bool = True) -> Settle:
    return Settle(book.session_id, "pay-1", ok, text, {"helper": ["pay"]}, owning_of("me", NOW, alive=True))


async def left_open(book: Book, turn: Turn) -> None:
    reply = assistant(None, ToolCall("pay-1", "pay", "{}"))
    await book.say(turn, reply)
    call: Row = inserts.InsertToolCall(turn.execution, "pay-1", turn.number, reply.id, "pay", "started", NOW)
    await book.append(turn, [call])


def test_a_result_sent_again_is_replayed_and_any_other_is_refused(book: Book) -> None:
    """C34: other words, and the same words as an error."""

    async def test() -> None:
        await left_open(book, await begun(book, "u-1"))
        assert (await book.store.settle(settling(book, "paid"))).outcome == "settled"
        assert (await book.store.settle(settling(book, "paid"))).outcome == "replayed"
        for other in (settling(book, "paid twice"), settling(book, "paid", ok=False)):
            with pytest.raises(CallAlreadyAnswered):
                await book.store.settle(other)

    book.run(test)


@pytest.mark.parametrize("status", ["closed", "voided"])
def test_a_result_for_a_call_that_is_closed_or_off_the_path_is_ignored(book: Book, status: str) -> None:
    """C20."""

    async def test() -> None:
        turn = await begun(book, "u-1")
        await left_open(book, turn)
        await change(book, "UPDATE tool_call SET status = ? WHERE session_key = ?", status, turn.key)
        assert (await book.store.settle(settling(book, "paid"))).outcome == "ignored"

    book.run(test)


def test_a_result_is_for_the_newest_call_of_that_id(book: Book) -> None:
    async def test() -> None:
        first = await begun(book, "u-1")
        await left_open(book, first)
        await book.store.settle(settling(book, "paid"))
        done = "UPDATE tool_call SET status = 'finished' WHERE session_key = ?"
        await change(book, done, first.key)
        await book.end(first, ended(first))
        await left_open(book, await begun(book, "u-2"))
        assert (await book.store.settle(settling(book, "paid anew"))).outcome == "settled"

    book.run(test)
