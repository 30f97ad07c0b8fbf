"""Sub-agents that are stopped, killed, repaired, or run out of room (T23, T30, T35, X11)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from agentflow import ModelRequest
from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.rooms import FILLER, OPENING, assert_paired, over
from tests.scenarios.support import call, results, rows

Reply = dict[str, Any]
HELLO = {"type": "client.message", "message": {"role": "user", "content": "go"}}


def task(prompt: str = "x", agent: str = "helper") -> Reply:
    return call("task", agent=agent, prompt=prompt)


DELEGATE = {"tool_calls": [call("delegate", agent="helper", message="n")]}


def check_closed(kit: Kit, db: str) -> None:
    """Nothing is open any more, and a request may go out with every path."""
    assert rows(db, "SELECT name FROM tool_call WHERE status IN ('planned', 'started')") == []
    assert rows(db, "SELECT id FROM llm_call WHERE status = 'requested'") == []
    assert rows(db, "SELECT number FROM execution WHERE status IN ('RUNNING', 'PENDING_USER_INPUT')") == []
    asked = rows(db, "SELECT count(*) FROM tool_call")
    assert rows(db, "SELECT count(*) FROM message WHERE role = 'tool'") == asked


def test_a_killed_task_is_closed_as_aborted_and_nothing_of_it_runs_again(agentflow: Kit, agentflow_db: str) -> None:
    """B11: the sub-agent calls `mark` three times; killed after the second mark."""
    marks: list[str] = []
    third = asyncio.Event()

    async def mark(x: str) -> str:
        """Leave a mark."""
        if x == "3":
            third.set()
            await asyncio.Event().wait()
        marks.append(x)
        return "marked"

    helper = [{"tool_calls": [call("mark", x=x)]} for x in "123"]
    agentflow.agent("helper", tools=[mark], replies=helper)
    agentflow.agent("parent", replies=[{"tool_calls": [task()]}], sub_agents=["helper"])
    agentflow.submit(HELLO)
    agentflow.run(third.wait())
    agentflow.kill()
    agentflow.reopen()
    assert agentflow.status()["status"] == "aborted"
    agentflow.script([{"text": "It was cut short."}], agent="parent")
    agentflow.send("continue?")
    assert marks == ["1", "2"]
    assert len(agentflow.requests_of("helper")) == 3
    assert rows(agentflow_db, "SELECT agent, status FROM execution ORDER BY number")[:2] == [
        ("parent", "ABORTED"),
        ("helper", "ABORTED"),
    ]
    (placeholder,) = [message["content"] for message in agentflow.path() if message["role"] == "tool"]
    assert "outcome is unknown" in placeholder
    check_closed(agentflow, agentflow_db)


@pytest.mark.parametrize("commits", range(1, 9))
def test_a_kill_after_any_commit_with_parallel_children_is_repaired(
    agentflow: Kit, agentflow_db: str, commits: int
) -> None:
    """T30, B11"""
    marks: list[str] = []

    def mark(x: str) -> str:
        """Leave a mark."""
        marks.append(x)
        return "marked"

    def helper(request: ModelRequest) -> Reply:
        asked = request.messages[1]["content"]
        return {"text": "ok"} if request.messages[-1]["role"] == "tool" else {"tool_calls": [call("mark", x=asked)]}

    agentflow.agent("helper", tools=[mark], replies=helper)
    agentflow.agent("parent", replies=[{"tool_calls": [task("a"), task("b")]}, {"text": "done"}], sub_agents=["helper"])
    agentflow.kill_after(commits)
    with suppress(ProcessKilled):  # how many commits there are depends on which of them fall together
        agentflow.send("go")
    agentflow.kill()
    agentflow.reopen()
    agentflow.script(lambda request: {"text": "fine"}, agent="parent")
    assert agentflow.send("and now?").answer == "fine"
    assert len(marks) == len(set(marks))
    check_closed(agentflow, agentflow_db)
    assert_paired(agentflow.requests_of("parent")[-1])


def waiting(began: asyncio.Event) -> Any:
    async def wait() -> str:
        """Wait."""
        began.set()
        await asyncio.Event().wait()
        return ""

    return wait


def test_a_stop_reaches_a_task_s_tools_and_their_sub_agents(agentflow: Kit, agentflow_db: str) -> None:
    """T35: "Stop, crash and repair reach children." """
    began = asyncio.Event()
    agentflow.agent("third", tools=[waiting(began)], replies=[{"tool_calls": [call("wait")]}])
    agentflow.agent("helper", replies=[{"tool_calls": [task(agent="third")]}], sub_agents=["third"])
    agentflow.agent("parent", replies=[{"tool_calls": [task()]}, {"text": "fine"}], sub_agents=["helper"])
    receipt = agentflow.submit(HELLO)
    agentflow.run(began.wait())
    assert agentflow.stop()["outcome"] == "stopped"
    result = agentflow.result(receipt.turn_id)
    assert (result.state, result.answer) == ("aborted", None)
    assert rows(agentflow_db, "SELECT DISTINCT status FROM execution") == [("ABORTED",)]
    check_closed(agentflow, agentflow_db)
    assert agentflow.send("and now?").answer == "fine"


def test_a_stop_keeps_what_a_delegated_sub_agent_was_saying_as_the_partial_answer(agentflow: Kit) -> None:
    """T24, T34: the user has seen it, and its answer is the turn's."""
    agentflow.agent("helper", replies=[{"text": "one two three", "chunk_size": 4, "delay_secs": 0.01}])
    agentflow.agent("parent", replies=[DELEGATE], sub_agents=["helper"])
    receipt = agentflow.submit(HELLO)
    agentflow.until("llm.delta")
    agentflow.stop()
    answer = agentflow.result(receipt.turn_id).answer or ""
    assert answer
    assert "one two three".startswith(answer)
    assert agentflow.path()[-1]["content"] == f"{answer}\n<ABORTED BY USER>"
    assert agentflow.events("error") == []


