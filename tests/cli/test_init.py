"""`init`: every template runs without a key, is valid, and its tests pass."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.authoring.templates.table import TEMPLATES
from tests.cli.conftest import Command
from tests.guards.source import ROOT

EXITS = re.compile(r"# exits with (\d)")


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_valid_and_its_commands_do_what_they_say(
    agentflow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    made = agentflow("init", name)
    template = TEMPLATES[name]
    assert made.out.splitlines() == [f"{name}/{file}" for file in template.files]
    assert f"cd {name} && {template.commands[0]}" in made.err
    monkeypatch.chdir(tmp_path / name)
    checked = agentflow("validate")
    assert (checked.code, checked.out) == (0, "")
    for line in template.commands:
        program, *words = shlex.split(line, comments=True)
        exits = EXITS.search(line)
        done = agentflow(*words)
        assert (program, done.code) == ("agentflow", int(exits[1]) if exits else 0), line + done.err


def test_the_tests_of_all_templates_pass(tmp_path: Path) -> None:
    """In one run: the names of their files differ."""
    for name, template in TEMPLATES.items():
        for file, text in template.files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "agentflow.testing.plugin", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    written = [(file, text) for each in TEMPLATES.values() for file, text in each.files.items()]
    tests = sum(text.count("\ndef test_") + file.endswith(".test.yaml") for file, text in written)
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) >= tests >= 2 * len(TEMPLATES) - 3


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["new"], "new/agents/guide/agent.yaml"),
        (["./tools"], "tools/agents/guide/agent.yaml"),
        (["tools"], "tools/agents/shop/agent.yaml"),
        (["tools", "mine"], "mine/agents/shop/agent.yaml"),
        (["hello", "."], "agents/guide/agent.yaml"),
        ([], "agents/guide/agent.yaml"),
    ],
)
def test_a_word_is_a_template_or_a_folder(agentflow: Command, project: Path, words: list[str], made: str) -> None:
    assert agentflow("init", *words).code == 0
    assert (project / made).is_file()


@pytest.mark.parametrize("words", [["no-such", "mine"], ["hello", "a", "b"], [" "], ["hello", ""]])
def test_what_names_no_template_writes_nothing(agentflow: Command, project: Path, words: list[str]) -> None:
    before = sorted(project.rglob("*"))
    assert agentflow("init", *words).code == 2
    assert sorted(project.rglob("*")) == before


def test_the_page_lists_the_templates() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    assert re.findall(r"^\| `([\w-]+)` \| (.+) \|$", page.partition("## Templates")[2], re.MULTILINE) == [
        (name, template.about) for name, template in TEMPLATES.items()
    ]
