"""What goes on is known from the events alone, and told with its seconds (B77)."""

from __future__ import annotations

from typing import Any

import pytest

from cli.terminal.activity import Activity
from cli.terminal.area import cells
from cli.terminal.plain import shortened

Happened = tuple[str, dict[str, Any], float]

CALL = ("llm.call.requested", {"call_id": "c1", "purpose": "main", "model": "m/x"}, 0.0)
TOOL = ("tool.call.requested", {"id": "t1", "name": "search", "arguments": "{}", "reply_id": "r"}, 1.0)


def _after(*events: Happened) -> Activity:
    activity = Activity()
    for type_, data, now in events:
        activity.event(type_, data, now, logged=not type_.endswith(("delta", "retrying", "loading", "started")))
    return activity


def _doing(activity: Activity, now: float) -> str:
    return " / ".join(line.partition(" ")[2] for line in activity.lines(now, 200))


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([CALL], "waiting for m/x 4 s"),
        ([CALL, ("model.loading", {"call_id": "c1", "model": "m/x"}, 1.0)], "waiting for m/x 4 s, loading litellm 3 s"),
        (
            [CALL, ("model.retrying", {"call_id": "c1", "attempt": 1, "error": "busy", "next_secs": 8.0}, 2.0)],
            "waiting for m/x 4 s, the model: attempt 1 failed (busy), next in 8 s 2 s",
        ),
        ([("worker.retrying", {"attempt": 2, "error": "away", "next_secs": 1.5}, 2.0)],
         "the worker: attempt 2 failed (away), next in 1.5 s 2 s"),
        ([TOOL], "search 3 s"),
        ([TOOL, ("tool.call.requested", {"id": "t2", "name": "fetch", "arguments": "{}", "reply_id": "r"}, 3.0)],
         "search 3 s, fetch 1 s"),
        ([("tool.call.requested", {"id": "t", "name": "task", "arguments": '{"agent": "ann"}', "reply_id": "r"}, 0.0)],
         "sub-agent ann 4 s"),
        ([("tool.call.requested", {"id": "t", "name": "task", "arguments": "[", "reply_id": "r"}, 0.0)], "task 4 s"),
        ([("hook.started", {"point": "pre_tool", "flow": "check"}, 1.0)], "pre_tool hook check 3 s"),
        ([("context.limited", {"reason": "window", "tokens": 9}, 0.0)], "making room 4 s"),
        ([("llm.call.requested", {"call_id": "c", "purpose": "summary", "model": "m"}, 0.0)], "summarizing 4 s"),
        ([(TOOL[0], TOOL[1] | {"execution": 1}, 1.0)], "in a sub-agent: search 3 s"),
    ],
)  # fmt: skip
def test_each_thing_that_runs_is_told_with_its_seconds(events: list[Happened], told: str) -> None:
    assert _doing(_after(*events), 4.0) == told


@pytest.mark.parametrize(
    ("begun", "ended"),
    [
        (CALL, ("llm.call.completed", {"call_id": "c1"})),
        (CALL, ("llm.call.errored", {"call_id": "c1"})),
        (TOOL, ("tool.call.completed", {"id": "t1", "name": "search", "result": ""})),
        (TOOL, ("tool.call.errored", {"id": "t1", "name": "search", "error": ""})),
        (TOOL, ("call.voided", {"id": "t1", "name": "search"})),
        (
            ("hook.started", {"point": "pre_tool", "flow": "f", "tool_call_id": "t"}, 0.0),
            ("hook.completed", {"point": "pre_tool", "flow": "f", "tool_call_id": "t", "outcome": "ok"}),
        ),
        (("context.limited", {}, 0.0), ("context.replaced", {})),
        (("context.limited", {}, 0.0), ("context.kept", {})),
        (("worker.retrying", {"attempt": 1, "error": "e", "next_secs": 1}, 0.0), ("llm.call.requested", CALL[1])),
        (TOOL, ("done", {})),
    ],
)
def test_what_is_over_is_not_told_any_more(begun: Happened, ended: tuple[str, dict[str, Any]]) -> None:
    activity = _after(begun)
    before = dict(activity.running)
    activity.event(*ended, 3.0, logged=True)
    assert before
    assert not before.keys() & activity.running.keys()


def test_the_model_speaks_from_its_first_text_to_its_last() -> None:
    activity = _after(CALL, ("llm.delta", {"call_id": "c1", "offset": 0, "reasoning": "Hm"}, 1.0))
    assert activity.speaking is None
    activity.event("llm.delta", {"call_id": "c1", "offset": 0, "text": "Hel"}, 2.0, logged=False)
    assert activity.speaking == "c1"
    assert _doing(activity, 4.0) == "an answer comes from m/x 4 s"
    activity.event("llm.call.completed", {"call_id": "c1"}, 3.0, logged=True)
    assert activity.speaking is None


def test_what_a_sub_agent_tells_its_parent_is_not_spoken_and_what_it_tells_the_user_is() -> None:
    """T34"""
    told = {"call_id": "c2", "offset": 0, "text": "Hm", "execution": 1}
    assert _after(("llm.delta", told, 2.0)).speaking is None
    assert _after(("llm.delta", told | {"heard": True}, 2.0)).speaking == "c2"


def test_the_todos_stand_above_what_runs() -> None:
    todos = [{"content": f"step {n}", "status": "pending"} for n in range(9)]
    todos[0] |= {"status": "completed"}
    todos[1] |= {"status": "in_progress"}
    lines = _after(TOOL, ("todo", {"todos": todos}, 1.0)).lines(4.0, 80)
    assert lines[:3] == ["[x] step 0", "[>] step 1", "[ ] step 2"]
    assert lines[8] == "... 1 more"
    assert lines[9].endswith("search 3 s")


def test_what_takes_longer_than_two_seconds_is_told_once() -> None:
    activity = _after(TOOL)
    assert activity.slow(3.0) == []
    assert activity.slow(3.1) == ["still going on after 2 s: search"]
    assert activity.slow(9.0) == []


def test_a_name_cannot_steer_the_terminal() -> None:
    """Z5"""
    evil = ("tool.call.requested", TOOL[1] | {"name": "a\x1b[2Jb\nc\u202e"}, 1.0)
    assert _doing(_after(evil), 4.0) == "a[2Jb c 3 s"


@pytest.mark.parametrize("width", [1, 2, 5, 20, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    wide = ("tool.call.requested", TOOL[1] | {"name": "検索" * 30}, 1.0)
    assert all(cells(line) < width for line in _after(wide).lines(4.0, width))


def test_a_text_is_cut_by_columns() -> None:
    assert shortened("日本語の名前", 8) == "日本..."
    assert shortened("short", 5) == "short"