def test_a_stop_does_not_keep_what_a_task_was_saying(agentflow: Kit) -> None:
    """T34: nobody has seen it."""
    agentflow.agent("helper", replies=[{"text": "one two three", "chunk_size": 4, "delay_secs": 0.01}])
    agentflow.agent("parent", replies=[{"tool_calls": [task()]}], sub_agents=["helper"])
    receipt = agentflow.submit(HELLO)
    agentflow.until("llm.delta")
    agentflow.stop()
    assert agentflow.result(receipt.turn_id).answer is None
    assert agentflow.path()[-1]["content"] == "<ABORTED BY USER>"


def test_a_crash_keeps_what_a_delegated_sub_agent_had_said_at_its_last_checkpoint(
    agentflow: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T30, T34: the user has seen it."""
    monkeypatch.setattr("agentflow.turn.calls.model_stream.CHECKPOINT_SECS", 0.0)
    agentflow.agent("helper", replies=[{"text": "one two three", "chunk_size": 4}])
    agentflow.agent("parent", replies=[DELEGATE], sub_agents=["helper"])
    agentflow.kill_after(5)
    with pytest.raises(ProcessKilled):
        agentflow.send("go")
    agentflow.reopen()
    agentflow.script([{"text": "fine"}], agent="parent")
    agentflow.send("and now?")
    said = [message["content"] for message in agentflow.path() if message["role"] == "assistant"]
    assert said[1].startswith("one ")
    assert said[1].endswith("\n<INTERRUPTED>")


def test_a_fault_of_our_own_inside_a_child_is_its_error_result(agentflow: Kit) -> None:
    """T14: siblings are kept."""

    class Broken:
        name, scripted = "broken", True

        def stream(self, request: ModelRequest) -> Any:
            raise KeyError("a bug")

        async def close(self) -> None:
            """Nothing to release."""

    agentflow.agent("bad", model=Broken())
    agentflow.agent("helper", replies=[{"text": "helped"}])
    both = {"tool_calls": [task(), task(agent="bad")]}
    agentflow.agent("parent", replies=[both, {"text": "ok"}], sub_agents=["helper", "bad"])
    assert agentflow.send("go").answer == "ok"
    good, bad = results(agentflow.requests_of("parent")[-1])
    assert good == "helped"
    assert "KeyError" in bad


def look(place: str) -> str:
    """Look at a place."""
    return f"{place}: {FILLER}"


def test_a_child_makes_room_on_its_own_path_by_its_own_strategies(agentflow: Kit, agentflow_db: str) -> None:
    """X11: "main or sub-agent, each by its own `context:` and its own history"."""
    numbers = iter(range(1, 30))

    def helper(request: ModelRequest) -> Reply:
        if request.purpose == "summary":
            return {"text": "Looked at some places."}
        number = next(numbers)
        return {"tool_calls": [call("look", place=f"p{number}")]} if number < 12 else {"text": "all quiet"}

    agentflow.agent(
        "helper", tools=[look], replies=helper, context=over(900), settings={"max_tool_calls": 0}, prompt="You help."
    )
    agentflow.agent("parent", replies=[{"tool_calls": [task("look around")]}, {"text": "fine"}], sub_agents=["helper"])
    assert agentflow.send("go").answer == "fine"
    replaced = agentflow.events("context.replaced")
    assert replaced
    assert {event.data["execution"] for event in replaced} == {2}
    last = agentflow.requests_of("helper")[-1]
    assert any(OPENING in str(message["content"]) for message in last.messages)
    assert ("user", "look around") in [(message["role"], message["content"]) for message in last.messages]
    for request in agentflow.requests_of("helper"):
        assert_paired(request)
    assert [message["role"] for message in agentflow.path()] == ["user", "assistant", "tool", "assistant"]
    check_closed_calls = rows(agentflow_db, "SELECT id FROM llm_call WHERE status = 'requested'")
    assert check_closed_calls == []


def test_a_child_s_overflow_is_tried_once_more_after_room_was_made(agentflow: Kit) -> None:
    """X16"""
    full = {"error": {"kind": "context_overflow"}}
    calls = iter(
        [{"tool_calls": [call("look", place="a")]}, {"tool_calls": [call("look", place="b")]}, full, {"text": "ok"}]
    )

    def helper(request: ModelRequest) -> Reply:
        return {"text": "Looked at a."} if request.purpose == "summary" else next(calls)

    agentflow.agent("helper", tools=[look], replies=helper)
    agentflow.agent("parent", replies=[{"tool_calls": [task()]}, {"text": "fine"}], sub_agents=["helper"])
    assert agentflow.send("go").answer == "fine"
    assert results(agentflow.requests_of("parent")[-1]) == ["ok"]


def test_a_paused_child_that_has_made_room_goes_on_on_its_newest_path(agentflow: Kit) -> None:
    """X18, T22"""
    asked = call("ask_user", questions=[{"header": "Which", "question": "Which one?"}])
    plan = iter(
        [*({"tool_calls": [call("look", place=f"p{n}")]} for n in range(6)), {"tool_calls": [asked]}, {"text": "ok"}]
    )

    def helper(request: ModelRequest) -> Reply:
        return {"text": "Looked at places."} if request.purpose == "summary" else next(plan)

    agentflow.agent("helper", tools=[look], replies=helper, context=over(700), settings={"max_tool_calls": 0})
    agentflow.agent("parent", replies=[DELEGATE], sub_agents=["helper"])
    assert agentflow.send("go").state == "paused_ask_user"
    assert agentflow.events("context.replaced")
    agentflow.restart()
    assert agentflow.answer("green").answer == "ok"
    last = agentflow.requests_of("helper")[-1]
    assert_paired(last)
    assert results(last) == ["Which: green"]
    assert any(OPENING in str(message["content"]) for message in last.messages)
    assert sum("p0" in str(message["content"]) for message in last.messages) == 0
