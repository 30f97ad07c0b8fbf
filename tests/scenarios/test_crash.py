"""A process killed at any commit: the next request just works, and nothing runs a second time (C36, T30)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import call, results, rows

MARKS: list[str] = []


def mark(text: str) -> str:
    """Mark something."""
    MARKS.append(text)
    return f"marked {text}"


def replies(request: ModelRequest) -> dict[str, Any]:
    """Two rounds of two calls for the first message, a plain answer for anything else."""
    asked = [message["content"] for message in request.messages if message["role"] == "user"]
    rounds = sum(message["role"] == "assistant" and "tool_calls" in message for message in request.messages)
    if asked != ["go"] or rounds == 2:
        return {"text": "fine"}
    return {"tool_calls": [call("mark", text=f"{rounds}a"), call("mark", text=f"{rounds}b")]}


@pytest.fixture(autouse=True)
def _no_marks() -> None:
    MARKS.clear()


@pytest.mark.parametrize("lean", [True, False], ids=["lean", "full"])
@pytest.mark.parametrize("commit", range(1, 7))
def test_after_a_crash_at_any_commit_the_next_request_just_works(agentflow: Kit, commit: int, lean: bool) -> None:
    """B01, B13: every call sent has exactly one result, the log is gapless with one terminal event a turn."""
    settings = {"lean_history": lean, "max_parallel_tools": 1}
    agentflow.agent(tools=[mark], replies=replies, settings=settings)
    agentflow.kill_after(commit)
    with pytest.raises(ProcessKilled):
        agentflow.send("go", turn_id="t-1")
    agentflow.reopen()
    assert agentflow.status()["status"] == "aborted"
    before = list(MARKS)
    assert agentflow.send("hello again", turn_id="t-2").answer == "fine"
    assert before == MARKS
    assert len(set(MARKS)) == len(MARKS)
    assert _is_paired(agentflow.requests[-1])
    assert any("tool_calls" in message for message in agentflow.requests[-1].messages) == (commit > 1 and not lean)
    assert [event.data["turn_id"] for event in agentflow.events("done")] == ["t-1", "t-2"]
    assert [event.seq for event in agentflow.events()] == list(range(1, len(agentflow.events()) + 1))


def _is_paired(request: ModelRequest) -> bool:
    """T7: every call has exactly one result, directly after it and in call order."""
    asked: list[str] = []
    for message in request.messages:
        if message["role"] == "tool":
            if not asked or message["tool_call_id"] != asked.pop(0):
                return False
        elif asked:
            return False
        asked = asked or [each["id"] for each in message.get("tool_calls", ())]
    return not asked


def test_a_placeholder_says_whether_the_call_may_have_had_its_effect(agentflow: Kit) -> None:
    """T30: "started, outcome unknown" or "not started"."""
    settings = {"lean_history": False, "max_parallel_tools": 1}
    agentflow.agent(tools=[mark], replies=replies, settings=settings)
    agentflow.kill_after(2)
    with pytest.raises(ProcessKilled):
        agentflow.send("go")
    agentflow.reopen()
    agentflow.send("hello again")
    started, planned = (message["content"] for message in agentflow.path() if message["role"] == "tool")
    assert "outcome" in started
    assert "had not been started" in planned
    assert results(agentflow.requests[-1]) == []


def test_repair_is_done_once_however_often_the_process_dies_in_it(agentflow: Kit, agentflow_db: str) -> None:
    """B13: the repair rides on the claim; a crash right after it is the next turn's to repair."""
    agentflow.agent(tools=[mark], replies=replies)
    for text, commits in (("go", 3), ("second", 1), ("third", 1)):
        agentflow.kill_after(commits)
        with pytest.raises(ProcessKilled):
            agentflow.send(text)
        agentflow.reopen()
    assert agentflow.send("fourth").answer == "fine"
    assert [state for (state,) in rows(agentflow_db, "SELECT state FROM turn ORDER BY number")] == [
        "aborted", "aborted", "aborted", "done",
    ]  # fmt: skip
    calls = [message for message in agentflow.path() if message["role"] == "tool"]
    assert len(calls) == 2
    assert [each["content"] for each in agentflow.path() if each["role"] == "user"] == [
        "go", "second", "third", "fourth",
    ]  # fmt: skip


def test_reads_show_a_dead_turn_and_write_nothing(agentflow: Kit) -> None:
    """T29, B13: lists and status say aborted without any request."""
    agentflow.agent(tools=[mark], replies=replies)
    agentflow.kill_after(2)
    with pytest.raises(ProcessKilled):
        agentflow.send("go", turn_id="t-1")
    agentflow.reopen()
    events = agentflow.events()
    assert agentflow.run(agentflow.runtime.sessions())[0]["status"] == "aborted"
    assert agentflow.result("t-1").state == "aborted"
    assert agentflow.events() == events
    assert agentflow.commits == 0


def test_a_turn_that_died_is_replayed_and_not_run_again(agentflow: Kit) -> None:
    """C19, T30: nothing is ever executed again by itself."""
    agentflow.agent(tools=[mark], replies=replies)
    agentflow.kill_after(3)
    with pytest.raises(ProcessKilled):
        agentflow.send("go", turn_id="t-1")
    agentflow.reopen()
    before = list(MARKS)
    message = {"type": "client.message", "message": {"role": "user", "content": "go"}, "turn_id": "t-1"}
    assert agentflow.submit({"agent_id": "test", **message}).replayed
    assert agentflow.result("t-1").state == "aborted"
    assert before == MARKS
