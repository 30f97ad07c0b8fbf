"""What a request says holds for its turn, in the queue, over pauses, in any process (C8, C22, C37)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import FlowContext, InvalidInput, TurnResult
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import Gate, call, rows

ASKS = {"tool_calls": [call("ask_user", questions=[{"header": "Size", "question": "Which size?"}])]}
NOTES = {"tool_calls": [call("note")]}
ONE = {"max_iterations": 1, "on_limit": "stop"}
CITY = {"city": {"type": "string", "default": "Rome"}}


def say(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": text}, **fields}


def noting(kit: Kit, replies: Any) -> list[tuple[Any, Any]]:
    """An agent whose tool notes what its request said; the notes."""
    notes: list[tuple[Any, Any]] = []

    def note(ctx: FlowContext) -> str:
        """Note what the request said."""
        notes.append((ctx.inputs["city"], dict(ctx.client)))
        return "noted"

    kit.agent(tools=[note], inputs=CITY, prompt="In {{ inputs.city }}.", replies=replies)
    return notes


def limit_of(result: TurnResult) -> str | None:
    return result.limit if result.state == "failed" else None


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
@pytest.mark.parametrize("queue", [True, "merge"])
def test_what_a_queued_request_says_holds_for_its_turn(agentflow: Kit, queue: Any, elsewhere: bool) -> None:
    """D03."""
    gate = Gate({"text": "first"})

    async def reply(request: Any) -> dict[str, Any]:
        return NOTES if request.messages[-1]["content"] == "second" else await gate(request)

    notes = noting(agentflow, reply)
    agentflow.submit(say("first"))
    said = {"inputs": {"city": "Oslo"}, "limits": ONE, "client": {"state": 1}}
    second = agentflow.submit(say("second", queue=queue, **said))
    if elsewhere:
        agentflow.kill()
        agentflow.reopen()
        gate.open()
        agentflow.run(agentflow.runtime.run_queue("s-1"))
    gate.open()
    assert limit_of(agentflow.result(second.turn_id)) == "max_iterations"
    assert notes == [("Oslo", {"state": 1})]
    assert "In Oslo." in agentflow.requests[-1].messages[0]["content"]


def test_each_queued_turn_has_its_own_limits(agentflow: Kit) -> None:
    """D04: the request that wakes the queue is not the one that begins."""
    gate = Gate({"text": "never"})

    async def reply(request: Any) -> dict[str, Any]:
        last = request.messages[-1]
        if last["role"] == "tool":
            return {"text": "through"}
        return await gate(request) if last["content"] == "first" else NOTES

    noting(agentflow, reply)
    agentflow.submit(say("first"))
    fourth = agentflow.submit(say("fourth", queue=True))
    agentflow.kill()
    agentflow.reopen()
    gate.open()
    fifth = agentflow.submit(say("fifth", queue=True), limits=ONE)
    assert agentflow.result(fourth.turn_id).answer == "through"
    assert limit_of(agentflow.result(fifth.turn_id)) == "max_iterations"


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
@pytest.mark.parametrize("by", ["answer", "message"])
def test_what_a_request_says_holds_over_a_pause(agentflow: Kit, by: str, elsewhere: bool) -> None:
    """D05: and what the answer says anew wins, key by key."""
    notes = noting(agentflow, [ASKS, NOTES])
    first = {"inputs": {"city": "Oslo"}, "client": {"state": 1, "context": ["a"]}}
    paused = agentflow.deliver(say("go", **first), limits=ONE)
    assert paused.question is not None
    if elsewhere:
        agentflow.restart()
    anew: dict[str, Any] = {"client": {"state": 2}, "limits": {"max_tool_calls": 9}}
    call_id = paused.question["tool_call_id"]
    answer = say("L", **anew) if by == "message" else {
        "type": "ask_user.answer", "tool_call_id": call_id, "answers": "L", **anew,
    }  # fmt: skip
    assert limit_of(agentflow.deliver(answer)) == "max_iterations"
    assert notes == [("Oslo", {"state": 2, "context": ["a"]})]


def test_what_an_answer_says_holds_over_the_next_pause_too(agentflow: Kit) -> None:
    notes = noting(agentflow, [ASKS, ASKS, NOTES])
    agentflow.send("go", inputs={"city": "Oslo"})
    agentflow.deliver(say("S", inputs={"city": "Lima"}, limits=ONE))
    agentflow.restart()
    assert limit_of(agentflow.deliver(say("L"))) == "max_iterations"
    assert notes == [("Lima", {})]


def test_a_turn_leaves_nothing_of_its_request_to_the_next_one(agentflow: Kit) -> None:
    notes = noting(agentflow, [NOTES, {"text": "done"}] * 2)
    agentflow.send("one", inputs={"city": "Oslo"}, client={"state": 1}, limits={"max_iterations": 5})
    assert agentflow.send("two").answer == "done"
    assert notes == [("Oslo", {"state": 1}), ("Rome", {})]


def test_a_turn_that_died_before_it_began_begins_again_with_what_its_request_said(agentflow: Kit) -> None:
    """T30: its process was killed right after the claim, before its first hook or model call."""

    def look(ctx: FlowContext) -> None:
        """Before the model sees the message."""

    notes: list[Any] = []

    def note(ctx: FlowContext) -> str:
        """Note what the request said."""
        notes.append((ctx.inputs["city"], dict(ctx.client)))
        return "noted"

    agentflow.agent(tools=[note], hooks={"step_start": [look]}, inputs=CITY, replies=[NOTES])
    agentflow.kill_after(1)
    with pytest.raises(ProcessKilled):
        agentflow.submit(say("go", turn_id="t-1", inputs={"city": "Oslo"}, limits=ONE, client={"state": 1}))
    agentflow.reopen()
    agentflow.submit(say("go", turn_id="t-1"))
    assert limit_of(agentflow.result("t-1")) == "max_iterations"
    assert notes == [("Oslo", {"state": 1})]


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"limits": {"max_iteration": 1}}, "limits.max_iteration"),
        ({"limits": {"observability": False}}, "limits.observability"),
        ({"limits": {"max_iterations": -1}}, "max_iterations"),
        ({"limits": []}, "limits"),
        ({"inputs": {"town": "Oslo"}}, "town"),
        ({"tools": [{"name": "a b"}]}, "tools[0].name"),
        ({"tools": [{"name": "a"}, {"name": "a"}]}, "tools[1].name"),
        ({"tools": [{"name": "a", "parameters": []}]}, "tools[0].parameters"),
        ({"tools": {"name": "a"}}, "tools"),
    ],
)
@pytest.mark.parametrize("queue", [False, True])
def test_what_cannot_hold_is_refused_before_anything_is_written(
    agentflow: Kit, said: dict[str, Any], field: str, queue: bool
) -> None:
    gate = Gate({"text": "first"})
    agentflow.agent(inputs=CITY, replies=gate)
    if queue:
        agentflow.submit(say("first"))
    with pytest.raises(InvalidInput) as caught:
        agentflow.submit(say("second", queue=queue, **said))
    assert field in str(caught.value)
    if queue:
        gate.open()
        assert agentflow.status()["queued"] == 0


def test_the_tools_of_a_client_are_stored_once_a_session(agentflow: Kit, agentflow_db: str) -> None:
    """C37, R3: and held by each turn that was given them."""
    tools = [{"name": "open_page", "description": "Open it.", "parameters": {"type": "object"}}]
    agentflow.agent(replies=[{"text": "one"}, {"text": "two"}, {"text": "three"}])
    for text, given in (("one", tools), ("two", tools), ("three", [])):
        agentflow.deliver(say(text, tools=given))
    (one,), (two,), (three,) = rows(agentflow_db, "SELECT tools_hash FROM turn ORDER BY number")
    assert one == two
    assert three is None
    assert len(rows(agentflow_db, f"SELECT body FROM blob WHERE hash = '{one}'")) == 1
