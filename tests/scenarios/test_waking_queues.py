"""Whatever ends a turn or a pause lets the queue go on, in that same transaction, with nobody looking (C24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentflow import Runtime
from agentflow.testing import Kit
from tests.scenarios.support import Gate, call

ASKS = {"tool_calls": [call("ask_user", questions=[{"header": "Size", "question": "Which size?"}])]}


def say(text: str, **fields: Any) -> dict[str, Any]:
    message = {"id": f"m-{text}", "role": "user", "content": text}
    return {"type": "client.message", "agent_id": "test", "message": message, **fields}


def paused_with_one_waiting(kit: Kit, **settings: Any) -> None:
    """t-1 has been answered, t-2 asks, t-3 waits."""

    def reply(request: Any) -> dict[str, Any]:
        return ASKS if request.messages[-1]["content"] == "ask" else {"text": "ok"}

    kit.agent(replies=reply, settings=settings)
    kit.deliver(say("one", turn_id="t-1"))
    kit.deliver(say("ask", turn_id="t-2"))
    kit.submit(say("three", turn_id="t-3", queue=True))


def stop(kit: Kit) -> None:
    kit.stop()


def stop_by_name(kit: Kit) -> None:
    kit.stop(turn_id="t-2")


def checkout(kit: Kit) -> None:
    kit.run(kit.runtime.checkout("s-1", "m-one"))


def move(kit: Kit) -> None:
    kit.submit({"type": "head.move", "message_id": "m-one"})


def late_answer(kit: Kit) -> None:
    """The question's time is over; the answer is refused, and what the refusal found is written."""
    call_id = kit.status()["tool_call_id"]
    kit.tick(61)
    with pytest.raises(Exception, match="in time"):
        kit.answer("L", tool_call_id=call_id)


ENDS = [stop, stop_by_name, checkout, move, late_answer]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "from another process"])
@pytest.mark.parametrize("end", ENDS)
def test_the_next_turn_begins_in_the_transaction_that_ends_a_pause(
    agentflow: Kit, end: Callable[[Kit], None], elsewhere: bool
) -> None:
    """D09, D10: nobody asks for results."""
    paused_with_one_waiting(agentflow, ask_user_expiry_secs=60 if end is late_answer else 0)
    if elsewhere:
        agentflow.restart()
    before = agentflow.commits
    end(agentflow)
    assert agentflow.commits == before + 1
    assert agentflow.status()["turn_id"] == "t-3"
    assert agentflow.result("t-3").answer == "ok"


def test_a_stop_of_a_turn_whose_process_died_begins_the_next_one(agentflow: Kit) -> None:
    agentflow.agent(replies=Gate())
    agentflow.submit(say("one", turn_id="t-1"))
    agentflow.until("llm.call.requested")
    agentflow.submit(say("two", turn_id="t-2", queue=True))
    agentflow.kill()
    agentflow.reopen()
    agentflow.script([{"text": "ok"}])
    assert agentflow.stop(turn_id="t-1")["outcome"] == "stopped"
    assert agentflow.result("t-2").answer == "ok"


def test_a_stop_that_drains_begins_nothing(agentflow: Kit) -> None:
    paused_with_one_waiting(agentflow)
    agentflow.run(agentflow.runtime.stop("s-1", drain=True))
    assert agentflow.result("t-3").aborted
    assert agentflow.status()["status"] == "idle"


def one_shot(kit: Kit) -> Runtime:
    return Runtime.open(kit.project, db=kit._db, open_model=kit._agents.open_model, serve_queues=False)


@pytest.mark.parametrize("command", ["stop", "checkout"])
def test_a_process_that_is_about_to_end_leaves_the_queue_to_others(agentflow: Kit, command: str) -> None:
    """C21: until somebody runs what waits."""
    paused_with_one_waiting(agentflow)
    agentflow.restart()

    async def once() -> None:
        async with one_shot(agentflow) as runtime:
            await (runtime.stop("s-1") if command == "stop" else runtime.checkout("s-1", "m-one"))

    agentflow.run(once())
    assert (agentflow.status()["queued"], agentflow.status()["status"]) == (1, "idle")
    assert [ended.turn_id for ended in agentflow.run(agentflow.runtime.run_queue("s-1"))] == ["t-3"]


def test_a_result_begins_no_turn(agentflow: Kit) -> None:
    """T29: it waits for somebody who was asked to run the turn."""
    import asyncio

    agentflow.agent(replies=Gate())
    agentflow.submit(say("one", turn_id="t-1"))
    agentflow.submit(say("two", turn_id="t-2", queue=True))
    agentflow.restart()
    agentflow.script([{"text": "ok"}])

    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(agentflow.runtime.result("s-1", "t-2"), 0.6)

    agentflow.run(impatient())
    assert agentflow.status()["queued"] == 1
    again = agentflow.submit(say("two", turn_id="t-2", queue=True))
    assert again.replayed
    assert agentflow.result("t-2").answer == "ok"
