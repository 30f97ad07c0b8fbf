"""One request at a time: the second is refused before it writes anything (C18)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import Receipt, Runtime, TurnAlreadyActive
from agentflow.testing import Kit
from tests.scenarios.support import Gate

BUSY = "A request is already being processed for this session"


def message(text: str) -> dict[str, Any]:
    return {"type": "client.message", "agent_id": "test", "message": {"role": "user", "content": text}}


async def submitted(runtime: Runtime, text: str) -> Receipt | TurnAlreadyActive:
    try:
        return await runtime.submit("s-1", message(text))
    except TurnAlreadyActive as refused:
        return refused


def test_a_request_during_a_turn_is_refused_and_names_the_turn(agentflow: Kit) -> None:
    """seed: If a request arrives while another turn of the same session is still running, it is rejected with the
    error A request is already being processed for this session."""
    gate = Gate({"text": "done"})
    agentflow.agent(replies=gate)
    receipt = agentflow.submit(message("first"))
    before = agentflow.events()
    with pytest.raises(TurnAlreadyActive, match=BUSY) as refused:
        agentflow.send("second")
    assert refused.value.code == "turn_already_active"
    assert refused.value.detail["turn_id"] == receipt.turn_id
    assert receipt.turn_id in refused.value.message
    assert agentflow.events() == before
    gate.open()
    assert agentflow.result(receipt.turn_id).answer == "done"
    assert [each["content"] for each in agentflow.path()] == ["first", "done"]


def test_status_says_which_turn_is_running(agentflow: Kit) -> None:
    """T3, T21."""
    gate = Gate({"text": "done"})
    agentflow.agent(replies=gate)
    receipt = agentflow.submit(message("first"))
    assert (agentflow.status()["status"], agentflow.status()["turn_id"]) == ("running", receipt.turn_id)
    gate.open()
    agentflow.result(receipt.turn_id)
    assert (agentflow.status()["status"], agentflow.status()["turn_id"]) == ("idle", None)


def test_another_process_is_refused_as_well(agentflow: Kit) -> None:
    """T28: a live turn is never adopted by anyone else."""
    gate = Gate({"text": "done"})
    agentflow.agent(replies=gate)
    receipt = agentflow.submit(message("first"))
    other = agentflow.another_runtime()
    with pytest.raises(TurnAlreadyActive, match=BUSY) as refused:
        agentflow.run(other.submit("s-1", message("second")))
    assert refused.value.detail["turn_id"] == receipt.turn_id
    assert refused.value.detail["retry_after"] > 0
    gate.open()
    assert agentflow.result(receipt.turn_id).state == "done"


@pytest.mark.parametrize("runtimes", [1, 2], ids=["one process", "two processes"])
def test_of_20_simultaneous_requests_one_is_accepted(agentflow: Kit, runtimes: int) -> None:
    """B49: one accepted, nineteen refused with the documented error, nothing of theirs is written."""
    gate = Gate({"text": "done"})
    agentflow.agent(replies=gate)
    opened = [agentflow.runtime, agentflow.another_runtime()][:runtimes]

    async def race() -> list[Receipt | TurnAlreadyActive]:
        outcomes = await asyncio.gather(*[submitted(opened[n % runtimes], f"text {n}") for n in range(20)])
        gate.open()
        won = next(each for each in outcomes if isinstance(each, Receipt))
        for runtime in opened:
            await runtime.result("s-1", won.turn_id)
        return outcomes

    outcomes = agentflow.run(race())
    refused = [each for each in outcomes if isinstance(each, TurnAlreadyActive)]
    assert len(refused) == 19
    assert all(each.message.startswith(BUSY) for each in refused)
    assert len(agentflow.requests) == 1
    assert [each["role"] for each in agentflow.path()] == ["user", "assistant"]
    assert [event.seq for event in agentflow.events()] == list(range(1, len(agentflow.events()) + 1))


def test_the_next_request_after_done_is_accepted_at_once(agentflow: Kit) -> None:
    """T10: the session is released in the transaction that says `done`."""
    agentflow.agent(replies=[{"text": "one"}, {"text": "two"}])

    async def at_once() -> str | None:
        runtime = agentflow.runtime
        first = await runtime.submit("s-1", message("a"))
        async for event in runtime.events("s-1", turn_id=first.turn_id):
            if event.type == "done":
                second = await runtime.submit("s-1", message("b"))
                return (await runtime.result("s-1", second.turn_id)).answer
        return None

    assert agentflow.run(at_once()) == "two"


def test_another_session_is_not_held_up(agentflow: Kit) -> None:
    agentflow.agent(replies=lambda request: {"text": request.session_id})
    receipt = agentflow.submit(message("first"))
    assert agentflow.send("hi", session="s-2").answer == "s-2"
    assert agentflow.result(receipt.turn_id).answer == "s-1"


def test_whoever_submitted_may_leave_and_the_turn_goes_on(agentflow: Kit) -> None:
    """T26: a dropped client connection does not stop a turn."""
    agentflow.agent(replies=[{"text": "complete"}])

    async def leave() -> str:
        runtime = agentflow.runtime
        receipt = await runtime.submit("s-1", message("first"))
        reader = asyncio.ensure_future(runtime.result("s-1", receipt.turn_id))
        await asyncio.sleep(0)
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        return receipt.turn_id

    assert agentflow.result(agentflow.run(leave())).answer == "complete"


def test_whoever_leaves_while_the_request_is_recorded_leaves_no_dead_turn(agentflow: Kit) -> None:
    """T26, T28: claim and start are one piece of work; the session neither hangs nor loses the turn."""
    agentflow.agent(replies=[{"text": "complete"}, {"text": "next"}])

    async def leave() -> None:
        submitting = asyncio.ensure_future(agentflow.runtime.submit("s-1", {**message("first"), "turn_id": "t-1"}))
        while agentflow.commits == 0:  # noqa: ASYNC110  # the commit happens on a thread that sets no event
            await asyncio.sleep(0)
        submitting.cancel()
        await asyncio.gather(submitting, return_exceptions=True)

    agentflow.run(leave())
    assert agentflow.result("t-1").answer == "complete"
    assert agentflow.send("second").answer == "next"


def test_a_queued_turn_is_alive_from_the_commit_on_that_starts_it(agentflow: Kit) -> None:
    """B49, T28: the end of a turn starts the next one; a request of that very moment must not take it for dead."""
    agentflow.agent(replies=lambda request: {"text": "ok"})

    async def crowd() -> list[str]:
        runtime = agentflow.runtime
        queued = [await runtime.submit("s-1", {**message(f"q {n}"), "queue": True}) for n in range(10)]
        turns = {each.turn_id for each in queued}
        while (await runtime.status("s-1"))["status"] == "running":
            await asyncio.gather(*[submitted(runtime, "too early") for _ in range(3)])
        for turn_id in turns:
            await runtime.result("s-1", turn_id)
        return [(await runtime.result("s-1", turn_id)).state for turn_id in turns]

    assert agentflow.run(crowd()) == ["done"] * 10
    assert not any(event.data["aborted"] for event in agentflow.events("done"))
