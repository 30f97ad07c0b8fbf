"""What a turn is closed with that does not end by itself: the values of every row, not only that the path is valid."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentflow import events
from agentflow.clock import uuid7
from agentflow.conversation.repair import INTERRUPTED
from agentflow.errors import InvalidInput, NoPendingQuestion
from agentflow.message import Message, ToolCall
from agentflow.store.records import StepRecord
from agentflow.store.requests import Append, Close, CloseTurn, MergeView, Seen, Settle
from agentflow.store.rows import changes, inserts
from agentflow.store.rows.messages import message_row
from agentflow.store.rows.written import Row
from agentflow.turn_table import Trigger
from tests.contract.book import NOW, Book, Turn, assistant, owning_of, requested, turn_of, user

LATER = NOW + 3_600_000_000
NEXT = {"type": "client.message", "message": {"role": "user", "content": "next"}}
LOST = {"code": "provider"}


async def begun(book: Book) -> Turn:
    said = {"id": "u-1", "role": "user", "content": "go"}
    return turn_of(await book.claim({"type": "client.message", "message": said, "turn_id": "t-1"}))


async def family(book: Book, *, heard: bool) -> Turn:
    """A turn with two runs below it: a task, and one that the turn was handed to, both still speaking.

    The task has two open calls, of one reply. Without `heard` only the task has said something.
    """
    turn = await begun(book)
    calls = (ToolCall("c-1", "task", "{}"), ToolCall("c-2", "delegate", "{}"))
    reply = assistant(None, *calls)
    await book.say(turn, reply)
    below = assistant(None, ToolCall("x", "look", "{}"), ToolCall("y", "look", "{}"))
    spoken = {2: "said to its parent", 3: "said to the user" if heard else None}
    written: list[Row] = [
        *(inserts.InsertToolCall(1, each.id, 1, reply.id, each.name, "started", NOW) for each in calls),
        inserts.InsertExecution(2, 1, "worker", "hash", "RUNNING", NOW, 1, "c-1"),
        inserts.InsertExecution(3, 1, "desk", "hash", "RUNNING", NOW, 1, "c-2"),
        inserts.InsertBranch(2, None, 0, 2),
        message_row(below, 2, 1, 1, 2),
        *(inserts.InsertToolCall(2, each.id, 1, below.id, "look", "started", NOW) for each in below.tool_calls),
        *(inserts.InsertLlmCall(f"r-{run}", 1, run, 1, 1, "main", "m", "requested", NOW, None, None) for run in spoken),
        *(changes.CheckpointLlmCall(text, f"r-{run}") for run, text in spoken.items() if text is not None),
    ]
    told = requested(written)
    await book.store.append(Append(turn.key, turn.epoch, 1, NOW, None, 3, 2, written, told, keeps_head=True))
    return turn


async def all_of(book: Book, sql: str) -> list[tuple[Any, ...]]:
    return await book.writer.run(lambda tx: tx.all(sql + " AND session_key = (SELECT key FROM session WHERE id = ?)", *[
        book.session_id
    ]))  # fmt: skip


async def step(book: Book, turn: Turn) -> StepRecord:
    found = await book.store.step(turn.key, "t-1")
    assert found is not None
    return found


async def closed(book: Book, turn: Turn, how: Close, written: tuple[Row, ...] = (), at: int = LATER) -> Any:
    return (await book.store.close_turn(CloseTurn(book.write(turn, written, (), at), how, uuid7))).closed


def failing(**fields: Any) -> Close:
    return Close(Trigger.FAIL, "the turn failed (provider).", LOST, failure=LOST, **fields)


def test_of_several_that_spoke_the_user_has_heard_the_one_the_turn_was_handed_to(book: Book) -> None:
    """T30, T34: its text is the answer, under an id of its own, without the marker."""

    async def test() -> None:
        turn = await family(book, heard=True)
        await book.claim(NEXT, at=LATER)
        last = await step(book, turn)
        assert (last.answer, last.turn_state) == ("said to the user", "aborted")
        assert last.answer_id not in (None, "r-2", "r-3")
        path = await book.store.tree(turn.key)
        answer = next(node.message for node in path.nodes if node.message.id == last.answer_id)
        assert answer.content == f"said to the user\n{INTERRUPTED}"

    book.run(test)


def test_what_a_task_said_to_its_parent_is_no_answer(book: Book) -> None:
    async def test() -> None:
        turn = await family(book, heard=False)
        await book.claim(NEXT, at=LATER)
        last = await step(book, turn)
        assert (last.answer, last.answer_id) == (None, None)
        assert "said to its parent" not in str(await book.store.tree(turn.key))

    book.run(test)


def test_every_row_of_a_failed_turn_is_ended_as_what_it_was(book: Book) -> None:
    """T24: the main run failed, those below it were cut short; no call is left open."""

    async def test() -> None:
        turn = await family(book, heard=True)
        await closed(book, turn, failing())
        runs = [(run.number, run.status) for run in await book.store.runs(turn.key, 1)]
        assert runs == [(1, "ERROR"), (2, "ABORTED"), (3, "ABORTED")]
        calls = await all_of(book, "SELECT id, status, ok FROM tool_call WHERE 1 = 1")
        assert sorted(calls) == [(id_, "closed", 0) for id_ in ("c-1", "c-2", "x", "y")]
        streams = await all_of(book, "SELECT status, error, input FROM llm_call WHERE 1 = 1")
        assert streams == [("aborted", '{"code":"provider"}', None)] * 2

    book.run(test)


def test_results_below_stand_under_each_other_on_the_path_of_their_run(book: Book) -> None:
    async def test() -> None:
        turn = await family(book, heard=False)
        ended = await closed(book, turn, failing())
        path = [entry.message for entry in await book.store.run_path(turn.key, 2)]
        assert [message.tool_call_id for message in path] == [None, "x", "y"]
        read = [event for event in await book.store.events(book.session_id, 0) if event.type == events.MESSAGE_NEW]
        told = {entry.ref: entry.full["parent_id"] for entry in ended.log if entry.type == events.MESSAGE_NEW}
        assert [told[message.id] for message in path[1:]] == [message.id for message in path[:-1]]
        below = {event.data["message"]["id"] for event in read if event.data.get("execution") == 2}
        assert below == {message.id for message in path[1:]}

    book.run(test)


def test_the_end_says_when_why_and_what_it_took(book: Book) -> None:
    """T24, X6, X11: limit, first words, usage and cost; the session knows its end and outcome."""

    async def test() -> None:
        turn = await begun(book)
        call = inserts.InsertLlmCall("r-1", 1, 1, 1, 1, "main", "m", "requested", NOW, None, None)
        cost = changes.EndLlmCall(
            "completed", 1, 1, 1, 9, None, None, "stop", None, 5, 3, None, None, "0.25", None, None, None, "r-1"
        )  # fmt: skip
        await book.append(turn, [call, cost])
        await closed(book, turn, failing(limit="max_iterations", first_token_ms=7))
        last = await step(book, turn)
        assert (last.limit, last.first_token_ms, last.completed_at) == ("max_iterations", 7, LATER)
        assert (last.usage.input, last.usage.output, last.usage.cost) == (5, 3, Decimal("0.25"))
        session = await book.store.session(book.session_id)
        assert session is not None
        assert (session.ended_at, session.outcome, session.updated_at) == (LATER, "failed", LATER)
        assert (session.running_turn, session.owner, session.lease_until) == (None, None, None)

    book.run(test)


def test_what_was_seen_keeps_the_id_that_its_stream_told(book: Book) -> None:
    async def test() -> None:
        turn = await begun(book)
        told = await closed(book, turn, failing(marker=INTERRUPTED, seen=Seen("r-9", "half a word")))
        assert (told.answer_id, told.answer) == ("r-9", "half a word")
        tree = await book.store.tree(turn.key)
        assert [node.message.content for node in tree.nodes] == ["go", f"half a word\n{INTERRUPTED}"]

    book.run(test)


def test_an_answer_that_the_same_commit_writes_is_written_once(book: Book) -> None:
    async def test() -> None:
        turn = await begun(book)
        row = message_row(Message("r-1", "assistant", "whole"), 1, 2, 1, 1)
        told = await closed(book, turn, failing(seen=Seen("r-1", "whole", is_recorded=True)), (row,))
        assert (told.answer_id, told.answer) == ("r-1", "whole")
        assert [node.message.content for node in (await book.store.tree(turn.key)).nodes] == ["go", "whole"]
        assert (await step(book, turn)).answer == "whole"

    book.run(test)


def test_a_result_from_outside_is_recorded_as_it_was_given(book: Book) -> None:
    """C34: whether it succeeded, and the whole of a text that has to be cut."""

    async def test() -> None:
        turn, long = await begun(book), "x" * 60_000
        reply = assistant(None, ToolCall("good", "pay", "{}"), ToolCall("bad", "pay", "{}"))
        await book.say(turn, reply)
        given: list[Row] = [
            inserts.InsertToolCall(1, id_, 1, reply.id, "pay", "started", NOW) for id_ in ("good", "bad")
        ]
        await book.writer.run(lambda tx: tx.write(turn.key, given))
        give = "UPDATE tool_call SET ok = ?, full_result = ? WHERE id = ? AND session_key = ?"
        await book.writer.run(lambda tx: tx.execute(give, 1, long, "good", turn.key))
        await book.writer.run(lambda tx: tx.execute(give, 0, "no money", "bad", turn.key))
        await closed(book, turn, failing())
        calls = await all_of(book, "SELECT id, status, ok, full_result FROM tool_call WHERE 1 = 1")
        assert sorted(calls) == [("bad", "finished", 0, None), ("good", "finished", 1, long)]
        tree = await book.store.tree(turn.key)
        said = {node.message.tool_call_id: str(node.message.content) for node in tree.nodes}
        assert said["bad"] == "no money"
        assert len(said["good"]) < 50_100

    book.run(test)


def test_making_room_that_was_cut_short_ends_once_for_each_run_that_had_begun_it(book: Book) -> None:
    """X20: what had ended is not ended again; that of a sub-agent is told as its own."""

    async def test() -> None:
        turn = await family(book, heard=False)
        limited = events.context_limited("r-1", "full", None, 9, 5)
        below = events.of_execution(events.context_limited("r-2", "full", None, 9, 5), 2)
        await book.append(turn, [], [limited, events.context_kept("declined"), below])
        await closed(book, turn, failing())
        read = await book.store.events(book.session_id, 0)
        kept = [event.data for event in read if event.type == events.CONTEXT_KEPT]
        assert kept == [{"reason": "declined"}, {"reason": "interrupted", "execution": 2}]

    book.run(test)


def test_of_a_resumed_turn_the_last_step_ends(book: Book) -> None:
    async def test() -> None:
        turn = await begun(book)
        await book.pause(turn, "asked")
        answer = {"type": "ask_user.answer", "tool_call_id": "asked", "answers": "L"}
        again = turn_of(await book.claim(answer, at=NOW + 1_000_000))
        await closed(book, again, failing())
        steps = await book.store.steps(turn.key)
        assert [(each.number, each.state, each.completed_at) for each in steps] == [
            (1, "paused_ask_user", NOW),
            (2, "failed", LATER),
        ]

    book.run(test)


def test_a_late_message_of_a_repaired_session_stands_at_its_own_branch(book: Book) -> None:
    """C5: what follows a repair goes below what the repair recorded."""

    async def test() -> None:
        turn = await family(book, heard=True)
        after = turn_of(await book.claim(NEXT, at=LATER))
        await book.say(after, user("more"))
        path = [entry.message.content for entry in await book.store.path(turn.key, after.head, lean_before=None)]
        assert path[-3:] == [f"said to the user\n{INTERRUPTED}", "next", "more"]

    book.run(test)


def test_calls_that_were_cut_short_say_whether_they_had_begun(book: Book) -> None:
    """T24: and a turn that showed nothing leaves no text."""

    async def test() -> None:
        turn = await begun(book)
        reply = assistant(None, ToolCall("begun", "pay", "{}"), ToolCall("not yet", "pay", "{}"))
        await book.say(turn, reply)
        status = {"begun": "started", "not yet": "planned"}
        written: list[Row] = [inserts.InsertToolCall(1, id_, 1, reply.id, "pay", status[id_], NOW) for id_ in status]
        asked = inserts.InsertLlmCall("r-1", 1, 1, 1, 1, "main", "m", "requested", NOW, None, None)
        await book.append(turn, [asked, *written])
        await book.claim(NEXT, at=LATER)
        said = {node.message.tool_call_id: node.message for node in (await book.store.tree(turn.key)).nodes}
        assert str(said["begun"].content).startswith("Not finished:")
        assert str(said["not yet"].content).startswith("Not run:")
        assert INTERRUPTED not in str(await book.store.tree(turn.key))

    book.run(test)


async def paused(book: Book, **changed: int) -> Turn:
    turn = await begun(book)
    await book.pause(turn, "asked")
    for column, value in changed.items():
        set_ = f"UPDATE question SET {column} = ? WHERE session_key = ?"
        await book.writer.run(lambda tx, set_=set_, value=value: tx.execute(set_, value, turn.key))
    return turn


def test_a_question_whose_time_is_over_is_no_failure(book: Book) -> None:
    """T21: the turn is aborted and says why; the question is expired, not stopped."""

    async def test() -> None:
        await paused(book, expires_at=LATER)
        await book.claim(NEXT, at=LATER)
        assert await all_of(book, "SELECT state FROM question WHERE 1 = 1") == [("expired",)]
        told = [event.type for event in await book.store.events(book.session_id, 0)]
        assert events.ERROR not in told
        done = [event.data for event in await book.store.events(book.session_id, 0) if event.type == events.DONE]
        assert done[-1]["aborted"] is True

    book.run(test)


ANSWER = {"type": "ask_user.answer", "tool_call_id": "asked", "answers": "L"}


def test_a_stop_that_came_as_the_turn_paused_is_heard_by_the_next_claim(book: Book) -> None:
    """T25: whatever that claim brings, and nothing of the stop is left for the turn after it."""

    async def test() -> None:
        turn = await begun(book)
        ask = "UPDATE session SET stop_turn = 't-1' WHERE key = ?"
        await book.writer.run(lambda tx: tx.execute(ask, turn.key))
        await book.pause(turn, "asked")
        with pytest.raises(NoPendingQuestion):
            await book.claim(ANSWER)
        await book.claim(NEXT)
        assert await all_of(book, "SELECT state FROM question WHERE 1 = 1") == [("stopped",)]
        assert await book.store.stops([turn.key]) == []

    book.run(test)


def test_every_answering_message_is_known_by_its_id(book: Book) -> None:
    """C26."""

    async def test() -> None:
        await paused(book)
        said = [{"id": id_, "role": "user", "content": id_} for id_ in ("u-2", "u-3", "u-4")]
        await book.claim({"type": "client.append", "messages": said})
        found = await all_of(book, "SELECT alias FROM alias WHERE kind = 'message'")
        assert sorted(found) == [("u-2",), ("u-3",), ("u-4",)]

    book.run(test)


def test_a_call_has_the_result_that_was_there_first(book: Book) -> None:
    """C34: of one from outside and the end of its time."""

    async def test() -> None:
        turn = await begun(book)
        reply = assistant(None, ToolCall("late", "pay", "{}"), ToolCall("in time", "pay", "{}"))
        await book.say(turn, reply)
        calls: list[Row] = [
            inserts.InsertToolCall(1, c.id, 1, reply.id, "pay", "started", NOW) for c in reply.tool_calls
        ]
        await book.append(turn, calls)
        assert await book.store.give_up(turn.key, 1, "late", "too late") == (False, "too late")
        settled = Settle(
            book.session_id, "in time", True, "paid", {"helper": ["pay"]}, owning_of("me", NOW, alive=True)
        )
        assert (await book.store.settle(settled)).outcome == "settled"
        assert await book.store.give_up(turn.key, 1, "in time", "too late") == (True, "paid")

    book.run(test)


def test_a_view_of_a_worker_that_goes_back_says_so_and_forks(book: Book) -> None:
    """C33, C14: what follows the place already is not overwritten."""

    async def test() -> None:
        turn = await begun(book)
        await book.say(turn, Message("a-1", "assistant", "one"))
        view = MergeView(turn.key, turn.epoch, 1, 1, NOW, (Message("u-1", "user", "go"),), uuid7)
        merged = await book.store.merge_view(view)
        assert (merged.head_id, merged.forks) == ("u-1", True)
        assert [entry.type for entry in merged.log] == [events.HEAD_MOVED]

    book.run(test)


def test_the_next_of_the_queue_begins_in_the_transaction_that_closes_a_turn(book: Book) -> None:
    """C21, T24: however the turn before it ended."""

    async def test() -> None:
        turn = await begun(book)
        await book.claim({**NEXT, "queue": True, "turn_id": "t-2"}, alive=True)
        write = book.write(turn, (), (), LATER)
        ended = await book.store.close_turn(
            CloseTurn(write, failing(), uuid7, owning=lambda: owning_of("me", LATER, alive=True))
        )
        assert ended.started is not None
        assert ended.started.turn_id == "t-2"

    book.run(test)


def test_a_view_of_a_worker_cannot_end_at_the_question_of_another_turn(book: Book) -> None:
    """C27, C33."""

    async def test() -> None:
        await paused(book)
        session = await book.store.session(book.session_id)
        assert session is not None
        asking = [node.message for node in (await book.store.tree(session.key)).nodes]
        said = {"type": "client.messages", "messages": [{"id": "u-9", "role": "user", "content": "else"}]}
        turn = turn_of(await book.claim(said))
        view = MergeView(turn.key, turn.epoch, turn.number, turn.execution, NOW, tuple(asking), uuid7)
        with pytest.raises(InvalidInput):
            await book.store.merge_view(view)

    book.run(test)
