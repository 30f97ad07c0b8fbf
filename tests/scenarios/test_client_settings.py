"""A pause for the client under other settings: workers, hooks, what is not kept, what is lean, what interrupts."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import InvalidInput, NoPendingQuestion
from agentflow.testing import Kit
from tests.scenarios.support import call, rows, said
from tests.scenarios.test_client_results import append, settle, tool
from tests.scenarios.test_client_tools import DONE, PICK, SHOW, double, reply, waiting
from tests.scenarios.test_worker import Recorder

BOTH = (call("show", n=1), call("double", n=2), call("pick"))


def answered(kit: Kit) -> Any:
    """Both results, each from a process of its own; the turn's result."""
    for each in kit.status()["calls"]:
        kit.restart()
        settle(kit, each["tool_call_id"], result=f"{each['name']} secret")
    return kit.result("t-1")


def test_a_worker_is_told_when_the_last_result_has_come(agentflow: Kit) -> None:
    """C32: and its word counts, as for any result."""
    worker = Recorder()
    waiting(agentflow, *BOTH, then=[DONE], worker=worker)
    assert answered(agentflow).answer == "Done."
    before = worker.triggers()
    assert before == ["session.start", "client.messages", "llm.finished", "tool.finished", "tool.finished",
                      "llm.finished", "turn.finished"]  # fmt: skip
    last = worker.requests[4]["trigger"]
    assert (last["name"], last["ok"], last["result"]) == ("pick", True, "pick secret")


def test_what_is_not_kept_is_gone_when_the_turn_has_ended(agentflow: Kit, agentflow_db: str) -> None:
    """R5: a pause keeps what the turn needs; its end erases results, arguments and what hooks made of them."""

    def widened(call: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Change the arguments."""
        return {"arguments": {"n": 424242}} if call["name"] == "show" else None

    settings = {"observability": False}
    waiting(agentflow, *BOTH, then=[DONE], settings=settings, hooks={"pre_tool": [widened]})
    assert agentflow.status()["calls"][0]["arguments"] == {"n": 424242}
    assert answered(agentflow).answer == "Done."
    kept = [
        row
        for table in ("message", "event", "question", "turn")
        for row in rows(agentflow_db, f"SELECT * FROM {table}")
    ]
    assert not [row for row in kept if "secret" in str(row) or "424242" in str(row)]
    assert agentflow.events("client_tools")[0].data == {"calls": []}


def test_a_lean_history_leaves_the_exchange_out_of_later_turns(agentflow: Kit) -> None:
    """X1: within the turn it is there, over the pause too."""
    waiting(agentflow, *BOTH, then=[DONE, DONE])
    answered(agentflow)
    agentflow.send("Next.")
    assert [role for role, _ in said(agentflow.requests[-2])] == ["system", "user", "assistant", "tool", "tool", "tool"]
    assert [role for role, _ in said(agentflow.requests[-1])] == ["system", "user", "assistant", "user"]


def test_an_interruption_stops_the_turn_that_waits(agentflow: Kit) -> None:
    """C25"""
    show, _ = waiting(agentflow, *BOTH, then=[DONE])
    result = agentflow.send("Now this.", interrupt=True)
    assert (result.answer, agentflow.result("t-1").state) == ("Done.", "aborted")
    assert settle(agentflow, show, result="late") == "ignored"


def test_an_answer_is_no_result(agentflow: Kit) -> None:
    """C29: no question waits, by name or without one."""
    show, _ = waiting(agentflow, *BOTH)
    for named in (None, show):
        with pytest.raises(NoPendingQuestion):
            agentflow.answer("shown", tool_call_id=named)


def test_a_transcript_is_not_recorded_into_a_pause(agentflow: Kit) -> None:
    """C8: record_only runs no turn, and a result makes one go on."""
    show, _ = waiting(agentflow, *BOTH)
    with pytest.raises(InvalidInput, match="record_only"):
        agentflow.submit(append(tool(show), record_only=True))
    assert len(agentflow.status()["calls"]) == 2


def test_a_step_start_hook_reads_what_the_client_said(agentflow: Kit) -> None:
    """T36"""
    heard: list[Any] = []

    def noted(message: str, resumed: bool) -> None:
        """Note what the step answers."""
        heard.append((message, resumed))

    waiting(agentflow, call("show", n=1), then=[DONE], hooks={"step_start": [noted]})
    answered(agentflow)
    assert heard == [("Hi.", False), ("show secret", True)]


def test_a_reply_may_leave_more_calls_to_the_client_again_and_again(agentflow: Kit) -> None:
    """T20: each pause has its own calls, and its own step."""
    agentflow.agent(tools=[SHOW, double, PICK], replies=[reply(call("show", n=n)) for n in range(3)] + [DONE])
    agentflow.send("Hi.", turn_id="t-1")
    for n in range(3):
        (each,) = agentflow.status()["calls"]
        assert each["arguments"] == {"n": n}
        settle(agentflow, each["tool_call_id"], result=n)
        agentflow.result("t-1")
    assert agentflow.result("t-1").answer == "Done."
    assert [step["order"] for step in agentflow.session()["steps"]] == [1, 2, 3, 4]
