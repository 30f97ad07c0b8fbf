"""Calls of worker tools that are left open and settled later (C20, C33)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agentflow import CallNotFound, InvalidInput, ModelRequest, NoPendingQuestion, SessionNotFound
from agentflow.testing import Kit
from tests.scenarios.agreeing_worker import REFERENCE
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

    kit.agent(tools=[double, {"flow": refund, "handler": "worker", **entry}], worker=REFERENCE, replies=reply)
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


@pytest.mark.parametrize(
    ("said", "outcomes"),
    [("1 2 3", [*["CallAlreadyAnswered"] * 2, "settled"]), ("1 1 1", ["replayed", "replayed", "settled"])],
)
def test_of_several_results_the_first_counts(agentflow: Kit, said: str, outcomes: list[str]) -> None:
    """C39: exactly one result, decided under the session's lock; an equal one is the same request again."""
    call_id = waiting(agentflow)

    async def race(results: Sequence[str]) -> list[str]:
        settle = agentflow.runtime.settle
        given = [settle("s-1", call_id, result=each) for each in results]
        ended = await asyncio.gather(*given, return_exceptions=True)
        return sorted(each["outcome"] if isinstance(each, dict) else type(each).__name__ for each in ended)

    assert agentflow.run(race(said.split())) == outcomes
    agentflow.result("t-1")
    before = agentflow.events()
    assert agentflow.run(race(["late", "1"])) == ["CallAlreadyAnswered", "replayed"]
    assert agentflow.events() == before


def test_what_is_not_left_open_cannot_be_settled(agentflow: Kit) -> None:
    waiting(agentflow)
    other = next(
        event.data["id"] for event in agentflow.events("tool.call.requested") if event.data["name"] == "double"
    )
    with pytest.raises(InvalidInput, match="left neither to a worker nor to the client"):
        agentflow.run(agentflow.runtime.settle("s-1", other, result=1))
    with pytest.raises(CallNotFound, match="has no tool call 'nothing'"):
        agentflow.run(agentflow.runtime.settle("s-1", "nothing", result=1))
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


def test_a_late_result_never_meets_a_call_of_a_later_turn(agentflow: Kit) -> None:
    """T14, C29: a provider that numbers its calls afresh in each reply; whoever answers has nothing but the id."""
    numbered: dict[str, Any] = {"tool_calls": [{**call("refund", amount=5), "id": "call_0"}]}
    agentflow.agent(tools=[{"flow": refund, "handler": "worker"}], worker=REFERENCE, replies=[numbered, numbered])
    message = {"role": "user", "content": "refund me"}
    agentflow.submit({"type": "client.message", "message": message})
    first = agentflow.until("tool.call.requested")
    agentflow.stop()
    agentflow.submit({"type": "client.message", "message": message})
    second = agentflow.until("tool.call.requested", after_seq=agentflow.events("done")[-1].seq or 0)
    late = agentflow.run(agentflow.runtime.settle("s-1", str(first.data["id"]), result="too late"))
    assert late["outcome"] != "settled"
    assert second.data["id"] != first.data["id"]
    agentflow.stop()


def test_an_answer_sent_late_never_meets_the_question_of_a_later_turn(agentflow: Kit) -> None:
    """C29: a stale `tool_call_id` is refused."""
    ask = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    agentflow.agent(replies=[{"tool_calls": [{**ask, "id": "call_0"}]}] * 2 + [{"text": "ok"}])
    first = agentflow.send("one").question or {}
    agentflow.stop()
    agentflow.send("two")
    with pytest.raises(NoPendingQuestion, match="stopped"):
        agentflow.answer("late", tool_call_id=first["tool_call_id"])
    assert agentflow.answer("now").answer == "ok"


def test_calls_of_parallel_sub_agents_are_settled_one_by_one(agentflow: Kit) -> None:
    """C33, T35: a sub-agent's worker tools are left open too, whatever ids their provider gives."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        last = request.messages[-1]
        return {"text": last["content"]} if last["role"] == "tool" else {"tool_calls": [numbered]}

    numbered = {**call("refund", amount=5), "id": "call_0"}
    tasks = [call("task", agent="clerk", prompt=prompt) for prompt in ("first", "second")]
    agentflow.agent("clerk", tools=[{"flow": refund, "handler": "worker"}], worker=REFERENCE, replies=reply)
    agentflow.agent("main", sub_agents=["clerk"], replies=[{"tool_calls": tasks}, {"text": "both"}])
    receipt = agentflow.submit({"type": "client.message", "message": {"role": "user", "content": "refund both"}})
    open_calls: list[str] = []
    seq = 0
    while len(open_calls) < 2:
        requested = agentflow.until("tool.call.requested", after_seq=seq)
        seq = requested.seq or 0
        open_calls += [str(requested.data["id"])] if requested.data["name"] == "refund" else []
    for call_id, result in zip(reversed(open_calls), ("B", "A"), strict=True):
        outcome = agentflow.run(agentflow.runtime.settle("s-1", call_id, result=result))["outcome"]
        assert outcome == "settled"
    assert agentflow.result(receipt.turn_id).answer == "both"
    assert results(agentflow.requests_of("main")[1]) == ["A", "B"]
