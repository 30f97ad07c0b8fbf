"""What the README shows is true: its commands run, its files are the ones written, its pictures are drawn from us."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agentflow.turn.machine import diagram
from cli.main import run
from cli.project_template import FILES
from tests.guards.source import FOLDERS, ROOT

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SET_UP = ("python3 -m venv", "./check")  # what CI runs from nothing
NEEDS_A_KEY = "export"


def _blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def test_every_command_shown_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", None)
    ran = 0
    for block in _blocks("sh"):
        if block.startswith((*SET_UP, NEEDS_A_KEY)):
            continue
        for words in map(shlex.split, block.splitlines()):
            if words[0] == "cd":
                monkeypatch.chdir(words[1])
            else:
                assert (words[0], run(words[1:])) == ("agentflow", 0), words
                ran += 1
    assert ran >= 8


def test_the_python_shown_works(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path)]) == 0
    examples = [block for block in _blocks("python") if not block.startswith("# ")]
    assert len(examples) == 1
    for example in examples:
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.append({str(ROOT)!r})\n{example}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "has 5 words" in done.stdout
        assert done.stdout.splitlines()[-1].endswith(" done")


def test_the_files_shown_are_the_ones_init_writes() -> None:
    shown = [block.split("\n", 1) for block in (*_blocks("yaml"), *_blocks("python")) if block.startswith("# ")]
    assert len(shown) == 2
    for name, text in shown:
        assert text == FILES[name.removeprefix("# ")]


@pytest.mark.parametrize("command", [block.strip() for block in _blocks("sh") if block.startswith(SET_UP)])
def test_ci_runs_the_set_up_commands_as_they_are_shown(command: str) -> None:
    assert command in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_state_diagram_is_the_machine_s() -> None:
    assert _blocks("mermaid") == [diagram()]


def test_the_house_shows_every_room() -> None:
    house = next(block for block in _blocks("") if block.startswith("agentflow/"))
    inside = {path.name for path in (ROOT / "agentflow").iterdir()} - {"py.typed"}
    rooms = {name for name in inside if not name.startswith("_")} | set(FOLDERS) | {"agent_yaml", "tests"}
    assert {room for room in rooms if not re.search(rf"\b{re.escape(room)}\b", house)} == set()
    shown = set(re.findall(r"([\w]+\.py)\b", house))
    assert shown <= rooms
