"""Calls of worker tools that are left open and settled later (C20, C33)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import InvalidInput, ModelRequest, SessionNotFound
from agentflow.testing import Kit
from tests.scenarios.support import call, results


def refund(amount: int) -> str:
    """Refund an amount, which a person does.

    Args:
        amount: How much.
    """
    raise AssertionError(f"never run here: {amount}")


def double(n: int) -> int:
    """Double a number.

    Args:
        n: The number.
    """
    return 2 * n


def waiting(kit: Kit, **entry: Any) -> str:
    """A turn whose refund is left open; the id of that call."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        asked = request.messages[-1]["content"] == "refund me"
        return {"tool_calls": [call("refund", amount=5), call("double", n=2)]} if asked else {"text": "ok"}

    kit.agent(tools=[double, {"flow": refund, "handler": "worker", **entry}], replies=reply)
    kit.submit({"type": "client.message", "turn_id": "t-1", "message": {"role": "user", "content": "refund me"}})
    requested = kit.until("tool.call.completed").seq
    assert requested is not None
    return next(str(event.data["id"]) for event in kit.events("tool.call.requested") if event.data["name"] == "refund")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["this process", "another process"])
def test_the_turn_waits_and_goes_on_with_the_result(agentflow: Kit, elsewhere: bool) -> None:
    call_id = waiting(agentflow)
    assert agentflow.status()["status"] == "running"
    runtime = agentflow.another_runtime() if elsewhere else agentflow.runtime
    settled = agentflow.run(runtime.settle("s-1", call_id, result={"refunded": 5}))
    assert settled == {"session_id": "s-1", "turn_id": "t-1", "outcome": "settled"}
    assert agentflow.result("t-1").answer == "ok"
    assert results(agentflow.requests[1]) == ['{"refunded":5}', "4"]


def test_an_error_is_an_error_result(agentflow: Kit) -> None:
    call_id = waiting(agentflow)
    agentflow.run(agentflow.runtime.settle("s-1", call_id, error="the bank is closed"))
    assert agentflow.result("t-1").state == "done"
    assert results(agentflow.requests[1]) == ["Error: the bank is closed", "4"]
    assert [event.data["name"] for event in agentflow.events("tool.call.errored")] == ["refund"]


def test_of_two_results_the_first_counts_and_a_late_one_is_ignored(agentflow: Kit) -> None:
    """C20: exactly one result, decided by one conditional update."""
    call_id = waiting(agentflow)

    async def race() -> list[str]:
        settle = agentflow.runtime.settle
        given = await asyncio.gather(*[settle("s-1", call_id, result=str(n)) for n in range(5)])
        return [each["outcome"] for each in given]

    assert sorted(agentflow.run(race())) == ["ignored"] * 4 + ["settled"]
    agentflow.result("t-1")
    before = agentflow.events()
    assert agentflow.run(agentflow.runtime.settle("s-1", call_id, result="late"))["outcome"] == "ignored"
    assert agentflow.events() == before


def test_what_is_not_left_open_cannot_be_settled(agentflow: Kit) -> None:
    waiting(agentflow)
    other = next(
        event.data["id"] for event in agentflow.events("tool.call.requested") if event.data["name"] == "double"
    )
    for call_id in ("nothing", other):
        with pytest.raises(InvalidInput):
            agentflow.run(agentflow.runtime.settle("s-1", call_id, result=1))
    with pytest.raises(SessionNotFound):
        agentflow.run(agentflow.runtime.settle("s-2", "x", result=1))


def test_its_time_is_the_tools(agentflow: Kit) -> None:
    """The limits table: a call that is not settled in time gets an error result."""
    waiting(agentflow, timeout_secs=0.01)
    assert agentflow.result("t-1").answer == "ok"
    assert "was not settled within 0.01 seconds" in results(agentflow.requests[1])[0]


def test_a_stop_closes_an_open_call(agentflow: Kit) -> None:
    """T24: and its late result is ignored."""
    call_id = waiting(agentflow)
    assert agentflow.run(agentflow.runtime.stop("s-1"))["outcome"] == "stopped"
    assert agentflow.result("t-1").aborted
    assert agentflow.run(agentflow.runtime.settle("s-1", call_id, result="late"))["outcome"] == "ignored"
    assert agentflow.send("go on").answer == "ok"


def test_a_process_that_dies_with_an_open_call_leaves_a_session_that_goes_on(agentflow: Kit) -> None:
    """T30: the call is closed, the late result ignored."""
    call_id = waiting(agentflow)
    agentflow.kill()
    agentflow.reopen()
    assert agentflow.send("go on").answer == "ok"
    assert agentflow.run(agentflow.runtime.settle("s-1", call_id, result="late"))["outcome"] == "ignored"
