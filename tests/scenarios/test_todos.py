"""Todos belong to the turn: kept by calls, told by events, back after a question, gone with the next request."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import call, results, rows

QUESTION = {"header": "Plan", "question": "Which one?"}


def items(*given: tuple[str, str]) -> list[dict[str, str]]:
    return [{"content": content, "status": status} for content, status in given]


OPEN = items(("Find the invoice", "in_progress"), ("Tell the user", "pending"))
CLOSED = items(("Find the invoice", "completed"), ("Tell the user", "pending"))


def writes(todos: Any, *more: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [call("write_todos", todos=todos), *more]}


def told(kit: Kit) -> list[list[dict[str, str]]]:
    return [event.data["todos"] for event in kit.events("todo")]


def test_the_tool_is_offered_with_planning_only(agentflow: Kit) -> None:
    """seed: When planning is enabled, the agent keeps a todo list (T31)."""
    agentflow.agent("planless", replies=[{"text": "a"}])
    agentflow.send("x", session="a")
    agentflow.agent("planner", planning=True, replies=[{"text": "b"}])
    agentflow.send("x", session="b")
    without, with_it = ([tool["function"]["name"] for tool in request.tools] for request in agentflow.requests)
    assert "write_todos" not in without
    assert "write_todos" in with_it


def test_each_change_is_told_once_and_shown_by_reads(agentflow: Kit) -> None:
    """seed: Each change to the list is streamed to the client as a todo event (T32)."""
    agentflow.agent(planning=True, replies=[writes(OPEN), writes(CLOSED), {"text": "Done."}])
    agentflow.send("Where is it?")
    assert told(agentflow) == [OPEN, CLOSED]
    assert agentflow.status()["todos"] == CLOSED
    assert agentflow.session()["todos"] == CLOSED
    assert results(agentflow.requests[1]) == ["The list is kept; open are 2 of 2."]


def test_a_change_of_one_status_is_what_another_process_reads(agentflow: Kit) -> None:
    """B59: the stored list equals the last event, field by field."""
    agentflow.agent(planning=True, replies=[writes(OPEN), writes(CLOSED), {"text": "Done."}])
    agentflow.send("Where is it?")
    agentflow.restart()
    assert agentflow.status()["todos"] == told(agentflow)[-1] == CLOSED


@pytest.mark.parametrize(("commits", "stored"), [(2, 0), (3, 1)], ids=["the reply", "the result"])
def test_the_list_lands_with_its_call(agentflow: Kit, agentflow_db: str, commits: int, stored: int) -> None:
    """T32: killed after any commit, the list is there exactly when its call has its result."""
    agentflow.agent(planning=True, replies=[writes(OPEN)])
    agentflow.kill_after(commits)
    with pytest.raises(ProcessKilled):
        agentflow.send("Where is it?")
    assert rows(agentflow_db, "SELECT count(*) FROM todo_list") == [(stored,)]
    assert rows(agentflow_db, "SELECT count(*) FROM tool_call WHERE status = 'finished'") == [(stored,)]
    agentflow.reopen()
    agentflow.script([{"text": "Fine."}])
    agentflow.send("And now?")
    assert told(agentflow) == [OPEN, []][: 2 * stored]


@pytest.mark.parametrize(
    ("todos", "complaint"),
    [
        (items(("a", "in_progress"), ("b", "in_progress")), "at most one item may be in_progress"),
        (items(("a", "done")), "todos.0.status"),
        (items(("", "pending")), "todos.0.content"),
        (items(("x" * 201, "pending")), "todos.0.content"),
        (items(*[(f"step {number}", "pending") for number in range(51)]), "at most 50 items"),
        ("all of it", "one list"),
    ],
)
def test_a_list_against_the_rules_is_an_error_result_and_changes_nothing(
    agentflow: Kit, todos: Any, complaint: str
) -> None:
    """T31"""
    agentflow.agent(planning=True, replies=[writes(OPEN), writes(todos), {"text": "Done."}])
    result = agentflow.send("Where is it?")
    assert result.state == "done"
    assert complaint in results(agentflow.requests[2])[0]
    assert told(agentflow) == [OPEN]
    assert len(agentflow.events("tool.call.errored")) == 1


def test_a_new_request_starts_empty_and_the_client_is_told(agentflow: Kit) -> None:
    """B73, seed: A new user request starts with an empty todo list; the previous request's todos are dropped."""
    agentflow.agent(planning=True, replies=[writes(OPEN), {"text": "Done."}, {"text": "Hello."}, {"text": "Bye."}])
    agentflow.send("Where is it?")
    agentflow.send("Something else.")
    assert told(agentflow) == [OPEN, []]
    assert agentflow.status()["todos"] == []
    assert "Find the invoice" not in str(agentflow.requests[2].messages)
    agentflow.send("And again.")
    assert told(agentflow) == [OPEN, []], "nothing is dropped where nothing was"


