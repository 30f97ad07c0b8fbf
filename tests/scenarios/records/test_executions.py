"""R5, R6: each run of an agent has a status word, a duration and the call that spawned it, wherever it is read."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.message import EXECUTION_OF, TurnState
from agentflow.testing import Kit, ProcessKilled
from cli.reading.waterfall import waterfall
from tests.scenarios.support import call

ASK = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])


def runs(kit: Kit) -> list[tuple[Any, ...]]:
    """Agent, status, and whether its time and its call are known, of the newest turn; the session says the same."""
    trace = kit.run(kit.runtime.trace("s-1"))
    told = [run for run in kit.session()["executions"] if run.pop("turn") == trace["turn"]]
    assert told == trace["executions"]
    return [
        (run["agent"], run["status"], run["duration_ms"] is not None, run["parent_tool_call_id"] is not None)
        for run in told
    ]


def test_main_and_child_runs_are_done_with_their_time_and_call(agentflow: Kit) -> None:
    agentflow.agent("helper", replies=[{"text": "helped"}])
    agentflow.agent(
        "main", sub_agents=["helper"],
        replies=[{"tool_calls": [call("task", agent="helper", prompt="look")]}, {"text": "done"}],
    )  # fmt: skip
    agentflow.send("go")
    assert runs(agentflow) == [("main", "DONE", True, False), ("helper", "DONE", True, True)]
    lines = list(waterfall(agentflow.run(agentflow.runtime.trace("s-1"))))
    assert "main DONE" in lines[1]
    assert [line for line in lines if "agent helper · DONE" in line]


def test_a_failed_a_waiting_and_a_stopped_run_say_so(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"error": {"kind": "auth"}}, {"tool_calls": [ASK]}])
    agentflow.send("one")
    assert runs(agentflow) == [("test", "ERROR", True, False)]
    agentflow.send("two")
    assert runs(agentflow) == [("test", "PENDING_USER_INPUT", True, False)]
    agentflow.stop()
    assert runs(agentflow)[0][1] == "ABORTED"


def test_a_run_whose_time_to_wait_is_over_reads_as_aborted(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"tool_calls": [ASK]}], settings={"ask_user_expiry_secs": 60})
    agentflow.send("one")
    agentflow.advance(61)
    assert runs(agentflow)[0][1] == "ABORTED"


def test_a_run_whose_process_died_reads_as_aborted_before_anybody_repairs_it(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "never"}])
    agentflow.kill_after(1)
    with pytest.raises(ProcessKilled):
        agentflow.send("one")
    agentflow.reopen()
    assert runs(agentflow) == [("test", "ABORTED", False, False)]
    agentflow.script([{"text": "again"}])


def test_a_session_tells_of_the_runs_of_all_its_turns(agentflow: Kit) -> None:
    """R5: executions, one per agent or sub-agent run, with status, duration and parent call; one that runs says so."""
    seen = []

    async def look() -> str:
        """Look."""
        seen.append((await agentflow.runtime.session("s-1"))["executions"][-1])
        return "seen"

    agentflow.agent("helper", replies=[{"text": "helped"}])
    replies = [
        {"tool_calls": [call("task", agent="helper", prompt="help")]}, {"text": "one"}, {"tool_calls": [call("look")]},
        {"text": "two"},
    ]  # fmt: skip
    agentflow.agent("main", sub_agents=["helper"], tools=[look], replies=replies)
    agentflow.send("go")
    agentflow.send("again")
    assert [(run["turn"], run["status"], run["duration_ms"]) for run in seen] == [(2, "RUNNING", None)]
    told = [(run["turn"], run["agent"], run["status"], run["parent"]) for run in agentflow.session()["executions"]]
    assert told == [(1, "main", "DONE", None), (1, "helper", "DONE", 1), (2, "main", "DONE", None)]


def test_every_state_of_a_turn_that_has_begun_has_its_word() -> None:
    assert set(EXECUTION_OF) == set(TurnState) - {TurnState.IDLE}
