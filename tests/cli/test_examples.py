"""The projects of `examples/`: each is valid, answers without a key, and has tests that pass.

Their tests are collected beside ours, by `testpaths`; here is what a reader does besides.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from agentflow import read_scenario
from agentflow.testing import scenario_files
from tests.cli.conftest import Command
from tests.guards.source import ROOT

EXAMPLES = ROOT / "examples"
PROJECTS = sorted(path.name for path in EXAMPLES.iterdir() if (path / "agents").is_dir())


@pytest.mark.parametrize("name", PROJECTS)
def test_an_example_is_valid_and_answers_without_a_key(
    agentflow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shutil.copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path / name)
    checked = agentflow("validate")
    assert (checked.code, checked.out) == (0, "")
    (agent,) = (path.name for path in (tmp_path / name / "agents").iterdir())
    answered = agentflow("run", agent, "Hello.")
    assert (answered.code, answered.out) == (0, "You said: Hello.\n")


def test_the_tests_of_all_examples_pass(agentflow: Command) -> None:
    done = agentflow("test", str(EXAMPLES))
    assert done.code == 0, done.out + done.err
    tested = {read_scenario(path).project.name for path in scenario_files([EXAMPLES])}
    assert tested == set(PROJECTS)


def test_the_page_lists_every_example_and_leads_to_its_test() -> None:
    page = (EXAMPLES / "README.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| \[([\w-]+)\]", page, re.MULTILINE)) == PROJECTS
    assert [link for link in re.findall(r"\]\(([^)]+)\)", page) if not (EXAMPLES / link).is_file()] == []
