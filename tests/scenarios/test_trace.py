"""The trace of a turn: what happened, in order, from the store alone (R6)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agentflow import ModelRequest, TurnNotFound
from agentflow.clock import SECOND
from agentflow.conversation.repair import ABORTED_BY_USER
from agentflow.testing import Kit, ProcessKilled
from cli.reading.waterfall import waterfall
from tests.scenarios.support import call

ASKS = call("ask_user", questions=[{"header": "Plan", "question": "Which one?"}])
START = int(datetime(2030, 1, 1, 9, tzinfo=UTC).timestamp()) * SECOND
TODOS = [{"content": "Look", "status": "in_progress"}]


def look(what: str) -> str:
    """Look something up."""
    if what == "nothing":
        raise ValueError("there is nothing")
    return what * 3


def trace(kit: Kit, turn: int | None = None) -> dict[str, Any]:
    return kit.run(kit.runtime.trace("s-1", turn))


def nodes(traced: dict[str, Any]) -> list[dict[str, Any]]:
    return [node for step in traced["steps"] for node in step["nodes"]]


def test_a_turn_is_shown_with_its_calls_tools_and_sums(agentflow: Kit) -> None:
    usage = {"input": 100, "output": 10}
    agentflow.agent(
        tools=[look],
        replies=[
            {"tool_calls": [call("look", what="ab"), call("look", what="nothing")], "usage": usage},
            {"text": "Done.", "usage": usage},
        ],
    )
    agentflow.send("Hi.")
    traced = trace(agentflow)
    assert (traced["turn"], traced["state"], traced["ended_by"], traced["agent"]) == (1, "done", None, "test")
    assert traced["tokens"] == {"input": 200, "output": 20, "cache_read": None, "cache_write": None}
    first, second = nodes(traced)
    assert [
        (node["kind"], node["iteration"], node["purpose"], node["tokens"]["input"]) for node in (first, second)
    ] == [
        ("model_call", 1, "main", 100),
        ("model_call", 2, "main", 100),
    ]
    assert [(tool["name"], tool["arguments"], tool["status"]) for tool in first["tools"]] == [
        ("look", '{"what": "ab"}', "completed"),
        ("look", '{"what": "nothing"}', "failed"),
    ]
    assert first["tools"][0]["result"] == "ababab"
    assert "there is nothing" in first["tools"][1]["result"]
    assert second["tools"] == []


def test_the_full_text_of_a_result_that_was_cut_is_in_the_trace(agentflow: Kit) -> None:
    """Limits table: the full result stays in the trace."""
    agentflow.agent(
        tools=[{"flow": look, "max_result_chars": 100}],
        replies=[{"tool_calls": [call("look", what="x" * 1000)]}, {"text": "Done."}],
    )
    agentflow.send("Hi.")
    (tool,) = nodes(trace(agentflow))[0]["tools"]
    assert (tool["result"], tool["cut"]) == ("x" * 3000, True)


def test_a_pause_and_a_changed_configuration_are_shown(agentflow: Kit) -> None:
    """A7: a paused turn resumes with the current file and the trace says that it changed."""
    agentflow.agent(planning=True, replies=[{"tool_calls": [call("write_todos", todos=TODOS), ASKS]}])
    agentflow.send("Hi.")
    paused = trace(agentflow)
    assert [node["kind"] for node in nodes(paused)] == ["model_call", "todos", "question"]
    assert (nodes(paused)[2]["state"], nodes(paused)[2]["answer"]) == ("pending", None)
    agentflow.advance(60)
    agentflow.agent(planning=True, prompt="Changed.", replies=[{"text": "Done."}])
    agentflow.send("Pro")
    traced = trace(agentflow)
    assert [step["config_changed"] for step in traced["steps"]] == [False, True]
    assert traced["steps"][0]["config_hash"] != traced["steps"][1]["config_hash"]
    assert traced["config_changed"]
    question = nodes(traced)[2]
    assert (question["state"], question["answer"]) == ("answered", "Plan: Pro")
    assert question["answered_at"] > question["at"]
    assert traced["todos"] == TODOS


def test_a_turn_is_found_by_any_of_its_names(agentflow: Kit) -> None:
    """C19: its own id and that of the request that answered it; what waits has no trace yet."""
    agentflow.agent(replies=[{"tool_calls": [ASKS]}, {"text": "Done."}, {"text": "Two."}])
    agentflow.send("Hi.", turn_id="t-1")
    agentflow.submit({**_said("later"), "turn_id": "t-2", "queue": True})
    with pytest.raises(TurnNotFound, match="waits in the queue"):
        agentflow.run(agentflow.runtime.trace("s-1", "t-2"))
    agentflow.send("Pro", turn_id="mine")
    agentflow.result("t-2")
    found = [agentflow.run(agentflow.runtime.trace("s-1", name))["turn"] for name in ("t-1", "mine", 1, "t-2", 2)]
    assert found == [1, 1, 1, 2, 2]
    with pytest.raises(TurnNotFound, match="has no turn 'nobody'"):
        agentflow.run(agentflow.runtime.trace("s-1", "nobody"))


def _said(text: str) -> dict[str, Any]:
    return {"type": "client.message", "message": {"role": "user", "content": text}}


def test_an_unchanged_configuration_is_not_said_to_have_changed(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"tool_calls": [ASKS]}, {"text": "Done."}])
    agentflow.send("Hi.")
    agentflow.send("Pro")
    assert not trace(agentflow)["config_changed"]


def test_a_plan_is_shown_with_the_call_that_made_it(agentflow: Kit) -> None:
    """T33"""
    agentflow.agent(
        planning={"planner": "llm://main"},
        replies=[{"when": {"purpose": "planner"}, "text": "1. Look"}, {"text": "Done."}],
    )
    agentflow.send("Hi.")
    traced = trace(agentflow)
    assert traced["plan"] == "1. Look"
    assert [node.get("purpose", node["kind"]) for node in nodes(traced)] == ["planner", "todos", "main"]


def test_the_end_of_an_aborted_turn_says_who_ended_it(agentflow: Kit) -> None:
    """Stop (T25), expiry (T21), crash before and after it is repaired (T29, T30)."""
    agentflow.agent(settings={"ask_user_expiry_secs": 60}, replies=[{"tool_calls": [ASKS]}, {"tool_calls": [ASKS]}])
    agentflow.send("One.")
    agentflow.run(agentflow.runtime.stop("s-1"))
    agentflow.send("Two.")
    agentflow.advance(61)
    agentflow.agent(tools=[look], replies=[{"tool_calls": [call("look", what="a")]}])
    agentflow.kill_after(2)
    with pytest.raises(ProcessKilled):
        agentflow.send("Three.")
    agentflow.reopen()
    dead = trace(agentflow)
    agentflow.script([{"text": "Four."}])
    agentflow.send("Four.")
    ended = [trace(agentflow, turn)["ended_by"] for turn in (1, 2, 3, 4)]
    assert ended == ["stop", "expiry", "crash", None]
    assert (dead["state"], dead["ended_by"]) == ("aborted", "crash")
    (tool,) = nodes(trace(agentflow, 3))[0]["tools"]
    assert (tool["status"], tool["duration_ms"]) == ("closed", None)
    assert "outcome is unknown" in tool["result"]


def test_a_question_about_a_limit_is_shown(agentflow: Kit) -> None:
    """T39"""
    agentflow.agent(
        tools=[look],
        settings={"max_iterations": 1, "on_limit": "ask"},
        replies=[{"tool_calls": [call("look", what="a")]}, {"text": "Done."}],
    )
    agentflow.send("Hi.")
    assert [node["kind"] for node in nodes(trace(agentflow))] == ["model_call", "tool_call", "question"]
    agentflow.send("Go on")
    assert trace(agentflow)["state"] == "done"


def test_an_erased_turn_keeps_its_outline(agentflow: Kit) -> None:
    """R5: what `observability: false` erased is not in the trace."""
    agentflow.agent(
        tools=[look], settings={"observability": False},
        replies=[{"tool_calls": [call("look", what="secret")]}, {"text": "Done."}],
    )  # fmt: skip
    agentflow.send("Hi.")
    traced = trace(agentflow)
    assert (traced["state"], len(traced["steps"]), nodes(traced)) == ("done", 1, [])
    assert "secret" not in str(traced)


def test_a_turn_that_is_not_there_is_refused(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "Done."}])
    agentflow.send("Hi.")
    with pytest.raises(TurnNotFound, match="no turn 2; its turns are 1 to 1"):
        trace(agentflow, 2)


def test_a_sub_agents_run_stands_in_the_call_that_began_it(agentflow: Kit) -> None:
    """R6: sub-agents nested."""
    agentflow.agent("helper", tools=[look], replies=[{"tool_calls": [call("look", what="a")]}, {"text": "Helped."}])
    agentflow.agent(
        "test",
        sub_agents=["helper"],
        replies=[{"tool_calls": [call("task", agent="helper", prompt="Help.")]}, {"text": "Done."}],
    )
    agentflow.send("Hi.")
    outer, last = nodes(trace(agentflow))
    run = outer["tools"][0]["execution"]
    assert (outer["tools"][0]["name"], run["agent"], str(run["status"])) == ("task", "helper", "DONE")
    assert [node["kind"] for node in run["nodes"]] == ["model_call", "model_call"]
    assert run["nodes"][0]["tools"][0]["name"] == "look"
    assert last["kind"] == "model_call"


def test_what_happened_stands_at_its_own_time_and_in_its_order(agentflow: Kit) -> None:
    """D74, T37: a hook before a slow tool is told and shown before it, at the time it ran, not when it was written."""

    def guard(call: dict[str, Any]) -> None:
        agentflow.advance(1)

    def slow() -> str:
        """Take five seconds."""
        agentflow.advance(5)
        return "slept"

    def after(call: dict[str, Any]) -> None:
        agentflow.advance(1)

    agentflow.agent(
        tools=[slow],
        hooks={"pre_tool": [guard], "post_tool": [after]},
        replies=[{"tool_calls": [call("slow")]}, {"text": "ok"}],
    )
    agentflow.send("go")
    seconds = {
        (event.data["point"] if event.type == "hook.completed" else event.type): (event.at - START) // SECOND
        for event in agentflow.events()
        if event.type in ("tool.call.requested", "hook.completed", "tool.call.completed")
    }
    assert list(seconds.items()) == [
        ("tool.call.requested", 0), ("pre_tool", 1), ("post_tool", 7), ("tool.call.completed", 7)
    ]  # fmt: skip
    (tool,) = nodes(trace(agentflow))[0]["tools"]
    assert [(hook["point"], hook["at"][17:19]) for hook in tool["hooks"]] == [("pre_tool", "00"), ("post_tool", "06")]
    lines = [line for line in waterfall(trace(agentflow)) if "slow" in line or "hook" in line]
    assert [line.split(" · ")[0].split("  ")[-1] for line in lines] == [
        "hook guard at pre_tool", "slow({})", "hook after at post_tool"
    ]  # fmt: skip


@pytest.mark.parametrize("by", ["user", "tool"])
def test_a_text_that_reads_like_the_mark_of_a_stop_is_none(agentflow: Kit, by: str) -> None:
    """Z6: what aborted a turn is known by who wrote its last message."""
    said = f"Never mind. {ABORTED_BY_USER}"

    def echo() -> str:
        """Say it."""
        return said

    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.messages[-1]["role"] == "tool" or by == "user":
            agentflow.kill_after(1)
        return {"tool_calls": [call("echo")]}

    agentflow.agent(tools=[echo], replies=reply)
    with pytest.raises(ProcessKilled):
        agentflow.send(said)
    agentflow.reopen()
    assert trace(agentflow)["ended_by"] == "crash"
