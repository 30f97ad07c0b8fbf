"""`observability: false`: a turn leaves its trail only until it ends (R5)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput, MessageNotFound
from agentflow.testing import Kit
from tests.scenarios.support import call, rows, said


def look(place: str) -> str:
    """Look at a place."""
    return f"SECRET {place}"


REPLIES: list[dict[str, Any]] = [
    {"text": "SECRET thought", "tool_calls": [call("look", place="SECRET place")]},
    {"text": "SECRET answer"},
    {"text": "and more"},
]
OFF = {"observability": False}


def test_earlier_turns_are_not_replayed(agentflow: Kit) -> None:
    """seed: turning observability off means earlier turns are not replayed to the model and the session has no
    trace."""
    agentflow.agent(tools=[look], replies=REPLIES, settings=OFF)
    assert agentflow.send("SECRET question").answer == "SECRET answer"
    agentflow.send("And?")
    assert said(agentflow.requests[2])[1:] == [("user", "And?")]
    assert agentflow.path() == []
    assert agentflow.tree()["nodes"] == []


def test_the_running_turn_is_complete_all_the_same(agentflow: Kit) -> None:
    agentflow.agent(tools=[look], replies=REPLIES[:2], settings=OFF)
    agentflow.send("SECRET question")
    assert [role for role, _ in said(agentflow.requests[1])] == ["system", "user", "assistant", "tool"]


def test_no_text_of_the_turn_is_left_anywhere(agentflow: Kit, agentflow_db: str) -> None:
    """R5: messages, executions, calls and usage, and the texts in its events, are erased."""
    agentflow.agent(tools=[look], replies=REPLIES[:2], settings=OFF)
    agentflow.send("SECRET question")
    for table in ("message", "execution", "llm_call", "tool_call"):
        assert rows(agentflow_db, f"SELECT count(*) FROM {table}") == [(0,)]
    for table in ("event", "turn", "step", "session", "alias", "question"):
        assert "SECRET" not in str(rows(agentflow_db, f"SELECT * FROM {table}"))


def test_ids_order_and_times_stay(agentflow: Kit) -> None:
    """R5: session, steps' order and times, turn ids stay; the log stays gapless."""
    agentflow.agent(tools=[look], replies=REPLIES, settings=OFF)
    agentflow.send("SECRET question", turn_id="t-1")
    agentflow.advance(60)
    second = agentflow.send("And?")
    assert second.step_order == 2
    first, _ = agentflow.session()["steps"]
    assert (first["order"], first["turn_id"], first["answer"]) == (1, "t-1", None)
    assert first["opened_at"] == "2030-01-01T09:00:00.000000+00:00"
    assert agentflow.submit(
        {"type": "client.message", "message": {"role": "user", "content": "x"}, "turn_id": "t-1"}
    ).replayed
    assert [event.seq for event in agentflow.events()] == list(range(1, len(agentflow.events()) + 1))


def test_switched_off_later_the_earlier_turns_stay_stored(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "kept"}])
    agentflow.send("one")
    agentflow.agent(replies=[{"text": "gone"}], settings=OFF)
    agentflow.send("two")
    assert "kept" in str(agentflow.tree())
    assert "gone" not in str(agentflow.tree())
    with pytest.raises((MessageNotFound, StopIteration)):
        agentflow.edit("id-9999", "no such message")


def test_nothing_stays_of_what_a_compaction_copied(agentflow: Kit) -> None:
    """R5, X18: copies keep the turn of their originals (C10) and are the compacting turn's all the same."""
    agentflow.agent(replies=[{"text": f"answer {n} " + "x" * 400} for n in range(3)])
    for n in range(3):
        agentflow.send(f"question {n} " + "y" * 400)
    before = agentflow.tree()["nodes"]
    making_room = {
        "compaction_threshold_fraction": 0.5,
        "compaction_context_window_tokens": 100,
        "compaction_keep_recent_messages": 2,
    }
    agentflow.agent(settings=OFF | making_room, replies=[{"text": "a summary"}, {"text": "the fourth"}])
    assert agentflow.send("question 3").answer == "the fourth"
    assert len(agentflow.events("context.replaced")) == 1
    assert agentflow.tree()["nodes"] == before


def test_a_view_that_names_what_was_erased_is_new(agentflow: Kit) -> None:
    """R5, C26: the id of an answer is another name of a node that is not there any more."""
    ask = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    agentflow.agent(settings=OFF, replies=[{"tool_calls": [ask]}, {"text": "one"}, {"text": "two"}])
    asked = {"id": "u1", "role": "user", "content": "question"}
    answer = {"id": "u2", "role": "user", "content": "this one"}
    agentflow.send(asked)
    agentflow.send(answer)
    agentflow.view([asked, answer])
    assert said(agentflow.requests[-1])[1:] == [("user", "question"), ("user", "this one")]


def test_of_a_view_only_what_follows_its_last_assistant_message_counts(agentflow: Kit) -> None:
    """R5: a client that resends what it has seen brings nothing back that was erased."""
    agentflow.agent(settings=OFF, replies=[{"text": "one"}, {"text": "two"}])
    first = {"id": "u1", "role": "user", "content": "first"}
    agentflow.send(first)
    seen = [first, {"id": "a1", "role": "assistant", "content": "one"}]
    agentflow.view([*seen, {"role": "user", "content": "second"}])
    assert said(agentflow.requests[-1])[1:] == [("user", "second")]
    with pytest.raises(InvalidInput, match="Nothing to answer"):
        agentflow.view(seen)


def test_a_view_still_answers_the_question_of_an_unobserved_turn(agentflow: Kit) -> None:
    """R5, C27: a pause keeps what its turn said, so the view stands where the question was asked."""
    ask = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    agentflow.agent(settings=OFF, replies=[{"text": "zero"}, {"tool_calls": [ask]}, {"text": "one"}])
    zero = {"id": "u0", "role": "user", "content": "before"}
    one = {"id": "u1", "role": "user", "content": "question"}
    agentflow.send(zero)
    agentflow.send(one)
    asked = agentflow.path()[-1]
    answer = {"id": "u2", "role": "user", "content": "this one"}
    done = agentflow.view([zero, {"id": "a0", "role": "assistant", "content": "zero"}, one, asked, answer])
    assert done.answer == "one"
    assert [role for role, _ in said(agentflow.requests[-1])] == ["system", "user", "assistant", "tool"]
