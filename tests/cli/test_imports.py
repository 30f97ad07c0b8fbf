"""Z1: a command that looks at sessions, or changes them, imports nothing of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command

MARKED = '''
from pathlib import Path

Path(__file__).with_name("imported").touch()


def greet(name: str) -> str:
    """Greet somebody."""
    return name
'''
IMPORTING = {"validate": ["validate", "greeter"], "explain": ["explain", "greeter"], "run": ["run", "greeter", "hi"]}
COMMANDS = {
    "sessions ls": ["sessions", "ls"],
    "sessions show": ["sessions", "show", "s"],
    "sessions tree": ["sessions", "tree", "s"],
    "sessions export": ["sessions", "export", "s"],
    "events": ["events", "s"],
    "trace": ["trace", "s"],
    "insights": ["insights"],
    "schema": ["schema"],
    "validate --static": ["validate", "greeter", "--static"],
    "stop": ["stop", "s"],
    "sessions checkout": ["sessions", "checkout", "s", "FIRST"],
    "sessions name": ["sessions", "name", "s", "A title"],
    "sessions rm": ["sessions", "rm", "s"],
    "db upgrade": ["db", "upgrade"],
}


@pytest.fixture
def greeted(project: Path, agentflow: Command) -> Path:
    """A session `s` of an agent whose flow leaves a mark where it is imported; the mark, which is not there."""
    folder, flows = project / "agents" / "greeter", project / "workflows"
    folder.mkdir()
    flows.mkdir()
    (folder / "agent.yaml").write_text("name: greeter\nmodel: scripted/replies.yaml\ntools: [greet]\n")
    (folder / "replies.yaml").write_text("replies: [{text: Hello., repeat: true}]\n")
    (flows / "greeting.py").write_text(MARKED)
    assert agentflow("run", "greeter", "hi", "-s", "s").code == 0
    mark = flows / "imported"
    mark.unlink()
    return mark


@pytest.mark.parametrize("name", COMMANDS)
def test_it_imports_nothing_of_the_project(greeted: Path, agentflow: Command, name: str) -> None:
    first = agentflow("sessions", "tree", "s").out.split()[1]
    done = agentflow(*(first if each == "FIRST" else each for each in COMMANDS[name]))
    assert (done.code, greeted.exists()) == (0, False), done.err


@pytest.mark.parametrize("name", IMPORTING)
def test_these_import_its_flows(greeted: Path, agentflow: Command, name: str) -> None:
    agentflow(*IMPORTING[name])
    assert greeted.exists()


def test_what_the_text_of_files_tells_is_checked_without_an_import(greeted: Path, agentflow: Command) -> None:
    """A name that leads nowhere is found; what a parameter is, only an import tells."""
    agent = greeted.parents[1] / "agents" / "greeter" / "agent.yaml"
    agent.write_text(
        "name: greeter\nmodel: scripted/replies.yaml\ntools: [greet, great, workflows/no.py:x]\n"
        "hooks: {step_start: [welcome]}\nworker: os:remove\n"
    )
    done = agentflow("validate", "greeter", "--static")
    assert done.code == 2
    assert "tools[1]: There is no flow 'great', did you mean 'greet'?" in done.out
    assert "tools[2]: 'workflows/no.py:x' names no flow" in done.out
    assert "hooks.step_start[0]: There is no flow 'welcome'" in done.out
    assert not greeted.exists()
    assert agentflow("validate", "greeter", "--static", "--connect").code == 2
