"""Projects: finding agents, shared interfaces, agentflow.yaml."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentflow.config import places as module
from agentflow.config.agent_config import Interface
from agentflow.config.places import agent_names
from agentflow.config.project import find_agent, find_named, open_project, project_root
from agentflow.errors import AgentNotFound, InvalidConfig


def add_agent(root: Path, name: str, text: str = "") -> Path:
    path = root / "agents" / name / "agent.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f"name: {name}\nmodel: scripted/r.yaml\n")
    return path


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agents we ship are others in these tests."""
    folder = tmp_path / "shipped"
    monkeypatch.setattr(module, "shared_folder", lambda kind: folder)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_an_agent_is_found_by_name_in_the_project_first(root: Path, shipped: Path) -> None:
    theirs, _ = add_agent(root, "support"), add_agent(shipped, "support")
    other = add_agent(shipped, "demo")
    assert find_agent(root, "support") == theirs
    assert find_agent(root, "demo") == other


def test_an_agent_is_found_by_the_path_of_its_file_or_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = add_agent(root, "support")
    for agent in ("agents/support", "agents/support/agent.yaml", str(path), str(path.parent)):
        assert find_agent(root, agent) == path
    monkeypatch.chdir(path.parent)
    assert find_agent(root.parent, ".").samefile(path)


def test_an_agent_that_does_not_exist_is_an_error_that_lists_what_does(root: Path, shipped: Path) -> None:
    add_agent(root, "support")
    add_agent(shipped, "demo")
    with pytest.raises(AgentNotFound) as caught:
        find_agent(root, "suport")
    assert "did you mean 'support'? There are demo, support." in caught.value.message
    assert caught.value.detail == {"agent": "suport", "agents": ["demo", "support"]}


@pytest.mark.parametrize("agent", ["", "../x", "a\x00b", "x" * 300, "agents"])
def test_odd_names_are_just_not_found(root: Path, agent: str) -> None:
    add_agent(root, "support")
    with pytest.raises(AgentNotFound):
        find_agent(root, agent)


def test_a_project_without_agents_says_so(root: Path) -> None:
    assert agent_names(root) == []
    with pytest.raises(AgentNotFound, match="There are none yet"):
        find_agent(root, "a")


def test_the_project_of_a_file_is_found_from_below(root: Path, tmp_path: Path) -> None:
    path = add_agent(root, "support")
    assert project_root(path) == root
    lonely = tmp_path / "lonely" / "agent.yaml"
    lonely.parent.mkdir()
    lonely.write_text("")
    assert project_root(lonely) == lonely.parent
    (tmp_path / "agentflow.yaml").write_text("")
    assert project_root(lonely) == tmp_path


def test_a_project_file_is_optional_and_may_be_empty(root: Path) -> None:
    assert open_project(root, variables={}).keys.environment == "production"
    (root / "agentflow.yaml").write_text("# nothing yet\n")
    assert open_project(root, variables={}).db is None


