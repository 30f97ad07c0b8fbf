"""Turns, steps and iterations: what one request leaves behind."""

from __future__ import annotations

import pytest

from agentflow.testing import Kit
from tests.scenarios.support import call, rows, said


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is quiet"


LOOKS = [
    {"text": "Let me look.", "tool_calls": [call("look", place="north")]},
    {"tool_calls": [call("look", place="south")]},
    {"text": "All quiet."},
]


def test_a_request_opens_a_step_with_its_message_answer_and_times(agentflow: Kit) -> None:
    """seed: Each request opens a step that records the user message, the final answer, the timestamp and the time
    to first token."""
    agentflow.agent(tools=[look], replies=LOOKS)
    result = agentflow.send("Is it quiet?")
    (step,) = agentflow.session()["steps"]
    assert step["order"] == result.step_order == 1
    assert step["user_message_id"] == agentflow.path()[0]["id"]
    assert step["answer"] == result.answer == "All quiet."
    assert step["status"] == "done"
    assert step["opened_at"] == step["completed_at"] == "2030-01-01T09:00:00.000000+00:00"
    assert step["first_token_ms"] >= 0


def test_steps_are_numbered_by_session(agentflow: Kit) -> None:
    """seed: the feedback API addresses messages by their step order."""
    agentflow.agent(replies=lambda request: {"text": "ok"})
    orders = [agentflow.send("hi", session).step_order for session in ("a", "a", "b", "a")]
    assert orders == [1, 2, 1, 3]


def test_a_step_may_run_many_iterations_and_ends_with_the_answer(agentflow: Kit) -> None:
    """seed: each iteration is one LLM call, optionally followed by tool calls. The loop ends when the model answers
    without calling a tool."""
    agentflow.agent(tools=[look], replies=LOOKS)
    agentflow.send("Is it quiet?")
    calls = agentflow.events("llm.call.requested")
    assert [event.data["iteration"] for event in calls] == [1, 2, 3]
    assert {event.data["purpose"] for event in calls} == {"main"}
    assert len(agentflow.session()["steps"]) == 1


def test_the_running_turn_is_always_sent_complete(agentflow: Kit) -> None:
    """X1: the current turn is always complete; T7: each call with its result directly after it."""
    agentflow.agent(tools=[look], replies=LOOKS)
    agentflow.send("Is it quiet?")
    assert said(agentflow.requests[2])[1:] == [
        ("user", "Is it quiet?"),
        ("assistant", "Let me look."),
        ("tool", "north is quiet"),
        ("assistant", None),
        ("tool", "south is quiet"),
    ]
    asking, answering = agentflow.requests[2].messages[2:4]
    assert asking["tool_calls"][0]["id"] == answering["tool_call_id"]
    assert answering["name"] == "look"


def test_tools_are_offered_with_their_schema(agentflow: Kit) -> None:
    """A6: typed parameters and a docstring become the tool's JSON Schema."""
    agentflow.agent(tools=[look], replies=[{"text": "ok"}])
    agentflow.send("hi")
    offered = {tool["function"]["name"]: tool["function"] for tool in agentflow.requests[0].tools}
    assert offered["look"]["description"] == "Look at a place."
    assert offered["look"]["parameters"]["required"] == ["place"]
    assert offered["look"]["parameters"]["additionalProperties"] is False


def test_a_tool_turn_takes_four_commits(agentflow: Kit) -> None:
    """T11: claim, reply, result with the next call, end."""
    agentflow.agent(tools=[look], replies=[{"tool_calls": [call("look", place="north")]}, {"text": "ok"}])
    agentflow.send("Is it quiet?")
    assert agentflow.commits == 4


def test_a_plain_turn_takes_two_commits(agentflow: Kit) -> None:
    """T11, R4: as many on the hundredth turn as on the first."""
    agentflow.agent(replies=lambda request: {"text": "ok"})
    taken = []
    for _ in range(10):
        before = agentflow.commits
        agentflow.send("hi")
        taken.append(agentflow.commits - before)
    assert taken == [2] * 10


def test_the_execution_is_recorded_with_its_status(agentflow: Kit, agentflow_db: str) -> None:
    """R5: executions with status and duration."""
    agentflow.agent(replies=[{"text": "ok"}, {"error": {"kind": "auth"}}])
    agentflow.send("one")
    agentflow.send("two")
    found = rows(agentflow_db, "SELECT status, duration_ms >= 0 FROM execution ORDER BY number")
    assert [(status, bool(measured)) for status, measured in found] == [("DONE", True), ("ERROR", True)]


def test_a_result_is_the_object_that_json_prints(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok", "usage": {"input": 10, "output": 2}}])
    result = agentflow.send("hi", turn_id="t-1")
    assert result.as_dict() == {
        "schema": "agentflow.result/1",
        "session_id": "s-1",
        "turn_id": "t-1",
        "step_order": 1,
        "state": "done",
        "answer": "ok",
        "message_id": agentflow.path()[-1]["id"],
        "truncated": False,
        "data": None,
        "output": None,
        "pending_kind": None,
        "question": None,
        "calls": [],
        "usage": {"input": 10, "output": 2, "cache_read": None, "cache_write": None, "total": 12},
        "cost": None,
        "limit": None,
        "aborted": False,
        "error": None,
    }


def test_a_result_can_be_asked_for_later_and_elsewhere(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "ok"}])
    result = agentflow.send("hi")
    agentflow.restart()
    again = agentflow.result(result.turn_id)
    assert {**again.as_dict()} == result.as_dict()


@pytest.mark.parametrize("handed_over", [False, True], ids=["own answer", "delegated answer"])
def test_an_answer_that_was_cut_says_so_live_and_later(agentflow: Kit, handed_over: bool) -> None:
    """T12: by whichever agent it was said; what a task's agent or an earlier reply had cut does not count."""
    cut = {"text": "so far", "finish_reason": "length"}
    agentflow.agent("helper", replies=[cut, cut] if handed_over else [cut])
    delegated = {"tool_calls": [call("delegate", agent="helper", message="go on")]}
    replies = [delegated] if handed_over else [cut]
    asked = {"tool_calls": [call("task", agent="helper", prompt="look")]}
    agentflow.agent("parent", replies=[*replies, asked, {"text": "whole"}], sub_agents=["helper"])
    results = [agentflow.send("one"), agentflow.send("two")]
    assert [result.truncated for result in results] == [True, False]
    agentflow.restart()
    again = [agentflow.result(result.turn_id) for result in results]
    assert [result.as_dict() for result in again] == [result.as_dict() for result in results]
