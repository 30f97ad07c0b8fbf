"""Tools that an input brings for its turn: offered, kept with the turn, performed by the client (C37)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput, ModelRequest
from agentflow.testing import Kit
from tests.scenarios.support import Gate, call, results
from tests.scenarios.test_client_tools import ASK, DONE, SHOW, Reply, double, reply

MAP = {"name": "map", "description": "Show a map.", "parameters": {"type": "object", "properties": {"at": {}}}}
OTHER = {"name": "show", "description": "Another form.", "parameters": {}}


def say(text: str, *tools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "client.message", "message": {"role": "user", "content": text}, "tools": list(tools), **fields}


def names(request: ModelRequest) -> list[str]:
    return [tool["function"]["name"] for tool in request.tools]


def settle(kit: Kit, name: str) -> str:
    (call_id,) = [each["tool_call_id"] for each in kit.status()["calls"] if each["name"] == name]
    return str(kit.run(kit.runtime.settle("s-1", call_id, result="there"))["outcome"])


def test_they_hold_for_their_turn_over_pauses_in_any_process(agentflow: Kit) -> None:
    """After the agent's own tools and its own client tools; an agent's own schema holds for the same name."""
    replies = [reply(call("map", at="home")), reply(ASK), DONE, DONE]
    agentflow.agent(tools=[SHOW, double], replies=replies)
    paused = agentflow.deliver(say("Hi.", MAP, OTHER, turn_id="t-1"))
    assert (paused.pending_kind, paused.calls[0]["arguments"]) == ("tools", {"at": "home"})
    agentflow.kill()
    agentflow.reopen()
    assert settle(agentflow, "map") == "settled"
    assert agentflow.result("t-1").pending_kind == "questions"
    agentflow.restart()
    assert agentflow.answer("this one").answer == "Done."
    assert [names(request) for request in agentflow.requests] == [["double", "ask_user", "show", "map"]] * 3
    assert agentflow.requests[0].tools[2]["function"]["parameters"] == SHOW["parameters"]
    assert results(agentflow.requests[1]) == ["there"]
    agentflow.send("Next.")
    assert names(agentflow.requests[-1]) == ["double", "ask_user", "show"]


def test_those_of_an_answer_hold_from_its_step_on(agentflow: Kit) -> None:
    """C8: none keeps the former ones, others take their place."""
    agentflow.agent(replies=[reply(ASK), reply(ASK), DONE])
    agentflow.deliver(say("Hi.", MAP))
    agentflow.deliver({"type": "client.append", "messages": [{"role": "user", "content": "one"}]})
    agentflow.deliver(say("two", {**OTHER, "name": "page"}))
    assert [names(request) for request in agentflow.requests] == [
        ["ask_user", "map"], ["ask_user", "map"], ["ask_user", "page"],
    ]  # fmt: skip


def test_they_wait_in_the_queue_with_their_turn(agentflow: Kit) -> None:
    """C22: merged by name, the later wins."""
    gate = Gate(DONE)
    agentflow.agent(replies=[gate, DONE])
    agentflow.submit(say("Hi.", turn_id="t-1"))
    first = agentflow.submit(say("one", MAP, OTHER, queue="merge"))
    agentflow.submit(say("two", {**MAP, "description": "A better map."}, queue="merge"))
    gate.open()
    agentflow.result(first.turn_id)
    offered = [tool["function"] for tool in agentflow.requests[-1].tools]
    assert [(tool["name"], tool["description"]) for tool in offered[1:]] == [
        ("map", "A better map."), ("show", "Another form."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tools", "field"),
    [
        ([{**MAP, "name": "double"}], r"tools\[0\]\.name"),
        ([MAP, {**MAP, "name": "ask_user"}], r"tools\[1\]\.name"),
        ([{**MAP, "name": "delegate"}], r"tools\[0\]\.name"),
        ([MAP, MAP], r"tools\[1\]\.name"),
        ([{**MAP, "name": "a b"}], r"tools\[0\]\.name"),
        ([{**MAP, "parameters": {"type": "array"}}], r"tools\[0\]\.parameters: must be a JSON Schema of type object"),
        ([{**MAP, "parameters": {"type": "object", "properties": 1}}], r"tools\[0\]\.parameters: is no JSON Schema"),
        ([{**MAP, "handler": "client"}], r"tools\[0\]\.handler: unknown field"),
        ({}, "tools: must be a list"),
    ],
)
def test_what_the_agent_cannot_be_given_is_refused_and_nothing_written(agentflow: Kit, tools: Any, field: str) -> None:
    agentflow.agent(tools=[SHOW, double], replies=[reply(ASK)])
    agentflow.send("Hi.")
    before = agentflow.events()
    for fields in ({}, {"queue": True}, {"interrupt": True}):
        with pytest.raises(InvalidInput, match=field):
            agentflow.submit({**say("no", **fields), "tools": tools})
    assert agentflow.events() == before


def test_an_agent_that_was_handed_the_turn_has_them_and_a_task_has_not(agentflow: Kit) -> None:
    """C37, C38: the turn's client is there for whoever has the turn; a tool of its own keeps its name."""

    def sub(request: ModelRequest) -> Reply:
        return DONE if results(request) else reply(call("map"))

    agentflow.agent("sub", tools=[double], replies=sub)
    parent = [reply(call("task", agent="sub", prompt="Go.")), reply(call("delegate", agent="sub", message="a note"))]
    agentflow.agent("main", sub_agents=["sub"], replies=parent)
    assert agentflow.deliver(say("Hi.", MAP, {**MAP, "name": "other"}, turn_id="t-1")).pending_kind == "tools"
    agentflow.restart()
    settle(agentflow, "map")
    assert agentflow.result("t-1").answer == "Done."
    task, refused, handed, resumed = agentflow.requests_of("sub")
    assert [names(each) for each in (task, refused)] == [["double"]] * 2
    assert "there is no tool 'map'" in results(refused)[0]
    assert [names(each) for each in (handed, resumed)] == [["double", "ask_user", "map", "other"]] * 2


def test_a_file_that_changed_keeps_its_own_tool(agentflow: Kit) -> None:
    """A7: while the turn waited the agent got a tool of that name; the turn goes on."""
    agentflow.agent(replies=[reply(ASK)])
    agentflow.deliver(say("Hi.", {**MAP, "name": "double"}))
    agentflow.agent(tools=[double], replies=[DONE])
    assert agentflow.answer("this one").answer == "Done."
    assert agentflow.requests[-1].tools[0]["function"]["description"] == "Double a number."
