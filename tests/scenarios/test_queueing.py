"""Turns that wait: order, merging, and what becomes of them however the running turn ends (C18-C25, B55)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import InvalidInput, Receipt, Runtime, ScriptedModel
from agentflow.store.session import waiting
from agentflow.testing import Kit
from tests.scenarios.support import Gate, call


def message(text: str, queue: Any = False, **fields: Any) -> dict[str, Any]:
    told = {"id": f"m-{text}", "role": "user", "content": text}
    return {"type": "client.message", "agent_id": "test", "message": told, "queue": queue, **fields}


def echo(kit: Kit) -> None:
    kit.agent(replies=lambda request: {"text": f"to {request.messages[-1]['content']}"})


def inputs(kit: Kit) -> list[str]:
    """What users said, in the order it was recorded."""
    told = [event.data["message"] for event in kit.events("message.new")]
    return [each["content"] for each in told if each["role"] == "user"]


ENDINGS = ["done", "stopped", "failed", "killed"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_order_is_that_of_arrival_however_the_turn_ends(agentflow: Kit, ending: str) -> None:
    """B55: queue A, B, then merge C, D, then E, during a turn that ends in each way; then F."""
    gate = Gate({"error": {"kind": "auth"}} if ending == "failed" else {"text": "first"})

    async def reply(request: Any) -> dict[str, Any]:
        return await gate(request) if len(agentflow.requests) == 1 else {"text": "ok"}

    agentflow.agent(replies=reply)
    first = agentflow.submit(message("first"))
    receipts = [
        agentflow.submit(message(text, queue))
        for text, queue in (("A", True), ("B", True), ("C", "merge"), ("D", "merge"), ("E", True))
    ]
    assert all(receipt.queued for receipt in receipts)
    assert receipts[2].turn_id == receipts[3].turn_id
    assert agentflow.status()["queued"] == 4
    if ending == "stopped":
        agentflow.run(agentflow.runtime.stop("s-1", first.turn_id))
    elif ending == "killed":
        agentflow.kill()
        agentflow.reopen()
    else:
        gate.open()
    last = agentflow.submit(message("F", queue=True))
    agentflow.result(last.turn_id)
    assert inputs(agentflow) == ["first", "A", "B", "C", "D", "E", "F"]
    assert agentflow.status()["queued"] == 0
    started = [event.data["turn_id"] for event in agentflow.events("turn.started")]
    assert len(started) == len(set(started)) == 6
    assert [agentflow.result(receipt.turn_id).state for receipt in receipts] == ["done"] * 5


def test_a_queued_message_sees_the_reply_it_waited_for(agentflow: Kit) -> None:
    """seed: A queued message sees the reply it waited for, so it reads as a follow-up question."""
    gate = Gate({"text": "the reply"}, {"text": "the second"})
    agentflow.agent(replies=gate)
    agentflow.submit(message("one"))
    second = agentflow.submit(message("two", queue=True))
    gate.open()
    assert agentflow.result(second.turn_id).answer == "the second"
    assert [each["content"] for each in agentflow.path()] == ["one", "the reply", "two", "the second"]


def test_the_next_turn_starts_in_the_transaction_that_ends_one(agentflow: Kit) -> None:
    """T10: its `turn.started` directly follows that `done`."""
    gate = Gate({"text": "1"}, {"text": "2"})
    agentflow.agent(replies=gate)
    agentflow.submit(message("one"))
    second = agentflow.submit(message("two", queue=True))
    gate.open()
    agentflow.result(second.turn_id)
    types = [event.type for event in agentflow.events()]
    assert types[types.index("done") + 1] == "turn.started"


def test_merged_submits_share_one_turn_and_the_later_client_state_wins(agentflow: Kit) -> None:
    """C22. seed: Each merged submit gets back the same turn_id. If two submits set client.state, the later one
    wins."""
    gate = Gate({"text": "first"}, {"text": "both"})
    agentflow.agent(replies=gate)
    agentflow.submit(message("first"))
    one = agentflow.submit(message("Sam had 120ml", "merge", turn_id="t-1", client={"state": 1, "context": ["a"]}))
    two = agentflow.submit(message("oh and a nap at 2", "merge", turn_id="t-2", client={"state": 2, "context": ["b"]}))
    assert (one.turn_id, two.turn_id) == ("t-1", "t-1")
    gate.open()
    assert agentflow.result("t-2").answer == "both"
    assert [each["content"] for each in agentflow.path()][2:] == ["Sam had 120ml", "oh and a nap at 2", "both"]


def test_a_resent_merge_submit_is_not_added_twice(agentflow: Kit) -> None:
    """B47 (iv), C19: by its own turn id and by its message's id."""
    gate = Gate({"text": "first"}, {"text": "both"})
    agentflow.agent(replies=gate)
    agentflow.submit(message("first"))
    agentflow.submit(message("a", "merge", turn_id="t-1"))
    agentflow.submit(message("b", "merge", turn_id="t-2"))
    before = agentflow.events()
    for again in (message("b", "merge", turn_id="t-2"), message("b", "merge"), message("a", "merge")):
        receipt = agentflow.submit(again)
        assert (receipt.turn_id, receipt.replayed, receipt.queued) == ("t-1", True, True)
    assert agentflow.events() == before
    gate.open()
    agentflow.result("t-1")
    assert inputs(agentflow) == ["first", "a", "b"]
    assert agentflow.submit(message("b", "merge")).replayed