@pytest.mark.parametrize(
    ("url", "means"),
    [
        ("sqlite:///a.db", "sqlite:///{root}/a.db"),
        ("sqlite:////var/a.db", "sqlite:////var/a.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("sqlite://", "sqlite://"),
        ("postgresql+psycopg://h/d", "postgresql+psycopg://h/d"),
    ],
)
def test_a_relative_database_file_starts_at_the_project(root: Path, url: str, means: str) -> None:
    (root / "agentflow.yaml").write_text(f"db: '{url}'\n")
    assert open_project(root, variables={}).db == means.format(root=root)


def test_mistakes_in_a_project_file_have_places_too(root: Path) -> None:
    (root / "agentflow.yaml").write_text("retention_day: 3\nenvironment: prod\ninterfaces: {a: {model: llm://b}}\n")
    with pytest.raises(InvalidConfig) as caught:
        open_project(root, variables={})
    assert "agentflow.yaml:1:1: retention_day: unknown key, did you mean 'retention_days'?" in caught.value.message
    assert "agentflow.yaml:2:14: environment: must be one of" in caught.value.message
    assert "agentflow.yaml:3:25: interfaces.a.model: there is no interface 'b'" in caught.value.message


def test_agents_have_the_interfaces_of_the_project_and_their_own_win(root: Path) -> None:
    (root / "agentflow.yaml").write_text(
        "interfaces:\n  fast: {model: a, api_key: '${K}'}\n  slow: {model: b}\n  main: {model: m}\n"
    )
    project = open_project(root, variables={"K": "k"})
    path = add_agent(root, "support", "name: support\nmodel: llm://fast\ninterfaces: {slow: {model: mine}}\n")
    config = project.load(path, {})
    assert config.interfaces["main"] == Interface(model="a", api_key="k")
    assert config.interfaces["slow"].model == "mine"
    bare = project.load(add_agent(root, "bare", "name: bare\n"), {})
    assert bare.interfaces["main"].model == "m"


def test_a_shared_script_means_the_same_file_for_every_agent(root: Path) -> None:
    """Relative paths in a file start at that file's folder."""
    (root / "agentflow.yaml").write_text(
        "interfaces: {main: {model: scripted/replies.yaml, fallback: [scripted/others.yaml, openai/gpt-4o]}}\n"
    )
    config = open_project(root, variables={}).load(add_agent(root, "support", "name: support\n"), {})
    script = config.interfaces["main"].model.removeprefix("scripted/")
    assert (config.folder / script).resolve() == root / "replies.yaml"
    assert config.interfaces["main"].fallback == (f"scripted/{script.replace('replies', 'others')}", "openai/gpt-4o")


def test_messages_name_files_from_the_working_directory(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = add_agent(root, "support", "nam: x\n")
    monkeypatch.chdir(root)
    with pytest.raises(InvalidConfig) as caught:
        open_project(root, variables={}).load(path, {})
    assert caught.value.message.startswith("agents/support/agent.yaml:1:1: ")


NO_NAMES = [
    "", ".", "..", "../x", "a/../support", "support/", "./support", "/proc/self/environ", "~", "~/x", "support\x00",
    "support\n", "Support", "SUPPORT", "support.", "agents/support", "support\\..", "x" * 65, "süpport", "%2e%2e",
]  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES)
def test_only_a_name_finds_the_agent_that_a_client_names(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Z2, D77: nothing is looked at, whatever stands there."""
    add_agent(root, "support")
    add_agent(root.parent / "project", "support")
    looked: list[str] = []
    monkeypatch.setattr(os.path, "isfile", lambda path: looked.append(str(path)) or True)
    with pytest.raises(AgentNotFound):
        find_named(root, name)
    assert looked == []


def test_a_client_names_agents_of_the_project_and_shipped_ones(root: Path, shipped: Path) -> None:
    theirs, demo = add_agent(root, "support"), add_agent(shipped, "demo")
    assert (find_named(root, "support"), find_named(root, "demo")) == (theirs, demo)


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_a_link_that_leads_out_of_the_agents_is_no_agent_a_client_may_name(
    root: Path, tmp_path: Path, linked: str
) -> None:
    """Z2: an author may still name it."""
    elsewhere = add_agent(tmp_path / "other", "spy")
    link = root / "agents" / "spy" / "agent.yaml"
    if linked == "folder":
        link.parent.parent.mkdir()
        link.parent.symlink_to(elsewhere.parent)
    else:
        link.parent.mkdir(parents=True)
        link.symlink_to(elsewhere)
    with pytest.raises(AgentNotFound):
        find_named(root, "spy")
    assert find_agent(root, "spy") == link


def test_a_project_may_be_reached_by_a_link(root: Path, tmp_path: Path) -> None:
    add_agent(root, "support")
    (tmp_path / "link").symlink_to(root)
    assert find_named(tmp_path / "link", "support").is_file()
