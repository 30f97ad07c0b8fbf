"""However a step ends, what the store says is open is closed, and the next request just works (T24-T30, C36)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.agreeing_worker import REFERENCE
from tests.scenarios.invariants import check_session, check_tree, check_wire
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
        kit.agent("desk", tools=[tool], worker=REFERENCE, replies=reply)
    kit.agent(
        tools=[] if below else [tool], replies=hand_over, sub_agents=["desk"] if below else [],
        settings={"lean_history": False}, **({} if below else {"worker": REFERENCE}),
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


# -- a resumed step that ends before anything below it is rebuilt --

ASK = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])


async def held(resumed: bool) -> Any:
    """A hook that does not come back once the question is answered."""
    if resumed:
        await asyncio.Event().wait()


async def broken(resumed: bool) -> Any:
    if resumed:
        raise RuntimeError("no")


async def without(resumed: bool) -> Any:
    """A hook that gives the prompt what it needs, but not to a resumed step."""
    return {"vars": {} if resumed else {"tone": "kind"}}


def paused_below(kit: Kit, hook: Any, *, depth: int = 1) -> None:
    """A turn that was handed over, `depth` times, and paused there; its process is gone."""

    def main(request: ModelRequest) -> dict[str, Any]:
        asked = request.messages[-1]["content"] == "which one?"
        return {"tool_calls": [call("delegate", agent="a1", message="ask")]} if asked else {"text": "fine"}

    for level in range(depth, 0, -1):
        below = [] if level == depth else [f"a{level + 1}"]
        asks = ASK if not below else call("delegate", agent=below[0], message="ask")
        kit.agent(f"a{level}", replies=[{"tool_calls": [asks]}], sub_agents=below)
    prompt = "Be {{ vars.tone }}." if hook is without else "Be kind."
    kit.agent(
        prompt=prompt, replies=main, sub_agents=["a1"], hooks={"step_start": [hook]}, settings={"lean_history": False}
    )
    assert kit.send("which one?").state == "paused_ask_user"
    kit.kill()
    kit.reopen()


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("ending", ["stop", "close", "kill", "hook raises", "no prompt"])
def test_a_resumed_step_that_ends_at_once_closes_what_waits_below(
    agentflow: Kit, agentflow_db: str, ending: str, depth: int
) -> None:
    """D11: the delegate call gets its placeholder, the children are ABORTED, and every later turn works."""
    hook = {"hook raises": broken, "no prompt": without}.get(ending, held)
    paused_below(agentflow, hook, depth=depth)

    async def answer_and_end() -> None:
        receipt = await agentflow.runtime.answer(SESSION, text="green")
        if ending == "stop":
            await agentflow.runtime.stop(SESSION)
        elif ending not in ("kill", "close"):
            await agentflow.runtime.result(SESSION, receipt.turn_id)

    agentflow.run(answer_and_end())
    if ending == "kill":
        agentflow.kill()
        agentflow.reopen()
    else:
        agentflow.restart()
    for text in ("one", "two", "three"):
        assert agentflow.send(text).answer == "fine"
        check_wire(agentflow.requests[-1].messages)
    expected = "ERROR" if ending in ("hook raises", "no prompt") else "ABORTED"
    found = rows(agentflow_db, "SELECT status FROM execution WHERE turn = 1 ORDER BY number")
    assert found == [(expected,), *[("ABORTED",)] * depth]
    assert rows(agentflow_db, "SELECT name FROM tool_call WHERE status IN ('planned', 'started')") == []
    assert sum("Not finished" in str(m["content"]) for m in agentflow.requests[-1].messages) == 1
    agentflow.run(check_session(agentflow.runtime, agentflow_db, SESSION))
