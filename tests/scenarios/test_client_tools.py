"""Tools that the client performs: the turn pauses for their results, in any process (C37-C39)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.testing import Kit
from tests.scenarios.support import call, results, rows

Reply = dict[str, Any]
SHOW = {
    "name": "show", "handler": "client", "description": "Show a chart.",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
}  # fmt: skip
PICK = {"name": "pick", "handler": "client", "description": "Let the user pick a file."}
ASK = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
DONE: Reply = {"text": "Done."}


def double(n: int) -> int:
    """Double a number.

    Args:
        n: The number.
    """
    return 2 * n


def reply(*calls: Reply) -> Reply:
    return {"tool_calls": list(calls)}


def waiting(kit: Kit, *calls: Reply, then: list[Any] | None = None, **keys: Any) -> list[str]:
    """A session whose turn waits for its client; the ids of the calls."""
    kit.agent(tools=[SHOW, double, PICK], replies=[reply(*calls), *(then or [])], **keys)
    assert kit.send("Hi.", turn_id="t-1").state == "paused_ask_user"
    return [each["tool_call_id"] for each in kit.status()["calls"]]


def test_the_turn_pauses_after_the_other_calls_have_run(agentflow: Kit, agentflow_db: str) -> None:
    """C38: one event, one shape in status, session, list and result."""
    agentflow.agent(tools=[SHOW, double, PICK], replies=[reply(call("show", n=1), call("double", n=2), call("pick"))])
    result = agentflow.send("Hi.")
    calls = [{"name": "show", "arguments": {"n": 1}}, {"name": "pick", "arguments": {}}]
    told = agentflow.events("client_tools")[0].data["calls"]
    assert [{key: each[key] for key in ("name", "arguments")} for each in told] == calls
    assert (result.state, result.pending_kind, result.question, result.calls) == (
        "paused_ask_user", "tools", None, told,
    )  # fmt: skip
    (listed,) = agentflow.run(agentflow.runtime.sessions())
    agentflow.restart()
    for read in (listed, agentflow.status(), agentflow.session()):
        assert (read["pending"], read["pending_kind"], read["calls"]) == (True, "tools", told)
        assert (read["question"], read["questions"], read["tool_call_id"]) == (None, None, None)
    assert agentflow.result(result.turn_id).as_dict() == result.as_dict()
    assert [event.type for event in agentflow.events()][-4:] == [
        "client_tools", "step.completed", "turn.paused", "done",
    ]  # fmt: skip
    assert agentflow.events("done")[-1].data["pending"] is True
    assert [event.data["result"] for event in agentflow.events("tool.call.completed")] == ["4"]
    assert rows(agentflow_db, "SELECT name, handler, status FROM tool_call ORDER BY name") == [
        ("double", None, "finished"), ("pick", "client", "started"), ("show", "client", "started"),
    ]  # fmt: skip


def test_the_model_sees_them_after_the_agents_own_tools_in_order(agentflow: Kit) -> None:
    """C37"""
    agentflow.agent(tools=[SHOW, double, PICK], replies=[DONE])
    agentflow.send("Hi.")
    offered = [tool["function"] for tool in agentflow.requests[0].tools]
    assert [tool["name"] for tool in offered] == ["double", "ask_user", "show", "pick"]
    assert offered[2]["parameters"] == SHOW["parameters"]
    assert offered[3]["parameters"] == {"type": "object", "properties": {}}


def test_arguments_are_checked_before_the_pause(agentflow: Kit) -> None:
    """C39, T13: a call that does not fit has its error result, and the turn pauses for the others only."""
    agentflow.agent(tools=[SHOW, PICK], replies=[reply(call("show", n="x"), call("pick")), reply(call("show")), DONE])
    assert [each["name"] for each in agentflow.send("Hi.").calls] == ["pick"]
    (refused,) = agentflow.events("tool.call.errored")
    assert "'x' is not of type 'integer'" in refused.data["error"]
    agentflow.stop()
    assert agentflow.send("Again.").answer == "Done."


@pytest.mark.parametrize("other", [ASK, call("end")], ids=["ask_user", "a tool that ends the turn"])
def test_what_else_would_end_the_step_gets_an_error_result(agentflow: Kit, other: Reply) -> None:
    """C38"""

    def end() -> str:
        """End."""
        raise AssertionError("never run")

    agentflow.agent(tools=[SHOW, {"flow": end, "ends_turn": True}], replies=[reply(other, call("show", n=1))])
    assert agentflow.send("Hi.").pending_kind == "tools"
    (refused,) = agentflow.events("tool.call.errored")
    assert "the turn waits for the client, which performs 'show'" in refused.data["error"]
    assert agentflow.events("ask_user") == []


def test_a_stop_closes_the_calls(agentflow: Kit) -> None:
    """T25"""
    waiting(agentflow, call("show", n=1), call("pick"), then=[DONE])
    agentflow.restart()
    assert agentflow.stop()["outcome"] == "stopped"
    assert agentflow.status()["pending"] is False
    assert agentflow.send("Go on.").answer == "Done."


def test_time_that_is_over_ends_the_turn(agentflow: Kit) -> None:
    """C39: expiry as for questions."""
    waiting(agentflow, call("show", n=1), then=[DONE], settings={"ask_user_expiry_secs": 60})
    agentflow.advance(60)
    result = agentflow.result("t-1")
    assert (result.state, result.error and result.error["code"]) == ("aborted", "question_expired")
    assert agentflow.status()["pending"] is False
    assert agentflow.send("Go on.").answer == "Done."
    assert agentflow.result("t-1") == result


def test_a_task_cannot_reach_the_client(agentflow: Kit) -> None:
    """T22, C38: its client tools are not offered, and a call of one says what to do instead."""
    child = [reply(call("show", n=1)), {"text": "on my own"}]
    agentflow.agent("clerk", tools=[SHOW], replies=child)
    agentflow.agent("main", sub_agents=["clerk"], replies=[reply(call("task", agent="clerk", prompt="Go.")), DONE])
    assert agentflow.send("Hi.").answer == "Done."
    asked = agentflow.requests_of("clerk")
    assert [tool["function"]["name"] for tool in asked[0].tools] == []
    assert results(asked[1]) == [
        "Error: Nobody can be asked here. Decide yourself, or report back what you need to know."
    ]
