"""Files that change under a running process (A7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentflow.config.last_good import AgentFiles
from agentflow.errors import AgentNotFound, InvalidConfig


class Project:
    """A project with one agent and a loader that remembers what it reported."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.reports: list[InvalidConfig] = []
        self.loader = AgentFiles(root, report=self.reports.append, variables={})
        self.file = root / "agents" / "support" / "agent.yaml"
        self.file.parent.mkdir(parents=True)
        self.write("name: support\nmodel: one\n")

    def write(self, text: str) -> None:
        self.file.write_text(text)

    def model(self) -> str:
        return self.loader.get("support").interfaces["main"].model


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_an_unchanged_file_is_not_read_again(project: Project) -> None:
    assert project.loader.get("support") is project.loader.get("support")
    assert project.loader.get("agents/support") is project.loader.get("support")


def test_a_changed_file_is_used_at_once(project: Project) -> None:
    assert project.model() == "one"
    project.write("name: support\nmodel: other\n")
    assert project.model() == "other"


def test_an_invalid_file_is_reported_once_and_the_last_good_one_stays(project: Project) -> None:
    assert project.model() == "one"
    project.write("name: support\nmodle: three\n")
    assert [project.model(), project.model()] == ["one", "one"]
    assert [report.code for report in project.reports] == ["invalid_config"]
    assert "modle: unknown key" in project.reports[0].message
    project.write("name: support\nmodel: fourth\n")
    assert project.model() == "fourth"


def test_an_agent_that_never_was_good_is_an_error_until_it_is_mended(project: Project) -> None:
    project.write("name: support\n")
    for _ in range(2):
        with pytest.raises(InvalidConfig):
            project.model()
    project.write("name: support\nmodel: mended\n")
    assert project.model() == "mended"
    assert project.reports == []


def test_a_removed_agent_is_not_found(project: Project) -> None:
    assert project.model() == "one"
    project.file.unlink()
    with pytest.raises(AgentNotFound):
        project.model()


def test_a_change_of_the_project_file_reaches_the_agents(project: Project) -> None:
    shared = project.root / "agentflow.yaml"
    shared.write_text("interfaces: {fast: {model: a}}\n")
    project.write("name: support\nmodel: llm://fast\n")
    assert project.model() == "a"
    shared.write_text("interfaces: {fast: {model: bcd}}\n")
    assert project.model() == "bcd"
    shared.write_text("interfaces: {fast: {modle: bcd}}\n")
    assert project.model() == "bcd"
    assert len(project.reports) == 1
    shared.unlink()
    assert project.model() == "bcd"
    assert "there is no interface 'fast'" in project.reports[-1].message
