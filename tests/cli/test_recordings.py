"""R9: `run --record` and `run --replay`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command


def test_a_run_is_recorded_and_replayed(agentflow: Command, project: Path) -> None:
    assert agentflow("run", "echo", "-s", "s-1", "hi", "--record", "talk.jsonl").out == "hi\n"
    (project / "agents" / "echo" / "replies.yaml").write_text("replies: []\n")
    assert agentflow("run", "echo", "-s", "s-2", "hi", "--replay", "talk.jsonl").out == "hi\n"
    missed = agentflow("run", "echo", "-s", "s-3", "ho", "--replay", "talk.jsonl")
    assert missed.code == 1
    assert "nothing was recorded for this request" in missed.err


def test_a_file_that_is_no_recording_runs_nothing(agentflow: Command, project: Path) -> None:
    (project / "talk.jsonl").write_text("hello\n")
    for option in ("--record", "--replay"):
        refused = agentflow("run", "echo", "-s", "s-1", "hi", option, "talk.jsonl")
        assert (refused.code, "talk.jsonl:1:" in refused.err) == (2, True)
    assert agentflow("run", "echo", "hi", "--record", "a", "--replay", "b").code == 2
    assert (project / "talk.jsonl").read_text() == "hello\n"


def test_an_answer_is_recorded_and_replayed(agentflow: Command, project: Path) -> None:
    recorded = ("--record", "talk.jsonl")
    assert agentflow("run", "asking", "-s", "s-1", "hi", *recorded).code == 4
    assert agentflow("answer", "s-1", "Pro", *recorded).out == "You said Plan: Pro.\n"
    (project / "agents" / "asking" / "replies.yaml").write_text("replies: []\n")
    assert agentflow("run", "asking", "-s", "s-2", "hi", "--replay", "talk.jsonl").code == 4
    assert agentflow("answer", "s-2", "Pro", "--replay", "talk.jsonl").out == "You said Plan: Pro.\n"
    assert agentflow("answer", "s-2", "Pro", *recorded, "--replay", "talk.jsonl").code == 2