def test_an_unflagged_submit_goes_behind_a_waiting_queue_and_the_first_starts(agentflow: Kit) -> None:
    """C21: after a restart nothing overtakes what waits."""
    gate = Gate({"text": "never said"})
    agentflow.agent(replies=gate)
    agentflow.submit(message("first"))
    agentflow.submit(message("A", queue=True))
    agentflow.kill()
    agentflow.reopen()
    echo(agentflow)
    last = agentflow.submit(message("B"))
    assert last.queued
    agentflow.result(last.turn_id)
    assert inputs(agentflow) == ["first", "A", "B"]


def test_draining_picks_up_queues_that_were_left_behind(agentflow: Kit) -> None:
    """C21: `Runtime.open(drain=True)`."""
    gate = Gate({"text": "never said"})
    agentflow.agent(replies=gate)
    agentflow.submit(message("first"))
    waiting = [agentflow.submit(message(text, queue=True)) for text in "AB"]
    agentflow.kill()
    agentflow.reopen()
    model = ScriptedModel([{"text": "one"}, {"text": "two"}], name="scripted/test")

    async def drained() -> list[str | None]:
        opened = Runtime.open(agentflow.project, db=agentflow._db, drain=True, open_model=lambda *_: model)
        async with opened as runtime:
            return [(await runtime.result("s-1", receipt.turn_id)).answer for receipt in waiting]

    assert agentflow.run(drained()) == ["one", "two"]


def test_a_closing_runtime_leaves_the_queue_intact(agentflow: Kit) -> None:
    """C21: no entry becomes a turn in a process that will not run it."""
    gate = Gate({"text": "never said"})
    agentflow.agent(replies=gate)
    agentflow.submit(message("first"))
    waiting = agentflow.submit(message("A", queue=True))
    agentflow.restart()
    assert agentflow.status()["queued"] == 1
    echo(agentflow)
    assert [ended.answer for ended in agentflow.run(agentflow.runtime.run_queue("s-1"))] == ["to A"]
    assert agentflow.result(waiting.turn_id).answer == "to A"


def test_a_waiting_turn_can_be_stopped(agentflow: Kit) -> None:
    """T1: `stop` from `idle`; the running turn and the others stay."""
    gate = Gate({"text": "first"})
    agentflow.agent(replies=lambda request: gate(request) if len(agentflow.requests) == 1 else {"text": "ok"})
    running = agentflow.submit(message("first"))
    stopped, kept = agentflow.submit(message("A", queue=True)), agentflow.submit(message("B", queue=True))
    assert agentflow.run(agentflow.runtime.stop("s-1", stopped.turn_id))["outcome"] == "stopped"
    assert agentflow.result(stopped.turn_id).aborted
    gate.open()
    assert agentflow.result(running.turn_id).state == "done"
    assert agentflow.result(kept.turn_id).answer == "ok"
    assert inputs(agentflow) == ["first", "B"]


def test_stop_with_drain_empties_the_queue(agentflow: Kit) -> None:
    """C24."""
    agentflow.agent(replies=Gate({"text": "x"}))
    running = agentflow.submit(message("first"))
    waiting = [agentflow.submit(message(text, queue=True)) for text in "AB"]
    agentflow.run(agentflow.runtime.stop("s-1", drain=True))
    assert [agentflow.result(each.turn_id).state for each in (running, *waiting)] == ["aborted"] * 3
    assert agentflow.status()["queued"] == 0
    echo(agentflow)
    assert agentflow.send("on").answer == "to on"


def test_a_waiting_input_that_cannot_be_delivered_any_more_fails_alone(agentflow: Kit) -> None:
    """C17: the merge runs again at delivery; what it refuses then must not hold up the end of the turn before."""
    gate = Gate({"text": "first"}, {"text": "to B"})
    agentflow.agent(replies=gate)
    first = agentflow.submit(message("first"))
    orphan = {"role": "tool", "tool_call_id": "c-1", "content": "of nothing"}
    bad = agentflow.submit({"type": "client.append", "messages": [orphan], "queue": True})
    good = agentflow.submit(message("B", queue=True))
    gate.open()
    assert agentflow.result(first.turn_id).state == "done"
    assert agentflow.result(good.turn_id).answer == "to B"
    failed = agentflow.result(bad.turn_id)
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error["code"] == "invalid_input"
    assert [event.data["turn_id"] for event in agentflow.events("done")] == [
        first.turn_id, bad.turn_id, good.turn_id,
    ]  # fmt: skip
    assert [event.seq for event in agentflow.events()] == list(range(1, len(agentflow.events()) + 1))