@pytest.mark.parametrize("ending", ["fails", "stops"])
def test_a_turn_that_did_not_end_well_leaves_no_list_behind(agentflow: Kit, ending: str) -> None:
    """B73"""
    after = (
        {"error": {"kind": "auth"}} if ending == "fails" else {"tool_calls": [call("ask_user", questions=[QUESTION])]}
    )
    agentflow.agent(planning=True, replies=[writes(OPEN), after, {"text": "Hello."}])
    agentflow.send("Where is it?")
    agentflow.run(agentflow.runtime.stop("s-1"))
    agentflow.send("Something else.")
    assert told(agentflow) == [OPEN, []]


def test_an_answer_restores_the_list(agentflow: Kit) -> None:
    """B73, seed: A turn that resumes after ask_user restores the todos (T20, T32)."""
    agentflow.agent(
        planning=True,
        replies=[
            writes(OPEN),
            {"tool_calls": [call("ask_user", questions=[QUESTION])]},
            writes(CLOSED),
            {"text": "Done."},
        ],
    )
    assert agentflow.send("Where is it?").state == "paused_ask_user"
    agentflow.restart()
    assert agentflow.status()["todos"] == OPEN
    assert agentflow.send("Pro").state == "done"
    assert told(agentflow) == [OPEN, CLOSED], "nothing was dropped in between, and versions go on counting"


def test_going_back_to_a_paused_branch_shows_its_list_again(agentflow: Kit) -> None:
    """T32: whoever saw another request's list meanwhile is told when the paused turn goes on."""
    other = items(("Other work", "pending"))
    asks = {"tool_calls": [call("ask_user", questions=[QUESTION])]}
    agentflow.agent(
        planning=True, replies=[{"text": "Hello."}, writes(OPEN), asks, writes(other), {"text": "b"}, {"text": "c"}]
    )
    agentflow.send("Hi.")
    head = agentflow.tree()["head_id"]
    agentflow.send("Where is it?")
    asked = agentflow.tree()["head_id"]
    agentflow.run(agentflow.runtime.checkout("s-1", head))
    agentflow.send("Something else.")
    agentflow.run(agentflow.runtime.checkout("s-1", asked))
    agentflow.send("Pro")
    assert told(agentflow) == [OPEN, [], other, OPEN]


def test_an_emptied_queue_hides_no_list(agentflow: Kit) -> None:
    """A turn that was taken out of the queue never ran, so it dropped nothing."""
    asks = {"tool_calls": [call("ask_user", questions=[QUESTION])]}
    agentflow.agent(planning=True, replies=[writes(OPEN), asks])
    agentflow.send("Where is it?")
    waiting = {"type": "client.message", "message": {"role": "user", "content": "later"}, "queue": True}
    agentflow.submit(waiting)
    agentflow.run(agentflow.runtime.stop("s-1", "nothing", drain=True))
    assert agentflow.status()["todos"] == OPEN


def test_without_planning_a_call_of_write_todos_is_an_unknown_tool(agentflow: Kit) -> None:
    agentflow.agent(replies=[writes(OPEN), {"text": "Done."}])
    agentflow.send("Where is it?")
    assert "there is no tool 'write_todos'" in results(agentflow.requests[1])[0]
    assert told(agentflow) == []


def test_a_sub_agent_that_asked_goes_on_with_its_own_list_and_nobody_sees_it(agentflow: Kit) -> None:
    """T32, T22: a delegated list is not streamed and is back after the question; the main one stays what it was."""
    asks = {"tool_calls": [call("ask_user", questions=[QUESTION])]}
    own = items(("Own work", "pending"))
    agentflow.agent("helper", planning=True, replies=[writes(own), asks, writes(own), {"text": "Helped."}])
    agentflow.agent(
        "test", planning=True, sub_agents=["helper"],
        replies=[writes(OPEN), {"tool_calls": [call("delegate", agent="helper", message="Help.")]}],
    )  # fmt: skip
    assert agentflow.send("Where is it?").state == "paused_ask_user"
    agentflow.restart()
    assert agentflow.status()["todos"] == OPEN
    assert agentflow.send("Pro").answer == "Helped."
    assert told(agentflow) == [OPEN]
