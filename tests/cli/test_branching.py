"""`submit`, `run --fork|--queue|--interrupt`, `sessions tree|checkout`, `explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command


def tree(agentflow: Command) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(agentflow("sessions", "tree", "s-1", "--json").out)
    return found


def test_submit_takes_any_input_as_json(agentflow: Command, project: Path) -> None:
    given = {"type": "client.message", "agent_id": "echo", "message": {"id": "u1", "role": "user", "content": "Hello"}}
    (project / "input.json").write_text(json.dumps(given))
    done = agentflow("submit", "s-1", "--input", "input.json")
    assert (done.code, done.out) == (0, "Hello\n")
    view = {"type": "client.messages", "messages": [{"role": "user", "content": "Edited"}]}
    (project / "input.json").write_text(json.dumps(view))
    assert json.loads(agentflow("submit", "s-1", "--input", "input.json", "--json").out)["answer"] == "Edited"
    (project / "input.json").write_text(json.dumps({"type": "head.move", "message_id": "u1"}))
    assert agentflow("submit", "s-1", "--input", "input.json").code == 0
    assert tree(agentflow)["head_id"] == "u1"


@pytest.mark.parametrize(("text", "said"), [("{", "not JSON"), ("[]", "object"), ('{"type": "dance"}', "dance")])
def test_submit_refuses_what_is_no_input(agentflow: Command, project: Path, text: str, said: str) -> None:
    (project / "input.json").write_text(text)
    done = agentflow("submit", "s-1", "--input", "input.json")
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize("name", ["/proc/self/environ", "../echo", "echo/../echo", "./echo", "~", "agents/echo"])
def test_submit_takes_an_agent_by_its_name_and_by_no_path(agentflow: Command, project: Path, name: str) -> None:
    """Z2: what a client names opens no file."""
    given = {"type": "client.message", "agent_id": name, "message": {"role": "user", "content": "Hello"}}
    (project / "input.json").write_text(json.dumps(given))
    done = agentflow("submit", "s-1", "--input", "input.json")
    assert (done.code, done.out) == (3, "")
    assert "agent" in done.err
    assert "PATH=" not in done.err


def test_submit_reads_no_more_than_an_input_may_have(agentflow: Command) -> None:
    """Z3: a file without an end is given up."""
    done = agentflow("submit", "s-1", "--input", "/dev/zero")
    assert (done.code, done.out) == (2, "")
    assert "not JSON" in done.err


def test_fork_branches_at_a_message(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "First")
    agentflow("run", "echo", "-s", "s-1", "Second")
    root = tree(agentflow)["nodes"][0]["message"]["id"]
    assert agentflow("run", "echo", "-s", "s-1", "--fork", root, "Elsewhere").out == "Elsewhere\n"
    shown = agentflow("sessions", "show", "s-1").out
    assert ("First" in shown, "Second" in shown, "Elsewhere" in shown) == (True, False, True)
    assert len([node for node in tree(agentflow)["nodes"] if node["parent_id"] == root]) == 2


def test_fork_needs_a_session_that_has_the_message(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "First")
    assert agentflow("run", "echo", "--fork", "x", "y").code == 2
    assert agentflow("run", "echo", "-s", "s-1", "--queue", "true", "--fork", "x", "y").code == 2
    missing = agentflow("run", "echo", "-s", "s-1", "--fork", "nothing", "y")
    assert (missing.code, missing.out) == (3, "")


def test_queue_and_interrupt_on_an_idle_session_change_nothing(agentflow: Command) -> None:
    for options in (["--queue", "true"], ["--queue", "merge"], ["--interrupt"]):
        assert agentflow("run", "echo", "-s", "s-1", *options, "Hello").out == "Hello\n"


def test_a_queued_run_waits_for_the_turn_of_another_process(agentflow: Command, spawn: Any) -> None:
    """C21: `run --queue` waits, and takes its own entry when it is first."""
    first = spawn("run", "slow", "-s", "s-1", "--jsonl", "First")
    assert "session.created" in first.stdout.readline()
    waiting = agentflow("run", "slow", "-s", "s-1", "--queue", "true", "--json", "Second")
    assert (waiting.code, json.loads(waiting.out)["state"]) == (0, "done")
    last = first.communicate()[0].splitlines()[-1]
    assert json.loads(last)["state"] == "done"
    users = [node["message"]["content"] for node in tree(agentflow)["nodes"] if node["message"]["role"] == "user"]
    assert users == ["First", "Second"]


def test_the_tree_marks_path_and_head(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "First")
    root = tree(agentflow)["nodes"][0]["message"]["id"]
    agentflow("run", "echo", "-s", "s-1", "--fork", root, "Other")
    lines = agentflow("sessions", "tree", "s-1").out.splitlines()
    assert [line[0] for line in lines] == ["|", " ", "|", "*"]
    assert lines[0].endswith("user: First")
    assert lines[1].startswith("    ")


def test_checkout_moves_the_head(agentflow: Command) -> None:
    agentflow("run", "echo", "-s", "s-1", "First")
    root = tree(agentflow)["nodes"][0]["message"]["id"]
    assert agentflow("sessions", "checkout", "s-1", root).out == f"{root}\n"
    assert json.loads(agentflow("sessions", "checkout", "s-1", root, "--json").out)["moved"] is False
    assert tree(agentflow)["head_id"] == root
    assert agentflow("sessions", "checkout", "s-1", "nothing").code == 3


def test_explain_prints_the_request_and_its_parts(agentflow: Command) -> None:
    agentflow("run", "informed", "-s", "s-1", "--input", "city=Paris", "Hi")
    done = agentflow("explain", "informed", "-s", "s-1", "--input", "city=Paris")
    assert done.code == 0
    assert "system prompt" in done.out
    assert "You are in Paris." in done.out
    parts = json.loads(agentflow("explain", "informed", "--input", "city=Rome", "--json").out)
    assert [section["name"] for section in parts["sections"]] == ["system prompt", "tools", "history"]
    assert agentflow("explain", "informed").code == 2


def test_json_that_is_nested_beyond_reading_is_a_usage_error(agentflow: Command, project: Path) -> None:
    (project / "input.json").write_text("[" * 100_000)
    done = agentflow("submit", "s-1", "--input", "input.json")
    assert (done.code, done.out) == (2, "")
    assert "the input is not JSON" in done.err


def test_a_session_id_that_is_no_text_is_invalid_input(agentflow: Command) -> None:
    """Bytes on a command line that are not UTF-8 arrive as lone surrogates."""
    for command in (("sessions", "show"), ("stop",), ("trace",), ("events",)):
        done = agentflow(*command, "\udcff")
        assert (done.code, done.out) == (2, "")
        assert "invalid_input" in done.err


def test_feedback_rates_a_step(agentflow: Command) -> None:
    """R11"""
    agentflow("run", "echo", "Hello", "-s", "s-1")
    assert agentflow("sessions", "feedback", "s-1", "1", "up", "well said").out == "step 1: up\n"
    assert agentflow("sessions", "feedback", "s-1", "2", "up").code == 3
    assert agentflow("sessions", "feedback", "s-1", "1", "great").code == 2
