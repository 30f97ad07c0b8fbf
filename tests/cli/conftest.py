"""A project to run commands in, and two ways to run them: inside this process, and as a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.main import run
from tests.guards.source import ROOT

AGENTS = {
    "echo": ("", "replies: []\nat_end: echo\n"),
    "slow": ("", 'replies: [{text: "one two three four", chunk_size: 4, delay_secs: 0.05, repeat: true}]\n'),
    "cut": ("", "replies: [{text: This far and, finish_reason: length, repeat: true}]\n"),
    "broken": ("", "replies: [{error: {kind: auth}, repeat: true}]\n"),
    "restless": (
        "tools: [calculate]\nsettings: {on_limit: stop}\n",
        'replies: [{tool_calls: [{name: calculate, arguments: {expression: "1"}}], repeat: true}]\n',
    ),
    "asking": (
        "",
        "replies:\n"
        '- {when: {tool: ask_user}, text: "You said {{ last_tool }}.", repeat: true}\n'
        '- tool_calls: [{name: ask_user, arguments: {questions: [{header: Plan, question: "Which one?"}]}}]\n'
        "  repeat: true\n",
    ),
    "informed": (
        "inputs: {city: {type: string, required: true}, days: {type: integer}}\n"
        "prompt: You are in {{ inputs.city }}.\n",
        "replies: [{text: Hello., repeat: true}]\n",
    ),
}


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with one agent of each temper."""
    for name, (keys, script) in AGENTS.items():
        folder = tmp_path / "agents" / name
        folder.mkdir(parents=True)
        (folder / "agent.yaml").write_text(f"version: 1\nname: {name}\nmodel: scripted/replies.yaml\n{keys}")
        (folder / "replies.yaml").write_text(script)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENTFLOW_DB", raising=False)
    return tmp_path


@pytest.fixture
def agentflow(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command line in this process, without a standard input."""
    monkeypatch.setattr("sys.stdin", None)

    def command(*args: str) -> Done:
        capsys.readouterr()
        code = run(args)
        said = capsys.readouterr()
        return Done(int(code), said.out, said.err)

    return command


@pytest.fixture
def spawn(project: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a command line as a process of its own; its streams are pipes unless told otherwise."""
    started: list[subprocess.Popen[str]] = []

    def start(*args: str, env: dict[str, str] | None = None, **streams: object) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "TERM": "dumb", "NO_COLOR": "1"}
        environment |= env or {}
        command = [sys.executable, "-m", "cli", *args]
        process: subprocess.Popen[str] = subprocess.Popen(  # type: ignore[call-overload]  # streams are its keywords
            command, cwd=project, env=environment, text=True, **(pipes | streams)
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
