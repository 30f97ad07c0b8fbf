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
