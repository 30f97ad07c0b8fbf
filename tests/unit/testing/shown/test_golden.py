"""Logs as files: the same in every run, whatever its ids and times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentflow import Event
from agentflow.testing import Kit
from agentflow.testing.shown.golden import golden_log
from agentflow.testing.shown.trace import short_trace


def log(first: str, second: str, began: int) -> list[Event]:
    message = {"id": second, "role": "user", "content": "Hi.", "tool_calls": [{"id": "c", "name": "add"}]}
    return [
        Event("s-1", 1, first, began, "turn.started", {"turn_id": first, "config_hash": first * 2}),
        Event("s-1", 2, first, began + 1_500_000, "message.new", {"message": message, "parent_id": None}),
        Event("s-1", 3, first, began + 1_500_000, "tool.call.completed", {"id": "c", "name": "add", "duration_ms": 3}),
        Event("s-1", 4, first, began + 1_500_000, "message.new", {"message": {"id": "z"}, "parent_id": second}),
    ]


def test_ids_are_renamed_and_times_relative() -> None:
    text = golden_log(log("a", "b", 0))
    assert text == golden_log(log("x", "y", 77))
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["at"] for line in lines] == [0, 1.5, 1.5, 1.5]
    assert lines[0]["data"] == {"turn_id": "turn-1", "config_hash": "config-1"}
    assert lines[1]["data"]["message"]["tool_calls"] == [{"id": "call-1", "name": "add"}]
    assert lines[2]["data"] == {"id": "call-1", "name": "add"}
    assert lines[3]["data"] == {"message": {"id": "message-2"}, "parent_id": "message-1"}


def test_a_log_is_written_once_and_compared_from_then_on(agentflow: Kit, tmp_path: Path) -> None:
    golden = tmp_path / "golden" / "hello.jsonl"
    agentflow.agent(replies=[{"text": "Hello."}, {"text": "Hello again."}])
    agentflow.send("Hi.")
    with pytest.raises(AssertionError, match="has been written"):
        agentflow.assert_golden(golden)
    agentflow.assert_golden(golden)
    agentflow.send("Hi.")
    with pytest.raises(AssertionError, match="Hello again"):
        agentflow.assert_golden(golden)


def test_a_trace_is_one_short_line_for_each_event() -> None:
    told = Event("s-1", 12, None, 0, "message.new", {"message": {"role": "user", "content": "a\n" * 200}})
    (line,) = short_trace([told]).splitlines()
    assert line.startswith("  12  message.new          user: a a a")
    assert len(line) < 140
    assert short_trace([]) == "(no events)"
