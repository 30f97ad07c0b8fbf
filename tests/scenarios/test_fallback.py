"""Another model when one cannot be had: asked at once, recorded call by call, shown in the trace (W5)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentflow.testing import Kit, ProcessKilled
from tests.scenarios.support import rows

Replies = Sequence[Mapping[str, Any]]
BUSY = {"error": {"kind": "rate_limited"}, "repeat": True}
HELLO = {"text": "Hello.", "repeat": True}
CALLS = "SELECT model, status, purpose, iteration FROM llm_call ORDER BY requested_at, iteration, id"


@pytest.fixture
def asked(agentflow: Kit) -> Any:
    """Make an agent whose interface `main` asks scripts in this order; each has its own replies."""

    def make(scripts: Mapping[str, Replies], **keys: Any) -> Path:
        first, *others = (f"scripted/{name}.yaml" for name in scripts)
        main = {"model": first, "fallback": others, **keys.pop("main", {})}
        path = agentflow.agent(model=main, **keys)
        for name, replies in scripts.items():
            (path.parent / f"{name}.yaml").write_text(json.dumps({"replies": list(replies)}))
        return path

    return make


def model_calls(kit: Kit) -> list[dict[str, Any]]:
    steps = kit.run(kit.runtime.trace("s-1"))["steps"]
    return [node for node in steps[-1]["nodes"] if node["kind"] == "model_call"]


def test_the_next_model_is_asked_at_once_each_with_a_call_of_its_own(
    agentflow: Kit, agentflow_db: str, asked: Any
) -> None:
    asked({"a": [BUSY], "b": [{"error": {"kind": "unavailable"}, "repeat": True}], "c": [HELLO]})
    result = agentflow.send("Hi.")
    assert (result.answer, result.state) == ("Hello.", "done")
    assert [(row[0], row[1], row[3]) for row in rows(agentflow_db, CALLS)] == [
        ("scripted/a.yaml", "errored", 1), ("scripted/b.yaml", "errored", 1), ("scripted/c.yaml", "completed", 1),
    ]  # fmt: skip
    assert [call["attempts"] for call in model_calls(agentflow)] == [1, 1, 1]
    assert [message["role"] for message in agentflow.path()] == ["user", "assistant"]


def test_a_model_that_failed_is_passed_over_in_the_next_turn_and_the_trace_says_why(agentflow: Kit, asked: Any) -> None:
    asked({"a": [BUSY], "b": [HELLO]})
    agentflow.send("Hi.")
    agentflow.send("Again.")
    (call,) = model_calls(agentflow)
    assert (call["model"], call["status"]) == ("scripted/b.yaml", "completed")
    (over,) = call["passed_over"]
    assert over["model"] == "scripted/a.yaml"
    assert over["reason"].startswith("failed before, passed over for ")


def test_nobody_else_is_asked_once_something_was_shown(agentflow: Kit, agentflow_db: str, asked: Any) -> None:
    """T12: what a reader has seen is not said again by somebody else."""
    asked({"a": [{"text": "One moment", "error": {"kind": "unavailable", "after": 3}}], "b": [HELLO]})
    result = agentflow.send("Hi.")
    assert result.error is not None
    assert result.error["code"] == "model_error.unavailable"
    assert [row[0] for row in rows(agentflow_db, CALLS)] == ["scripted/a.yaml"]


def test_all_failed_is_the_first_failure_and_names_the_others(agentflow: Kit, asked: Any) -> None:
    asked({"a": [BUSY], "b": [{"error": {"kind": "auth"}}]}, settings={"llm_retries": 0})
    result = agentflow.send("Hi.")
    assert result.error is not None
    assert result.error["code"] == "model_error.rate_limited"
    assert "scripted/b.yaml (model_error.auth)" in result.error["message"]


def test_a_refused_request_is_not_sent_to_another_model(agentflow: Kit, agentflow_db: str, asked: Any) -> None:
    asked({"a": [{"error": {"kind": "bad_request"}}], "b": [HELLO]})
    assert agentflow.send("Hi.").error is not None
    assert [row[0] for row in rows(agentflow_db, CALLS)] == ["scripted/a.yaml"]


def test_what_one_provider_gave_with_a_reply_is_never_sent_to_another(agentflow: Kit, asked: Any) -> None:
    """T15: the second reply of the turn comes from another model."""
    thought = {"provider": {"reasoning_content": "hm"}}
    look = {"tool_calls": [{"name": "look", "arguments": {}}], **thought}

    def look_() -> str:
        """Look."""
        return "seen"

    look_.__name__ = "look"
    asked({"a": [look, BUSY], "b": [HELLO]}, tools=[look_])
    assert agentflow.send("Hi.").answer == "Hello."
    first, failed, last = model_calls(agentflow)
    assert [each["model"] for each in (first, failed, last)] == ["scripted/a.yaml"] * 2 + ["scripted/b.yaml"]
    sent = [
        agentflow.run(agentflow.runtime.records.request("s-1", call["call_id"]))["messages"] for call in (failed, last)
    ]
    assert "reasoning_content" in json.dumps(sent[0])
    assert "reasoning_content" not in json.dumps(sent[1])


def test_a_plan_and_a_summary_are_written_by_a_fallback_too(agentflow: Kit, agentflow_db: str, asked: Any) -> None:
    plan = {"when": {"purpose": "planner"}, "text": "1. Say hello"}
    asked({"a": [BUSY], "b": [plan, HELLO]}, planning={"planner": "llm://main"})
    assert agentflow.send("Hi.").answer == "Hello."
    calls = [(row[2], row[0], row[1]) for row in rows(agentflow_db, CALLS)]
    assert ("planner", "scripted/a.yaml", "errored") in calls
    assert ("planner", "scripted/b.yaml", "completed") in calls
    assert rows(agentflow_db, "SELECT plan FROM turn") == [("1. Say hello",)]


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_a_death_after_any_commit_leaves_a_session_that_goes_on(agentflow: Kit, asked: Any, commits: int) -> None:
    """T30"""
    asked({"a": [BUSY], "b": [HELLO]})
    agentflow.kill_after(commits)
    with contextlib.suppress(ProcessKilled):
        agentflow.send("Hi.")
    agentflow.reopen()
    assert agentflow.send("And now?").answer == "Hello."
