"""The plugin as an outsider has it: a test file of their own, a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

SAMPLE = '''
from agentflow.testing import Kit, ProcessKilled


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


ASK = {"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]}


def test_the_agent_adds(agentflow: Kit):
    agentflow.agent("sums", tools=[add], replies=[ASK, {"text": "It is {{ last_tool }}."}])
    assert agentflow.send("1 + 2?").answer == "It is 3."
    assert agentflow.usage()["cost"] is None


def test_a_reply_is_left_over(agentflow):
    agentflow.agent(replies=[{"text": "one"}, {"text": "two"}])
    agentflow.send("hi")


def test_a_test_that_fails_says_why_it_did(agentflow):
    agentflow.agent(replies=[{"text": "one"}, {"text": "two"}])
    assert agentflow.send("hi").answer == "two"


def test_the_loop_is_held(agentflow):
    import time

    async def count() -> str:
        """Count."""
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            pass
        return "done"

    agentflow.stalls.limit = 0.02
    agentflow.agent(tools=[count], replies=[{"tool_calls": [{"name": "count"}]}, {"text": "ok"}])
    assert agentflow.send("hi").answer == "ok"


def test_without_the_fixture_nothing_is_frozen():
    import time

    assert time.time() < 1893488400
'''


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest over the folder, with the plugin as its entry point gives it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-W", "error", "-m", "pytest", "-p", "agentflow.testing.plugin", "-W", "error"]
    return subprocess.run(
        [*command, "-p", "no:cacheprovider", *options, str(folder)],
        env=environment, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


ASYNC = """
import asyncio

import pytest


async def test_ours(agentflow):
    agentflow.agent(replies=[{"text": "ok"}])
    assert (await agentflow.runtime.run("s-1", "test", "hi")).answer == "ok"


class TestMethods:
    async def test_of_a_class_fails_where_it_fails(self, agentflow, tmp_path):
        assert tmp_path is None
"""
THEIRS = """

@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_theirs(agentflow, anyio_backend):
    agentflow.agent(replies=[{"text": "ok"}])
    assert (await agentflow.runtime.run("s-1", "test", "hi")).answer == "ok"
"""


def test_async_tests_need_no_other_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(ASYNC)
    done = run(tmp_path, "-q", "-rf")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "assert tmp_path is None" in done.stdout


def test_a_plugin_that_runs_a_test_on_a_loop_of_its_own_does_so(tmp_path: Path) -> None:
    """The runtime is opened in that loop, which is gone when the kit is closed."""
    (tmp_path / "test_sample.py").write_text(ASYNC + THEIRS)
    done = run(tmp_path, "-q", "-rf", "-p", "anyio.pytest_plugin")
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr


def test_a_test_file_of_somebody_else_uses_it(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    done = run(tmp_path, "-q", "-rf")
    assert "3 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "agent 'test': 1 scripted replies were not used" in done.stdout
    assert "AssertionError: assert 'one' == 'two'" in done.stdout
    assert "The event loop was held for 0.0" in done.stdout
    assert "warning" not in done.stdout.lower()
    assert done.stderr == ""


def test_a_test_without_python_is_collected(tmp_path: Path) -> None:
    (tmp_path / "agents" / "guide").mkdir(parents=True)
    (tmp_path / "agents" / "guide" / "agent.yaml").write_text("name: guide\nmodel: openai/gpt-4o\n")
    hello = "agent: guide\nreplies: [{text: Hello.}]\nsteps:\n  - {send: Hi., expect: {answer: %s}}\n"
    (tmp_path / "good.test.yaml").write_text(hello % "Hello.")
    (tmp_path / "bad.test.yaml").write_text(hello % "Bye.")
    (tmp_path / "wrong.test.yaml").write_text("agent: guide\nsteps: [{sned: Hi.}]\n")
    done = run(tmp_path, "-q", "-rf")
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "bad.test.yaml:4:26: steps[0].expect.answer: must be 'Bye.', is 'Hello.'" in done.stdout
    assert "  message.new          assistant: Hello." in done.stdout
    assert "unknown key, did you mean 'send'?" in done.stdout
    assert "Traceback" not in done.stdout


LIGHT = """
import socket, sys, time

def test_first(request):
    assert not {"agentflow", "agentflow_db"} & set(request.fixturenames)

async def test_async_tests_are_left_to_others():
    raise AssertionError("nobody runs this")

def test_light():
    heavy = {"agentflow.runtime", "agentflow.testing.kit", "freezegun", "pydantic", "sqlalchemy", "asyncio", "litellm"}
    assert heavy & set(sys.modules) == set()
    loaded = sorted(name for name in sys.modules if name.startswith("agentflow"))
    assert loaded == ["agentflow", "agentflow.testing", "agentflow.testing.plugin"]
    assert socket.socket.__module__ == "socket" and time.time.__module__ == "time"
"""


def test_it_costs_nothing_in_runs_that_do_not_use_it(tmp_path: Path) -> None:
    """Z9: pytest loads it for every run of everybody who has agentflow installed; no fixture of it is made there."""
    (tmp_path / "test_sample.py").write_text(LIGHT)
    done = run(tmp_path, "-q", "--setup-show", "--deselect", "test_sample.py::test_async_tests_are_left_to_others")
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert "SETUP    F agentflow" not in done.stdout
    assert list(tmp_path.glob("*.db")) == []
