"""Completion of a shell: commands, options, agents, sessions, and nothing that a shell would run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentflow import Runtime
from cli.completion.completion import VARIABLE
from tests.cli.conftest import Command
from tests.guards.test_startup import _loaded


@pytest.fixture
def typed(agentflow: Command, monkeypatch: pytest.MonkeyPatch) -> object:
    """What may stand in the place of the last word."""

    def complete(line: str, shell: str = "bash") -> list[str]:
        words = line.split(" ")
        monkeypatch.setenv(VARIABLE, f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", words[-1] if shell == "fish" else str(len(words) - 1))
        done = agentflow()
        monkeypatch.delenv(VARIABLE)
        assert (done.code, done.err) == (0, "")
        return [row.partition(",")[2] for row in done.out.splitlines()] if shell != "zsh" else done.out.splitlines()

    return complete


def test_commands_options_agents_and_sessions_are_completed(agentflow: Command, typed: object) -> None:
    assert callable(typed)
    agentflow("run", "echo", "-s", "first-one", "Hi.")
    agentflow("run", "echo", "-s", "second", "Hi.")
    agentflow("sessions", "name", "second", "Invoice of May")
    assert typed("agentflow vali") == ["validate"]
    assert typed("agentflow sessions sh") == ["show"]
    assert typed("agentflow run ec") == ["echo"]
    assert {"echo", "slow", "assistant"} <= set(typed("agentflow run "))
    assert typed("agentflow run echo -s ") == ["second", "first-one"]
    assert typed("agentflow trace fi") == ["first-one"]
    assert typed("agentflow trace invoi") == ["second"]
    assert typed("agentflow validate --form") == ["--format"]
    assert typed("agentflow validate --format s") == ["sarif"]
    assert typed("agentflow trace second --db nowhere/x.db") == []
    assert typed("agentflow trace sec", shell="zsh") == ["plain", "second", "Invoice of May"]


def test_what_a_shell_would_run_is_never_completed(project: Path, typed: object) -> None:
    """F20: ids are chosen by clients, and whoever presses Enter runs what was completed."""
    assert callable(typed)

    async def take() -> None:
        async with Runtime.open(project, db=str(project / "agentflow.db")) as runtime:
            for session in ("x$(touch pwned)", "x;ls", "x`id`", "x y", "-rf", "xé", "x-1", "x/a:b@c"):
                await runtime.run(session, "echo", "Hi.")

    asyncio.run(take())
    (project / "agents" / "evil;ls").mkdir()
    (project / "agents" / "evil;ls" / "agent.yaml").write_text("name: x\n")
    assert sorted(typed("agentflow trace ")) == ["x-1", "x/a:b@c"]
    assert typed("agentflow explain evil") == ["evil"]  # as typed: a file may begin so


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_for_completion_in_its_own_words(agentflow: Command, shell: str) -> None:
    done = agentflow("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in done.out


def test_completing_makes_nothing_and_loads_nothing_heavy(project: Path, typed: object) -> None:
    assert callable(typed)
    before = sorted(project.rglob("*"))
    assert typed("agentflow trace ") == []
    assert sorted(project.rglob("*")) == before
    line = f"import os; os.environ |= {{'{VARIABLE}': 'bash_complete', 'COMP_WORDS': 'agentflow trace ', "
    line += "'COMP_CWORD': '2'}; from cli.main import run; assert run([]) == 0"
    assert _loaded(line) == "[]"
