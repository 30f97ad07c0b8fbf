"""A question that may expire: looked at when the next request comes, by the clock, without a timer (T21)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import AgentflowError
from agentflow.testing import Kit
from tests.scenarios.invariants import check_wire
from tests.scenarios.support import call, rows, said

ASK: dict[str, Any] = {"tool_calls": [call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])]}
EXPIRY = {"ask_user_expiry_secs": 60}


def test_a_message_after_the_time_is_a_new_turn_and_the_old_one_says_why(agentflow: Kit) -> None:
    agentflow.agent(settings=EXPIRY, replies=[ASK, {"text": "something new"}])
    first = agentflow.send("one please")
    agentflow.advance(60)
    assert not agentflow.status()["pending"]
    assert agentflow.send("two please").answer == "something new"
    ended = agentflow.result(first.turn_id)
    assert (ended.state, (ended.error or {})["code"]) == ("aborted", "question_expired")
    assert [text for _, text in said(agentflow.requests[1])][1:] == ["one please", "two please"]


def test_an_answer_in_time_is_taken_and_one_after_it_is_refused(agentflow: Kit) -> None:
    agentflow.agent(settings=EXPIRY, replies=[ASK, ASK])
    agentflow.send("one please")
    agentflow.advance(59)
    assert agentflow.answer("green").question
    agentflow.advance(60)
    with pytest.raises(AgentflowError) as refused:
        agentflow.answer("red")
    assert refused.value.code == "question_expired"


def test_a_view_that_comes_back_to_an_expired_question_does_not_answer_it(agentflow: Kit) -> None:
    """C27: the question is judged where the view ends, its time there too."""
    agentflow.agent(settings=EXPIRY, replies=[{"text": "hello"}, ASK, {"text": "elsewhere"}, {"text": "a new turn"}])
    agentflow.send("hi")
    first = agentflow.send("one please")
    paused = agentflow.path()
    agentflow.edit(paused[2]["id"], "something else")
    agentflow.advance(60)
    late = agentflow.view([*paused, {"role": "user", "content": "green"}])
    assert (late.answer, late.turn_id != first.turn_id) == ("a new turn", True)
    assert agentflow.result(first.turn_id).state == "aborted"
    assert [message["role"] for message in agentflow.path()][-4:] == ["assistant", "tool", "user", "assistant"]
    check_wire(agentflow.requests[-1].messages)


def test_a_queue_behind_an_expired_question_starts_with_the_next_request(agentflow: Kit) -> None:
    """C28: queued turns wait until the paused one ends; the time that is over ends it."""
    agentflow.agent(settings=EXPIRY, replies=[ASK, {"text": "first"}, {"text": "second"}])
    agentflow.send("one please")
    message = {"role": "user", "content": "waiting"}
    waiting = agentflow.submit({"type": "client.message", "message": message, "queue": True})
    agentflow.tick(60)
    behind = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "newest"}})
    assert (waiting.queued, behind.queued) == (True, True)
    assert agentflow.result(behind.turn_id).answer == "second"
    assert agentflow.result(waiting.turn_id).answer == "first"


def test_a_question_of_a_sub_agent_expires_with_everything_above_it(agentflow: Kit, agentflow_db: str) -> None:
    """T22, T35: the sub-agent's run and the call that handed the turn over are closed too."""
    handed_over = {"tool_calls": [call("delegate", agent="sub", message="a note")]}
    agentflow.agent("sub", settings=EXPIRY, replies=[ASK])
    agentflow.agent("main", sub_agents=["sub"], replies=[handed_over, {"text": "a new turn"}])
    agentflow.send("one please")
    agentflow.advance(60)
    assert agentflow.send("two please").answer == "a new turn"
    assert rows(agentflow_db, "SELECT status FROM execution ORDER BY number") == [("ABORTED",), ("ABORTED",), ("DONE",)]
    assert rows(agentflow_db, "SELECT DISTINCT status FROM tool_call") == [("closed",)]
    check_wire(agentflow.requests_of("main")[-1].messages)


def test_every_read_says_at_once_that_the_time_is_over(agentflow: Kit) -> None:
    """D40, T21: before any request has closed the turn the reads say what they say afterwards."""
    agentflow.agent(settings=EXPIRY, replies=[ASK, ASK, {"text": "something new"}])
    agentflow.send("one please")
    turn_id = agentflow.answer("green").turn_id

    def told() -> dict[str, Any]:
        (listed,) = agentflow.run(agentflow.runtime.sessions())
        session, status, result = agentflow.session(), agentflow.status(), agentflow.result(turn_id)
        trace = agentflow.run(agentflow.runtime.trace("s-1", 1))
        return {
            "pending": [each["pending"] for each in (listed, session, status)],
            "pending_kind": [each["pending_kind"] for each in (listed, session, status)] + [result.pending_kind],
            "statuses": [each["status"] for each in (listed, session, status)],
            "outcomes": [listed["outcome"], session["outcome"]],
            "steps": [step["status"] for step in session["steps"] if step["turn_id"] == turn_id],
            "result": (result.state, result.question, result.error),
            "trace": (trace["state"], trace["ended_by"], trace["error"], [step["state"] for step in trace["steps"]]),
            "question": [node["state"] for node in trace["steps"][1]["nodes"] if node["kind"] == "question"],
        }

    agentflow.advance(59)
    waiting = told()
    assert (waiting["pending"], waiting["pending_kind"]) == ([True] * 3, ["questions"] * 4)
    assert (waiting["result"][0], waiting["trace"][0], waiting["question"]) == ("paused_ask_user",) * 2 + (["pending"],)
    agentflow.advance(1)
    before = told()
    agentflow.send("two please")
    after = told()
    assert before == {**after, "outcomes": ["aborted"] * 2}
    assert before["statuses"] == ["idle"] * 3
    assert before["steps"] == ["paused_ask_user", "aborted"]
    assert before["result"][0] == before["trace"][0] == "aborted"


def test_a_question_of_another_branch_is_over_for_its_result_too(agentflow: Kit) -> None:
    """T21: and as long as it waits there, its turn's result says what for."""
    agentflow.agent(settings=EXPIRY, replies=[ASK, {"text": "elsewhere"}])
    first = agentflow.send("one please")
    agentflow.edit(agentflow.path()[0]["id"], "another one")
    assert agentflow.result(first.turn_id).question == first.question
    agentflow.advance(60)
    assert (agentflow.result(first.turn_id).error or {})["code"] == "question_expired"


def test_the_expiry_of_a_delegated_agent_counts_for_its_question(agentflow: Kit) -> None:
    """T21: and the main agent's does not."""
    handed_over = {"tool_calls": [call("delegate", agent="sub", message="a note")]}
    agentflow.agent("sub", replies=[ASK, {"text": "fine"}])
    agentflow.agent("main", settings=EXPIRY, sub_agents=["sub"], replies=[handed_over])
    agentflow.send("one please")
    agentflow.advance(1000)
    assert agentflow.status()["pending"]
    assert agentflow.answer("green").answer == "fine"
