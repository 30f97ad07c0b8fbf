"""A planner plans each new turn before its first call (T33)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import Gate, call, results, rows, said, watched

PLAN = "1. Look\n2. Say"
TODOS = [{"content": "Look", "status": "pending"}, {"content": "Say", "status": "pending"}]
GIVEN = f"The plan for the current request, whose steps are your todo list:\n{PLAN}"
ASKS = call("ask_user", questions=[{"header": "Plan", "question": "Which one?"}])
PLANNING = {"planner": "llm://main"}


def planner(**reply: Any) -> dict[str, Any]:
    return {"when": {"purpose": "planner"}, **reply}


def main(**reply: Any) -> dict[str, Any]:
    return {"when": {"purpose": "main"}, **reply}


def purposes(kit: Kit) -> list[str]:
    return [request.purpose for request in kit.requests]


def calls(db: str) -> list[tuple[Any, ...]]:
    return rows(db, "SELECT purpose, status FROM llm_call ORDER BY requested_at, iteration, id")


def test_the_plan_is_stored_given_to_the_model_and_becomes_the_todos(agentflow: Kit, agentflow_db: str) -> None:
    agentflow.agent(planning=PLANNING, replies=[planner(text=PLAN), main(text="Done.")])
    result = agentflow.send("Where is it?")
    assert purposes(agentflow) == ["planner", "main"]
    assert said(agentflow.requests[1])[1:] == [("system", GIVEN), ("user", "Where is it?")]
    assert [event.data["todos"] for event in agentflow.events("todo")] == [TODOS]
    assert rows(agentflow_db, "SELECT plan FROM turn") == [(PLAN,)]
    assert (result.answer, [message["role"] for message in agentflow.path()]) == ("Done.", ["user", "assistant"])


def test_the_planner_reads_what_the_agent_reads_and_may_only_ask(agentflow: Kit) -> None:
    agentflow.agent(
        planning=PLANNING, prompt="Help with invoices.", replies=[planner(text=PLAN), main(text="One.")] * 2
    )
    agentflow.send("First.")
    agentflow.send("Second.")
    request = agentflow.requests[2]
    assert said(request)[1:] == [("user", "First."), ("assistant", "One."), ("user", "Second.")]
    assert "Help with invoices." in request.messages[0]["content"]
    assert [tool["function"]["name"] for tool in request.tools] == ["ask_user"]


def test_a_plan_is_not_streamed_and_its_usage_counts(agentflow: Kit) -> None:
    """X6: every purpose counts; the answer streams, the plan does not."""
    gate = Gate(
        planner(text=PLAN, usage={"input": 100, "output": 10}), main(text="Done.", usage={"input": 200, "output": 20})
    )
    agentflow.agent(planning=PLANNING, replies=gate)
    deltas = [event.data for event in watched(agentflow, "Hi.", gate) if event.type == "llm.delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "Done."
    assert (agentflow.usage()["input"], agentflow.usage()["output"]) == (300, 30)


MESSAGE = {"type": "client.message", "message": {"role": "user", "content": "Hi."}}


def test_a_planner_that_asks_pauses_the_turn_and_plans_with_the_answer(agentflow: Kit) -> None:
    """T22, seed: A question asked by the planner pauses the whole turn in the same way."""
    agentflow.agent(planning=PLANNING, replies=[planner(tool_calls=[ASKS]), planner(text=PLAN), main(text="Done.")])
    paused = agentflow.send("Where is it?")
    assert paused.state == "paused_ask_user"
    assert agentflow.status()["question"] == "Plan: Which one?"
    agentflow.restart()
    result = agentflow.send("Pro")
    assert (result.state, result.turn_id, result.step_order) == ("done", paused.turn_id, 2)
    assert purposes(agentflow) == ["planner", "planner", "main"]
    assert results(agentflow.requests[1]) == ["Plan: Pro"]
    assert said(agentflow.requests[2])[1] == ("system", GIVEN)
    assert results(agentflow.requests[2]) == ["Plan: Pro"], "the agent reads what was asked and answered"
    assert agentflow.status()["todos"] == TODOS


def test_a_resumed_turn_is_not_planned_again_and_has_its_plan(agentflow: Kit) -> None:
    agentflow.agent(planning=PLANNING, replies=[planner(text=PLAN), main(tool_calls=[ASKS]), main(text="Done.")])
    agentflow.send("Where is it?")
    agentflow.restart()
    agentflow.send("Pro")
    assert purposes(agentflow) == ["planner", "main", "main"]
    assert said(agentflow.requests[2])[1] == ("system", GIVEN)


@pytest.mark.parametrize(
    "reply",
    [
        {"error": {"kind": "auth"}},
        {"text": "1. Lo", "finish_reason": "length"},
        {"text": "  "},
    ],
    ids=["fails", "is cut", "says nothing"],
)
def test_a_planner_that_gives_no_plan_costs_the_turn_nothing_else(
    agentflow: Kit, agentflow_db: str, reply: dict[str, Any]
) -> None:
    agentflow.agent(planning=PLANNING, replies=[planner(**reply), main(text="Done.")])
    assert agentflow.send("Where is it?").answer == "Done."
    assert [role for role, _ in said(agentflow.requests[1])] == ["system", "user"]
    assert agentflow.events("todo") == []
    assert rows(agentflow_db, "SELECT plan FROM turn") == [(None,)]


def test_a_planner_that_calls_what_it_was_not_offered_is_told_and_given_up(agentflow: Kit) -> None:
    wrong = planner(tool_calls=[call("write_todos", todos=[])])
    agentflow.agent(planning=PLANNING, replies=[wrong, wrong, wrong, main(text="Done.")])
    assert agentflow.send("Where is it?").answer == "Done."
    assert purposes(agentflow) == ["planner"] * 3 + ["main"]
    assert results(agentflow.requests[1]) == ["Error: Not run: while planning only one call of ask_user is possible."]


def test_a_question_against_the_rules_is_an_error_result_to_the_planner(agentflow: Kit) -> None:
    """T17"""
    agentflow.agent(
        planning=PLANNING,
        replies=[planner(tool_calls=[call("ask_user", questions=[])]), planner(text=PLAN), main(text="Done.")],
    )
    assert agentflow.send("Where is it?").state == "done"
    assert "questions" in results(agentflow.requests[1])[0]


def test_a_stop_while_planning_shows_no_plan_as_an_answer(agentflow: Kit, agentflow_db: str) -> None:
    """T24: the partial plan was never shown."""
    agentflow.agent(planning=PLANNING, replies=[planner(text=PLAN, chunk_size=1, delay_secs=60)])
    receipt = agentflow.submit(MESSAGE)
    agentflow.until("llm.call.requested")
    agentflow.run(agentflow.runtime.stop("s-1"))
    result = agentflow.result(receipt.turn_id)
    assert (result.state, result.answer) == ("aborted", None)
    assert [message["content"] for message in agentflow.path()] == ["Hi.", "<ABORTED BY USER>"]
    assert calls(agentflow_db) == [("planner", "aborted")]


def test_a_turn_whose_process_died_before_it_planned_begins_again_first(agentflow: Kit) -> None:
    """T30: it goes back to the front of the queue; the next request waits for it and is answered too."""
    agentflow.agent(planning=PLANNING, replies=[])
    agentflow.kill_after(1)
    with pytest.raises(ProcessKilled):
        agentflow.send("First.", turn_id="t-1")
    agentflow.reopen()
    agentflow.script([planner(text=PLAN), main(text="One."), planner(text=PLAN), main(text="Two.")])
    second = agentflow.submit({**MESSAGE, "message": {"role": "user", "content": "Second."}})
    assert second.queued
    assert agentflow.result(second.turn_id).answer == "Two."
    assert agentflow.result("t-1").answer == "One."
    assert [message["content"] for message in agentflow.path()] == ["First.", "One.", "Second.", "Two."]
    assert [event.turn_id for event in agentflow.events("done")] == ["t-1", second.turn_id]


def test_a_request_sent_again_for_such_a_turn_starts_it(agentflow: Kit) -> None:
    """C19, T30"""
    agentflow.agent(planning=PLANNING, replies=[])
    agentflow.kill_after(1)
    with pytest.raises(ProcessKilled):
        agentflow.send("First.", turn_id="t-1")
    agentflow.reopen()
    agentflow.script([planner(text=PLAN), main(text="One.")])
    assert agentflow.send("First.", turn_id="t-1").answer == "One."
    assert [message["content"] for message in agentflow.path()] == ["First.", "One."]


def test_it_begins_again_once_only(agentflow: Kit) -> None:
    """A turn that takes its process down each time must not keep the session from everybody else."""
    agentflow.agent(planning=PLANNING, replies=[])
    agentflow.kill_after(1)
    for _ in range(2):
        with pytest.raises(ProcessKilled):
            agentflow.send("First.", turn_id="t-1")
        agentflow.reopen()
        assert agentflow.runtime is not None
        agentflow.kill_after(1)
    agentflow.kill()
    agentflow.reopen()
    agentflow.script([planner(text=PLAN), main(text="Two.")])
    assert agentflow.send("Second.").answer == "Two."
    assert agentflow.result("t-1").state == "aborted"


@pytest.mark.parametrize("commits", [2, 3])
def test_a_turn_whose_process_died_later_is_repaired(agentflow: Kit, commits: int) -> None:
    """T30: once a call of its planner is recorded, nothing of a turn is done again by itself."""
    replies = [planner(text=PLAN)] if commits == 3 else []
    agentflow.agent(planning=PLANNING, replies=replies)
    agentflow.kill_after(commits)
    with pytest.raises(ProcessKilled):
        agentflow.send("First.", turn_id="t-1")
    agentflow.reopen()
    agentflow.script([planner(text=PLAN), main(text="Two.")])
    assert agentflow.send("Second.").answer == "Two."
    assert agentflow.result("t-1").state == "aborted"


def family(kit: Kit, tool: str, helper: list[dict[str, Any]]) -> None:
    """A helper that plans, and a parent that does not and gives it a task, or the turn."""
    kit.agent("helper", planning=PLANNING, replies=helper)
    handing = call(tool, agent="helper", **{"prompt" if tool == "task" else "message": "x"})
    last = [{"text": "ok"}] if tool == "task" else []
    kit.agent("parent", sub_agents=["helper"], replies=[{"tool_calls": [handing]}, *last])


@pytest.mark.parametrize("tool", ["task", "delegate"])
def test_a_sub_agent_plans_its_own_run_with_its_own_planner(agentflow: Kit, agentflow_db: str, tool: str) -> None:
    """T34: over a pause too; the parent, which has no planner, is not planned."""
    asks = [main(tool_calls=[ASKS])] if tool == "delegate" else []
    family(agentflow, tool, [planner(text=PLAN), *asks, main(text="Helped.")])
    result = agentflow.send("Go.")
    if asks:
        agentflow.restart()
        result = agentflow.answer("Pro")
    assert result.state == "done"
    helper = agentflow.requests_of("helper")
    assert [request.purpose for request in helper] == ["planner", *["main"] * (1 + len(asks))]
    assert all(("system", GIVEN) in said(request) for request in helper[1:])
    assert "planner" not in {request.purpose for request in agentflow.requests_of("parent")}
    assert rows(agentflow_db, "SELECT execution FROM llm_call WHERE purpose = 'planner'") == [(2,)]
    assert rows(agentflow_db, "SELECT plan FROM turn") == [(None,)]
    assert rows(agentflow_db, "SELECT plan FROM execution ORDER BY number") == [(None,), (PLAN,)]


def test_a_sub_agents_planner_that_asks_plans_with_the_answer(agentflow: Kit) -> None:
    """T22, T34: that the parent has made calls does not end the planning of the run below it."""
    family(agentflow, "delegate", [planner(tool_calls=[ASKS]), planner(text=PLAN), main(text="Helped.")])
    assert agentflow.send("Go.").state == "paused_ask_user"
    agentflow.restart()
    assert agentflow.answer("Pro").answer == "Helped."
    asked, planned, told = agentflow.requests_of("helper")
    assert (asked.purpose, planned.purpose) == ("planner", "planner")
    assert ("tool", "Plan: Pro") in said(planned)
    assert ("system", GIVEN) in said(told)
