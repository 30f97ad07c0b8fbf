"""What a flow is given besides its arguments (A6, C8)."""

from __future__ import annotations

from typing import Any

from agentflow import FlowContext
from agentflow.testing import Kit
from tests.scenarios.support import Gate, call, watched

ASK = {"tool_calls": [call("note")]}
SEEN: list[FlowContext] = []


def note(ctx: FlowContext) -> str:
    """Note."""
    SEEN.append(ctx)
    return "noted"


def test_a_flow_knows_who_called_it_and_with_what(agentflow: Kit) -> None:
    """C8: `client` is handed to flows; A6: session id, inputs, logger."""
    agentflow.agent(tools=[note], inputs={"customer": {"type": "string"}}, replies=[ASK, {"text": "ok"}])
    client = {"state": {"page": 3}, "context": ["cart"], "forwarded_props": {"a": 1}}
    result = agentflow.send("hi", inputs={"customer": "Ann"}, client=client)
    ctx = SEEN.pop()
    (asked,) = agentflow.events("tool.call.requested")
    assert (ctx.session_id, ctx.turn_id, ctx.agent_id) == ("s-1", result.turn_id, "test")
    assert ctx.call_id == asked.data["id"]
    assert dict(ctx.inputs) == {"customer": "Ann"}
    assert dict(ctx.client) == client
    assert ctx.logger.name == "agentflow.agent.test"
    assert ctx.cancelled() is False


def test_the_model_does_not_see_the_context(agentflow: Kit) -> None:
    agentflow.agent(tools=[note], replies=[{"text": "ok"}])
    agentflow.send("hi")
    offered = {tool["function"]["name"]: tool["function"] for tool in agentflow.requests[0].tools}
    assert offered["note"]["parameters"].get("properties", {}) == {}


def test_each_call_has_an_idempotency_key_of_its_own(agentflow: Kit) -> None:
    agentflow.agent(tools=[note], replies=[ASK, ASK, {"text": "ok"}, ASK, {"text": "ok"}])
    agentflow.send("one", turn_id="t-1")
    agentflow.send("two", turn_id="t-2")
    keys = [ctx.idempotency_key for ctx in SEEN]
    SEEN.clear()
    assert len(set(keys)) == 3
    assert keys[0].startswith("s-1/t-1/")


def test_calls_of_two_runs_have_different_keys_though_their_ids_are_the_same(agentflow: Kit) -> None:
    """T14: a provider numbers its calls afresh for each agent; the key tells the runs of a turn apart."""
    same = {"tool_calls": [{**call("note"), "id": "call_0"}]}
    agentflow.agent("child", tools=[note], replies=[same, {"text": "ok"}, same, {"text": "ok"}])
    tasks = [call("task", agent="child", prompt=f"part {number}") for number in range(2)]
    agentflow.agent("chief", tools=[note], sub_agents=["child"], replies=[same, {"tool_calls": tasks}, {"text": "ok"}])
    agentflow.send("hi", turn_id="t-1")
    keys = [ctx.idempotency_key for ctx in SEEN]
    SEEN.clear()
    assert keys[0] == "s-1/t-1/call_0"
    assert len(set(keys)) == 3


def test_a_flow_streams_events_to_the_client(agentflow: Kit) -> None:
    """`emit`: told live with the call's id, not logged."""

    def work(ctx: FlowContext) -> str:
        """Work."""
        ctx.emit("progress", {"percent": 50})
        return "worked"

    async def work_async(ctx: FlowContext) -> str:
        """Work, too."""
        ctx.emit("progress", {"percent": 80})
        return "worked"

    gate = Gate({"tool_calls": [call("work")]}, {"tool_calls": [call("work_async")]}, {"text": "ok"})
    agentflow.agent(tools=[work, work_async], replies=gate)
    told = [event for event in watched(agentflow, "hi", gate) if event.type == "flow.emitted"]
    calls = [event.data["id"] for event in agentflow.events("tool.call.requested")]
    assert [event.data for event in told] == [
        {"call_id": calls[0], "name": "progress", "data": {"percent": 50}},
        {"call_id": calls[1], "name": "progress", "data": {"percent": 80}},
    ]
    assert all(event.seq is None for event in told)
    assert agentflow.events("flow.emitted") == []


def test_a_flow_that_timed_out_hears_that_nobody_waits(agentflow: Kit) -> None:
    """T23: `cancelled()` turns true, the late result is dropped."""
    import threading

    heard = threading.Event()

    def wait(ctx: FlowContext) -> str:
        """Wait."""
        while not ctx.cancelled():
            pass
        heard.set()
        return "too late"

    entry: dict[str, Any] = {"flow": wait, "timeout_secs": 0.01}
    agentflow.agent(tools=[entry], replies=[{"tool_calls": [call("wait")]}, {"text": "ok"}])
    assert agentflow.send("hi").answer == "ok"
    assert heard.wait(10)
    assert "too late" not in str(agentflow.path())
