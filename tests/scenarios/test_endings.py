"""However a step ends, what the store says is open is closed, and the next request just works (T24-T30, C36)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.invariants import check_session, check_tree
from tests.scenarios.support import call, rows

SESSION = "s-1"


def checked(answer: str) -> Any:
    """A hook that has the answer for a while."""


# -- a process that is killed while a hook has the answer --


@pytest.mark.parametrize("turns", [0, 1], ids=["the first turn", "a later turn"])
def test_a_kill_in_a_step_end_hook_leaves_no_hole(agentflow: Kit, agentflow_db: str, turns: int) -> None:
    """D12: the answer's text outlives the process, the head does not come before its message."""
    agentflow.agent(hooks={"step_end": [checked]}, replies=[*[{"text": "short"}] * turns, {"text": "a long answer"}])
    for _ in range(turns):
        agentflow.send("before")
    agentflow.kill_after(2)
    with pytest.raises(ProcessKilled):
        agentflow.send("long")
    check_tree(agentflow_db, SESSION)
    agentflow.reopen()
    agentflow.script([{"text": "next"}, {"text": "edited"}])
    assert agentflow.send("go on").answer == "next"
    assert [m["content"] for m in agentflow.path()][-4:] == ["long", "a long answer\n<INTERRUPTED>", "go on", "next"]
    before = agentflow.tree()["nodes"]
    asked = next(message for message in agentflow.path() if message["content"] == "long")
    assert agentflow.edit(asked["id"], "EDIT").answer == "edited"
    assert [m["content"] for m in agentflow.path()][-2:] == ["EDIT", "edited"]
    after = {node["message"]["id"]: node for node in agentflow.tree()["nodes"]}
    assert [node["parent_id"] for node in before] == [after[node["message"]["id"]]["parent_id"] for node in before]
    agentflow.run(check_session(agentflow.runtime, agentflow_db, SESSION))


# -- a result that was acknowledged and not recorded yet --


def refund(amount: int) -> str:
    """Refund an amount, which a person does.

    Args:
        amount: How much.
    """
    raise AssertionError(f"never run here: {amount}")


def waiting(kit: Kit, *, below: bool = False, **settings: Any) -> str:
    """A turn whose refund is left open, by the main agent or by one it was handed to; the id of that call."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        asked = request.messages[-1]["content"] == "refund me"
        return {"tool_calls": [call("refund", amount=5)]} if asked else {"text": "ok"}

    def hand_over(request: ModelRequest) -> dict[str, Any]:
        return {"tool_calls": [call("delegate", agent="desk", message="a refund")]} if below else reply(request)

    tool = {"flow": refund, "handler": "worker", **settings}
    if below:
        kit.agent("desk", tools=[tool], replies=reply)
    kit.agent(
        tools=[] if below else [tool], replies=hand_over, sub_agents=["desk"] if below else [],
        settings={"lean_history": False},
    )  # fmt: skip
    kit.submit({"type": "client.message", "turn_id": "t-1", "message": {"role": "user", "content": "refund me"}})
    requested = kit.until("tool.call.requested")
    while requested.data["name"] != "refund":
        requested = kit.until("tool.call.requested", after_seq=requested.seq or 0)
    return str(requested.data["id"])


ENDINGS = ["kill", "close", "stop"]


@pytest.mark.parametrize("below", [False, True], ids=["main", "sub-agent"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_settled_result_is_recorded_by_whatever_closes_the_call(
    agentflow: Kit, agentflow_db: str, ending: str, below: bool
) -> None:
    """C34, D01, D02: never "outcome unknown" after "settled"."""
    call_id = waiting(agentflow, below=below)
    elsewhere = agentflow.another_runtime()

    async def settle() -> str:
        return str((await elsewhere.settle(SESSION, call_id, result="PAID"))["outcome"])

    if ending == "kill":
        agentflow.kill()
        agentflow.reopen()
        elsewhere = agentflow.another_runtime()
        assert agentflow.run(settle()) == "settled"
        agentflow.script([{"text": "next"}])
        agentflow.send("hello again")
    else:

        async def settle_and_end() -> None:
            assert await settle() == "settled"
            await (agentflow.runtime.close() if ending == "close" else agentflow.runtime.stop(SESSION))

        agentflow.run(settle_and_end())
    paid = "SELECT message.content, tool_call.status, tool_call.ok FROM message JOIN tool_call "
    found = rows(agentflow_db, paid + "ON tool_call.result_id = message.id WHERE tool_call.name = 'refund'")
    assert found == [("PAID", "finished", 1)]