def test_a_queued_message_is_never_the_answer_to_a_question(agentflow: Kit) -> None:
    """C28, B55 (iv): neither one queued before the pause nor one queued during it."""
    gate = Gate({"tool_calls": [call("ask_user", questions=[{"header": "Plan", "question": "Which?"}])]})

    async def reply(request: Any) -> dict[str, Any]:
        first = len(agentflow.requests) == 1
        return await gate(request) if first else {"text": f"to {request.messages[-1]['content']}"}

    agentflow.agent(replies=reply)
    asking = agentflow.submit(message("first"))
    before = agentflow.submit(message("A", queue=True))
    gate.open()
    assert agentflow.result(asking.turn_id).state == "paused_ask_user"
    during = agentflow.submit(message("B", queue=True))
    assert during.queued
    assert agentflow.status()["pending"] is True
    agentflow.send("Pro")
    assert agentflow.result(asking.turn_id).answer == "to Plan: Pro"
    assert [agentflow.result(each.turn_id).answer for each in (before, during)] == ["to A", "to B"]


def test_an_interrupt_stops_the_turn_and_goes_before_the_queue(agentflow: Kit) -> None:
    """C25: interrupt it first, then submit, as one request; the others keep their order."""
    gate = Gate()
    agentflow.agent(replies=lambda request: gate(request) if len(agentflow.requests) == 1 else {"text": "ok"})
    running = agentflow.submit(message("first"))
    waiting = [agentflow.submit(message(text, queue=True)) for text in "AB"]
    now = agentflow.submit(message("now", interrupt=True))
    assert agentflow.result(running.turn_id).aborted
    assert agentflow.result(now.turn_id).answer == "ok"
    for each in waiting:
        agentflow.result(each.turn_id)
    assert inputs(agentflow) == ["first", "now", "A", "B"]


def test_queue_on_a_view_is_refused(agentflow: Kit) -> None:
    """C23. seed: Only client.message and client.append take the flag."""
    echo(agentflow)
    with pytest.raises(InvalidInput, match="cannot be queued"):
        agentflow.submit({"type": "client.messages", "messages": [{"role": "user", "content": "x"}], "queue": True})


def test_two_clients_that_queue_at_once_are_both_served_once(agentflow: Kit) -> None:
    """Races between two processes on one session: nothing is lost, nothing runs twice."""
    echo(agentflow)
    opened = [agentflow.runtime, agentflow.another_runtime()]

    async def race() -> list[Receipt]:
        receipts = await asyncio.gather(
            *[opened[n % 2].submit("s-1", message(f"{n}", queue=True, turn_id=f"t-{n}")) for n in range(10)]
        )
        await asyncio.gather(*[opened[n % 2].result("s-1", f"t-{n}") for n in range(10)])
        return receipts

    agentflow.run(race())
    assert sorted(inputs(agentflow)) == sorted(str(n) for n in range(10))
    started = [event.data["turn_id"] for event in agentflow.events("turn.started")]
    assert sorted(started) == sorted(f"t-{n}" for n in range(10))
    assert len(agentflow.requests) == 10


@pytest.mark.parametrize("mode", [True, "merge"])
@pytest.mark.parametrize(("limit", "most"), [("MAX_QUEUED", 2), ("MAX_BYTES", 400)])
def test_so_many_inputs_wait_and_no_more(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch, mode: Any, limit: str, most: int
) -> None:
    """Z3: whoever looks at a queue reads all of it. What interrupts goes before it, and is taken."""
    monkeypatch.setattr(waiting, limit, most)
    gate = Gate({"text": "first"})

    async def reply(request: Any) -> dict[str, Any]:
        return await gate(request) if len(agentflow.requests) == 1 else {"text": "ok"}

    agentflow.agent(replies=reply)
    first = agentflow.submit(message("first"))
    for text in ("A", "B"):
        agentflow.submit(message(text, mode))
    with pytest.raises(InvalidInput, match="queue: 2 inputs of") as refused:
        agentflow.submit(message("C" * 100, mode))
    assert refused.value.detail == {"field": "queue"}
    agentflow.submit({**message("now" * 50), "interrupt": True})
    gate.open()
    agentflow.result(first.turn_id)
    agentflow.until_idle()
    assert inputs(agentflow)[-2:] == ["A", "B"]
