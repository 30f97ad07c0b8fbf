"""Every call id stands once in a request, whoever made it (D13, T14)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit
from tests.scenarios.invariants import check_wire
from tests.scenarios.support import call

QUESTIONS = [{"header": "Which", "question": "Which one?"}]


def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is quiet"


def numbered(request: ModelRequest) -> dict[str, Any]:
    """A provider that numbers its calls afresh in each reply; the second turn asks beside a call."""
    said = request.messages[-1]
    if said["role"] == "tool":
        return {"text": "fine"}
    asks = [{**call("ask_user", questions=QUESTIONS), "id": "call_1"}] if said["content"] == "ask" else []
    return {"tool_calls": [{**call("look", place="here"), "id": "call_0"}, *asks]}


@pytest.mark.parametrize("lean", [True, False], ids=["lean", "full"])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["this process", "another process"])
def test_a_resumed_turn_reads_no_id_twice(agentflow: Kit, lean: bool, elsewhere: bool) -> None:
    """A lean turn does not read the earlier call; the step that goes on with its answer does."""
    agentflow.agent(tools=[look], replies=numbered, settings={"lean_history": lean})
    agentflow.send("look")
    assert agentflow.send("ask").state == "paused_ask_user"
    if elsewhere:
        agentflow.kill()
        agentflow.reopen()
    assert agentflow.answer("green").answer == "fine"
    resumed = agentflow.requests[-1].messages
    check_wire(resumed)
    assert sum(len(message.get("tool_calls") or ()) for message in resumed) == 3
    agentflow.send("look")
    check_wire(agentflow.requests[-1].messages)


def test_ids_of_a_transcript_that_is_handed_in_meet_no_others(agentflow: Kit) -> None:
    """Imported exchanges that use one id each, and the model's own calls after them."""
    agentflow.agent(tools=[look], replies=numbered, settings={"lean_history": False})
    exchange: list[dict[str, Any]] = [
        {"role": "user", "content": "before"},
        {"role": "assistant", "tool_calls": [{"id": "call_0", "name": "look", "arguments": "{}"}]},
        {"role": "tool", "tool_call_id": "call_0", "content": "seen"},
        {"role": "assistant", "content": "so it is"},
    ]
    agentflow.view([*exchange, *exchange, {"role": "user", "content": "look"}])
    assert agentflow.path()[-1]["content"] == "fine"
    for request in agentflow.requests:
        check_wire(request.messages)
    assert sum(len(message.get("tool_calls") or ()) for message in agentflow.requests[-1].messages) == 3


def test_branches_and_regenerations_read_no_id_twice(agentflow: Kit) -> None:
    agentflow.agent(tools=[look], replies=numbered, settings={"lean_history": False})
    for text in ("one", "two"):
        agentflow.send(text)
    asked = next(message for message in agentflow.path() if message["content"] == "two")
    agentflow.edit(asked["id"], "another two")
    agentflow.regenerate()
    agentflow.send("three")
    for request in agentflow.requests:
        check_wire(request.messages)
