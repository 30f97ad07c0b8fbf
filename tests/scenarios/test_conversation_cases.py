"""The black-box conversation cases that need the whole engine; the others are decided by the pure core.

`turn-011` and `queue-005` fail a decision: here the turn's worker or model fails, which is the same to the session.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import TurnAlreadyActive
from agentflow.testing import Kit
from tests.scenarios.support import Gate
from tests.scenarios.test_worker import Recorder
from tests.unit.conversation.test_cases import CASES, NEED_THE_ENGINE

HERE = {
    "regen-001", "regen-004", "turn-001", "turn-002", "turn-011", "queue-001", "queue-004", "queue-005", "merge-q-007",
    "void-005",
}  # fmt: skip


def given(kit: Kit, case: str) -> dict[str, Any]:
    """The case's conversation, recorded without a turn of the model's, and the case."""
    found: dict[str, Any] = CASES[case]
    messages = [{name: each[name] for name in ("id", "role", "content")} for each in found["given"]["messages"]]
    if messages:
        kit.deliver({"type": "client.append", "messages": messages})
    return found


def submitted(case: dict[str, Any]) -> dict[str, Any]:
    """The case's input, as it is submitted."""
    op = next(op for op in case["when"] if op["op"] == "submit")
    return dict(op["input"])


def types(kit: Kit, after: int) -> list[str]:
    return [event.type for event in kit.events(after_seq=after)]


def in_order(told: list[str], expected: list[str]) -> bool:
    rest = iter(told)
    return all(any(each == wanted for each in rest) for wanted in expected)


def busy(kit: Kit, case: str, *replies: dict[str, Any]) -> tuple[dict[str, Any], Gate, int]:
    """The case with its turn t1 running, the gate its model waits at, and the last event's number."""
    gate = Gate(*replies)
    kit.agent(replies=gate)
    found = given(kit, case)
    kit.submit({"type": "client.message", "turn_id": "t1", "message": {"role": "user", "content": "running"}})
    return found, gate, len(kit.events())


async def asked(kit: Kit) -> None:
    """Until the model has been asked."""
    while not kit.requests:  # noqa: ASYNC110  # the model under test has no event to wait for
        await asyncio.sleep(0)


def test_every_case_for_the_engine_is_here() -> None:
    assert set(NEED_THE_ENGINE) == HERE


def test_regen_001(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "Windy."}])
    case = given(agentflow, "regen-001")
    before = len(agentflow.events())
    agentflow.deliver(submitted(case))
    nodes = [node["message"] for node in agentflow.tree()["nodes"] if node["parent_id"] == "u1"]
    assert [node["content"] for node in nodes] == ["Sunny.", "Windy."]
    assert agentflow.tree()["head_id"] == nodes[1]["id"]
    assert in_order(types(agentflow, before), case["expect"]["events_in_order"])
    (requested,) = agentflow.events("llm.call.requested", after_seq=before)
    assert requested.data["call_id"] == nodes[1]["id"]


def test_regen_004(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"error": {"kind": "auth"}}])
    case = given(agentflow, "regen-004")
    before = len(agentflow.events())
    assert agentflow.deliver(submitted(case)).error is not None
    assert agentflow.tree()["head_id"] == "u1"
    assert [node["message"]["id"] for node in agentflow.tree()["nodes"]] == ["u1", "a1"]
    assert in_order(types(agentflow, before), case["expect"]["events_in_order"])


def test_turn_001(agentflow: Kit) -> None:
    case, gate, before = busy(agentflow, "turn-001", {"text": "done"})
    with pytest.raises(TurnAlreadyActive) as refused:
        agentflow.submit(submitted(case))
    assert refused.value.detail["turn_id"] == case["expect"]["names_turn"]
    assert types(agentflow, before) == []
    gate.open()
    agentflow.result("t1")


def test_turn_002(agentflow: Kit) -> None:
    case, gate, before = busy(agentflow, "turn-002", {"text": "done"})
    receipt = agentflow.submit(submitted(case))
    assert (receipt.turn_id, receipt.replayed) == ("t1", True)
    assert types(agentflow, before) == []
    gate.open()
    agentflow.result("t1")
    assert len(agentflow.requests) == 1


def test_turn_011(agentflow: Kit) -> None:
    def fail(request: dict[str, Any]) -> dict[str, Any]:
        running = request["messages"][-1]["content"] == "running"
        return {"actions": [{"type": "fail", "error": "offline"}]} if running else dict(request["proposed"])

    agentflow.agent(replies=[{"text": "next"}], worker=Recorder(client_messages=fail))
    given(agentflow, "turn-011")
    result = agentflow.send("running", turn_id="t1")
    assert result.error is not None
    assert result.error["message"] == "offline"
    completed = agentflow.events("turn.completed")[-1]
    assert (completed.turn_id, completed.data["error"]["message"]) == ("t1", "offline")
    assert agentflow.send("again").answer == "next"


@pytest.mark.parametrize("case_id", ["queue-001", "queue-005"])
def test_queue_001_and_005(agentflow: Kit, case_id: str) -> None:
    first = {"error": {"kind": "auth"}} if case_id == "queue-005" else {"text": "done"}
    case, gate, before = busy(agentflow, case_id, first, {"text": "second"})
    receipt = agentflow.submit(submitted(case))
    assert (receipt.turn_id, receipt.queued) == ("t2", True)
    gate.open()
    assert agentflow.result("t2").answer == "second"
    told = [f"{event.type}:{event.turn_id}" for event in agentflow.events(after_seq=before)]
    assert in_order(told, ["turn.completed:t1", "turn.started:t2"])
    assert agentflow.result("t1").state == ("failed" if case_id == "queue-005" else "done")


@pytest.mark.parametrize("case_id", ["queue-004", "merge-q-007"])
def test_queue_004_and_merge_q_007(agentflow: Kit, case_id: str) -> None:
    agentflow.agent(replies=[{"text": "at once"}])
    case = given(agentflow, case_id)
    receipt = agentflow.submit(submitted(case))
    assert receipt.queued is case["expect"]["queued"]
    assert [receipt.turn_id] == case["expect"]["turns_started"]
    assert agentflow.result(receipt.turn_id).answer == "at once"


def test_void_005(agentflow: Kit) -> None:
    """A view meets no running turn here (C18, C25): with `interrupt` it stops the call in flight, and what the model
    still says is ignored. The call's usage is unknown, not 0."""
    gate = Gate({"text": "late"})
    agentflow.agent(replies=lambda request: gate(request) if len(agentflow.requests) == 1 else {"text": "fresh"})
    case = given(agentflow, "void-005")
    agentflow.submit({"type": "client.message", "message": {"id": "x", "role": "user", "content": "running"}})
    agentflow.run(asked(agentflow))
    receipt = agentflow.submit({**submitted(case), "interrupt": True})
    gate.open()
    agentflow.result(receipt.turn_id)
    assert [message["content"] for message in agentflow.path()] == ["weather in NYC?", "fresh"]
    assert "late" not in [node["message"]["content"] for node in agentflow.tree()["nodes"]]
    (errored,) = agentflow.events("llm.call.errored")
    assert errored.data["usage"]["total"] is None
