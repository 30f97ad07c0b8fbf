"""The first signal ends the turn and keeps what it has, a second one ends the process; sessions go on (B78)."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.guards.source import ROOT

Spawn = Callable[..., subprocess.Popen[str]]


def _streaming(spawn: Spawn) -> subprocess.Popen[str]:
    """A turn whose first piece of text has come."""
    process = spawn("run", "slow", "-s", "s-1", "--jsonl", "Hello")
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "llm.delta":
            break
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_ends_the_turn_and_keeps_what_it_has(
    spawn: Spawn, agentflow: Command, number: signal.Signals, code: int
) -> None:
    process = _streaming(spawn)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in err
    assert "agentflow run slow -s s-1" in err
    transcript = agentflow("sessions", "show", "s-1").out
    assert "assistant: one" in transcript
    marker = "<ABORTED BY USER>" if number == signal.SIGINT else "<INTERRUPTED>"
    assert marker in transcript


def test_the_session_goes_on_after_a_signal(spawn: Spawn, agentflow: Command) -> None:
    process = _streaming(spawn)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert agentflow("run", "slow", "-s", "s-1", "Again").out == "one two three four\n"


def test_a_second_signal_ends_at_once_and_the_session_is_repaired(spawn: Spawn, agentflow: Command) -> None:
    process = _streaming(spawn)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode in (130, 143)
    assert agentflow("run", "slow", "-s", "s-1", "Again").code == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_takes_back_a_turn_that_still_waits(
    spawn: Spawn, agentflow: Command, number: signal.Signals, code: int
) -> None:
    """C21: nobody would hear of it."""
    agentflow("run", "asking", "-s", "s-1", "Hello")
    process = spawn("run", "asking", "-s", "s-1", "--queue", "true", "Later")
    while not json.loads(agentflow("sessions", "show", "s-1", "--json").out)["queued"]:
        assert process.poll() is None
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    assert json.loads(agentflow("sessions", "show", "s-1", "--json").out)["queued"] == 0


@pytest.mark.parametrize("numbers", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)])
def test_a_burst_of_signals_loses_nothing_that_was_said(
    spawn: Spawn, agentflow: Command, numbers: tuple[signal.Signals, ...]
) -> None:
    """D70: `timeout` signals the process, then its group."""
    process = _streaming(spawn)
    for number in numbers * 3:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, 143)
    assert err.count("stopping the turn") == 1
    assert "Traceback" not in err
    transcript = agentflow("sessions", "show", "s-1").out
    assert "assistant: one" in transcript
    assert "<ABORTED BY USER>" in transcript or "<INTERRUPTED>" in transcript


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_look_that_waits_ends_at_the_first_of_a_burst(
    spawn: Spawn, agentflow: Command, number: signal.Signals
) -> None:
    """D69"""
    agentflow("run", "echo", "-s", "s-1", "Hello")
    process = spawn("events", "s-1", "--follow")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["type"] == "session.created"
    for _ in range(5):
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in err


def test_ctrl_c_while_litellm_loads_waits_for_no_import(spawn: Spawn, project: Path) -> None:
    """An import that never ends stands for one that takes long; the turn is closed and the process gone before it."""
    (project / "litellm.py").write_text("import threading\nthreading.Event().wait()\n")
    folder = project / "agents" / "real"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: real\nmodel: openai/some-model\n")
    environment = {"OPENAI_API_KEY": "none", "PYTHONPATH": f"{project}:{ROOT}"}
    process = spawn("run", "real", "-s", "s-1", "--jsonl", "Hello", env=environment)
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "model.loading":
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; what was said is kept" in err
