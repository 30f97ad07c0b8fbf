"""What every store promises of claims: whose the session is, what is kept of the request, who is too late."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentflow.errors import (
    InvalidInput,
    NoPendingQuestion,
    QuestionAlreadyAnswered,
    SessionAgentMismatch,
    StaleOwner,
    TurnAlreadyActive,
)
from agentflow.message import TurnState
from agentflow.store.outcomes import Claimed, Queued, Replayed
from agentflow.store.requests import MergeView, Stop
from agentflow.store.rows import changes, inserts
from tests.contract.book import NOW, Book, Turn, ended, owning_of, turn_of, user

SECONDS = 1_000_000


def say(text: str = "hi", **fields: Any) -> dict[str, Any]:
    return {"type": "client.message", "message": {"id": f"m-{text}", "role": "user", "content": text}, **fields}


def answer(call_id: str = "asked", **fields: Any) -> dict[str, Any]:
    return {"type": "ask_user.answer", "tool_call_id": call_id, "answers": "L", **fields}


async def begun(book: Book, given: dict[str, Any], **how: Any) -> Turn:
    claimed = await book.claim(given, **how)
    assert isinstance(claimed, Claimed)
    return turn_of(claimed)


async def row(book: Book, columns: str) -> tuple[Any, ...]:
    found: tuple[Any, ...] = await book.writer.run(
        lambda tx: tx.one(f"SELECT {columns} FROM session WHERE id = ?", book.session_id)
    )
    return found


def test_a_claim_raises_the_epoch_and_holds_the_session_for_its_lease(book: Book) -> None:
    """T27, C35."""

    async def test() -> None:
        turn = await begun(book, say("one"), owner="first")
        assert await row(book, "epoch, turn, owner, lease_until") == (1, 1, "first", NOW + 30 * SECONDS)
        await book.end(turn, ended(turn))
        assert await row(book, "epoch, turn, owner, lease_until") == (1, None, None, None)
        assert (await begun(book, say("two"))).epoch == 2
        await book.store.renew([turn.key], "somebody else", NOW + 99 * SECONDS)
        assert await row(book, "lease_until") == (NOW + 30 * SECONDS,)
        await book.store.renew([turn.key], "me", NOW + 99 * SECONDS)
        assert await row(book, "lease_until") == (NOW + 99 * SECONDS,)

    book.run(test)


def test_the_one_who_answers_a_question_has_the_turn_and_who_had_it_writes_nothing_more(book: Book) -> None:
    """T20, C35: two owners of one turn with one number: only the epoch tells them apart."""

    async def test() -> None:
        first = await begun(book, say("go", turn_id="t-1"), owner="first")
        await book.pause(first, "asked")
        second = await begun(book, answer(turn_id="mine"), owner="second")
        assert (second.number, second.id, second.epoch) == (first.number, "t-1", first.epoch + 1)
        before = await book.rows_of(first.key)
        for late in (book.say(first, user("late")), book.end(first, ended(first)), book.end(first)):
            with pytest.raises(StaleOwner):
                await late
        view = MergeView(first.key, first.epoch, first.number, first.execution, NOW, [user("late")], lambda: "new")
        with pytest.raises(StaleOwner):
            await book.store.merge_view(view)
        assert await book.rows_of(first.key) == before
        await book.say(second, user("in time"))

    book.run(test)


def test_a_turn_that_was_repaired_is_lost_to_its_owner_though_no_other_runs(book: Book) -> None:
    """T30: the repair raises the epoch, by a stop too."""

    async def test() -> None:
        lost = await begun(book, say("go", turn_id="t-1"))
        stopped = await book.store.stop(Stop(book.session_id, None, False, NOW, lambda *_: False, lambda: "closed"))
        assert (stopped.turn_id, stopped.ended) == ("t-1", True)
        assert (await row(book, "epoch, turn"))[1] is None
        assert (await row(book, "epoch, turn"))[0] > lost.epoch
        with pytest.raises(StaleOwner):
            await book.say(lost, user("late"))

    book.run(test)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (say("two"), TurnAlreadyActive),
        ({"type": "client.messages", "messages": [{"role": "user", "content": "x"}]}, TurnAlreadyActive),
        (answer("asked"), QuestionAlreadyAnswered),
        (answer("never asked"), TurnAlreadyActive),
    ],
    ids=["message", "view", "stale answer", "answer"],
)
def test_a_session_that_runs_refuses_by_exactly_this_code(
    book: Book, given: dict[str, Any], error: type[Exception]
) -> None:
    """C18, C29: each without a race, and nothing is written."""

    async def test() -> None:
        asked = await begun(book, say("go", turn_id="t-1"))
        await book.pause(asked, "asked")
        running = await begun(book, answer())
        before = await book.rows_of(running.key)
        with pytest.raises(error) as caught:
            await book.claim(given, alive=True)
        assert type(caught.value) is error
        assert await book.rows_of(running.key) == before

    book.run(test)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (answer("asked"), QuestionAlreadyAnswered),
        (answer("never asked"), NoPendingQuestion),
        (say("x", agent_id="another"), SessionAgentMismatch),
        (say("x", limits={"max_cost": 1}), InvalidInput),
    ],
)
def test_an_idle_session_refuses_by_exactly_this_code(book: Book, given: dict[str, Any], error: Any) -> None:
    async def test() -> None:
        asked = await begun(book, say("go"))
        await book.pause(asked, "asked")
        turn = await begun(book, answer())
        await book.end(turn, [*ended(turn)[:1]])
        with pytest.raises(error) as caught:
            await book.claim(given, agent=given.get("agent_id", "helper"))
        assert type(caught.value) is error

    book.run(test)


def test_what_a_request_says_is_kept_with_its_turn_and_with_what_an_answer_adds(book: Book) -> None:
    """C8, T19."""
    tools = [{"name": "open", "description": "Open it.", "parameters": {"type": "object"}}]

    async def test() -> None:
        said = {"inputs": {"a": 1, "b": 1}, "limits": {"max_iterations": 2}, "client": {"state": 1}, "stream": False}
        claimed = await book.claim(say("go", tools=tools, **said))
        assert (claimed.inputs, claimed.options.limits) == ({"a": 1, "b": 1}, {"max_iterations": 2})
        await book.pause(turn_of(claimed), "asked")
        more = {"inputs": {"b": 2}, "limits": {"max_iterations": 3}, "client": {"context": ["c"]}}
        resumed = await book.claim(answer(**more))
        options = resumed.options
        assert (options.inputs, options.limits) == ({"a": 1, "b": 2}, {"max_iterations": 3})
        assert (options.client.as_dict(), options.stream) == ({"state": 1, "context": ["c"]}, False)
        assert [tool.as_dict() for tool in options.tools] == tools
        await book.pause(turn_of(resumed), "again")
        assert (await book.claim(answer("again"))).options == resumed.options

    book.run(test)


def test_a_queued_request_is_kept_whole_until_its_turn_and_other_names_mean_it(book: Book) -> None:
    """C21, C22."""

    async def test() -> None:
        running = await begun(book, say("go"))
        for number in (1, 2):
            said = {"limits": {"max_iterations": number}, "inputs": {f"n{number}": 1}}
            queued = await book.claim(say(f"{number}", queue="merge", turn_id=f"t-{number}", **said), alive=True)
            assert isinstance(queued, Queued)
            assert queued.turn_id == "t-1"
        ref = await book.store.turn(running.key, "t-2")
        assert ref is not None
        assert (ref.id, ref.number) == ("t-1", None)
        await book.end(running, ended(running))
        begins = await book.store.take_up(book.session_id, owning_of("me", NOW, alive=False), {"t-1"})
        assert begins is not None
        assert (begins.options.limits, begins.inputs) == ({"max_iterations": 2}, {"n1": 1, "n2": 1})
        ref = await book.store.turn(running.key, "t-2")
        assert ref is not None
        assert (ref.id, ref.number) == ("t-1", begins.turn)
        again = await book.claim(say("2", queue="merge", turn_id="t-2"), alive=True)
        assert isinstance(again, Replayed)
        assert again.turn_id == "t-1"

    book.run(test)


def test_a_repaired_turn_has_what_it_said_and_when_it_lived_last(book: Book) -> None:
    """T30, X11: the values, not only that the path is valid."""

    async def test() -> None:
        lost = await begun(book, say("go", turn_id="t-1"), at=NOW)
        call = inserts.InsertLlmCall("r-1", 1, 1, 1, 1, "main", "m", "requested", NOW, None, None)
        await book.append(lost, [call, changes.CheckpointLlmCall("half", "r-1")])
        later = NOW + 3600 * SECONDS
        claimed = await book.claim(say("next"), at=later)
        assert claimed.previous_ended_at == NOW + 30 * SECONDS
        step = await book.store.step(lost.key, "t-1")
        assert step is not None
        assert (step.turn_state, step.answer) == (TurnState.ABORTED, "half")
        tree = await book.store.tree(lost.key)
        assert [node.message.content for node in tree.nodes][:2] == ["go", "half\n<INTERRUPTED>"]
        assert tree.nodes[1].message.id == "r-1"

    book.run(test)


def test_everything_that_a_request_says_is_there_after_each_pause(book: Book) -> None:
    """C8: also what an answer leaves out; field by field."""

    async def test() -> None:
        said = {
            "inputs": {"a": 1},
            "limits": {"max_iterations": 3},
            "client": {"state": {"s": 1}, "context": ["c"], "forwarded_props": {"p": 1}},
            "stream": False,
            "tools": [{"name": "theirs", "description": "", "parameters": {}}],
        }
        claimed = await book.claim(say(**said))
        first = claimed.options
        assert [tool.name for tool in first.tools] == ["theirs"]
        for call_id, anew in (("one", {}), ("two", {"inputs": {"b": 2}}), ("three", {})):
            await book.pause(turn_of(claimed), call_id)
            claimed = await book.claim(answer(call_id, **anew))
        expected = replace(first, inputs={"a": 1, "b": 2})
        assert claimed.options == expected

    book.run(test)
