"""`init`, `validate`, `schema`, `--version`: what an author of agents begins with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import agentflow as package
from cli import main
from cli.authoring.templates.hello import FILES
from tests.cli.conftest import Command
from tests.stub_server import Answer, serve_in_thread


def test_init_writes_a_project_that_is_valid_and_runs(
    agentflow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = agentflow("init", "new")
    assert done.code == 0
    assert done.out.splitlines() == [f"new/{name}" for name in FILES]
    monkeypatch.chdir(tmp_path / "new")
    assert agentflow("validate").code == 0
    assert "has 5 words" in agentflow("run", "guide", "How long is this text?").out


@pytest.mark.parametrize(
    ("folder", "agent"),
    [("empty", "../new/agents/guide"), ("empty", "../new/agents/guide/agent.yaml"), ("new/agents", "guide")],
)
def test_an_agent_s_path_brings_its_project_along(
    agentflow: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, agent: str
) -> None:
    agentflow("init", "new")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / folder)
    assert agentflow("validate", agent).code == 0
    assert agentflow("explain", agent).code == 0
    assert "has 5 words" in agentflow("run", agent, "How long is this text?").out
    assert (tmp_path / "new" / "agentflow.db").exists()


def test_init_overwrites_nothing(agentflow: Command, project: Path) -> None:
    mine = project / "workflows" / "texts.py"
    mine.parent.mkdir()
    mine.write_text("mine = 1\n")
    done = agentflow("init")
    assert done.code == 2
    assert mine.read_text() == "mine = 1\n"
    assert not (project / "agents" / "guide").exists()


def test_validate_checks_every_agent_of_the_project(agentflow: Command) -> None:
    done = agentflow("validate")
    assert (done.code, done.out) == (0, "")
    assert "7 checked" in done.err


@pytest.mark.parametrize("path", ["broken", "agents/broken", "agents/broken/agent.yaml", "."])
def test_validate_takes_names_files_and_folders(agentflow: Command, project: Path, path: str) -> None:
    mistaken = project / "agents" / "broken" / "agent.yaml"
    mistaken.write_text(mistaken.read_text() + "settings: {lean_histroy: true}\n")
    done = agentflow("validate", path)
    assert done.code == 2
    assert "agent.yaml:4:12: settings.lean_histroy: unknown key, did you mean 'lean_history'?" in done.out


@pytest.mark.parametrize(
    "line",
    [
        "instrutions: x",
        "compaction_treshold_fraction: 0.8",
        "lean_history: true",
        "Settings: {}",
        "tools: [no_such_flow]",
        "sub_agents: [nobody]",
    ],
)
def test_validate_finds_what_others_drop_without_a_word(agentflow: Command, project: Path, line: str) -> None:
    """B67"""
    mistaken = project / "agents" / "echo" / "agent.yaml"
    mistaken.write_text(mistaken.read_text() + line + "\n")
    done = agentflow("validate", "echo")
    assert done.code == 2
    assert "agent.yaml:4:" in done.out


def test_validate_shows_a_signature_that_makes_no_schema_where_it_is_written(agentflow: Command, project: Path) -> None:
    """D62: exit code 2, file, line and column of the parameter, for people and for programs."""
    (project / "workflows").mkdir()
    (project / "workflows" / "mine.py").write_text("def look(\n    where: str, back: callable,\n): ...\n")
    agent = project / "agents" / "echo" / "agent.yaml"
    agent.write_text(agent.read_text() + "tools: [look]\n")
    done = agentflow("validate", "echo")
    assert done.code == 2
    assert done.out.startswith("workflows/mine.py:2:17: tools[0]: parameter 'back' of flow 'look' cannot be described")
    assert done.out.splitlines()[1:] == ["        where: str, back: callable,", "                    ^"]
    done = agentflow("validate", "echo", "--json")
    (found,) = json.loads(done.out)["agents"]
    (error,) = found["errors"]
    assert (done.code, found["agent"], found["warnings"]) == (2, "echo", [])
    assert (error["file"], error["line"], error["column"]) == ("workflows/mine.py", 2, 17)


def test_validate_asks_models_only_when_told_to(agentflow: Command, project: Path) -> None:
    with serve_in_thread(lambda _: Answer(status=401, error="who are you, horse-battery?")) as stub:
        agent = project / "agents" / "echo" / "agent.yaml"
        interface = f"{{model: openai/any, api_base: '{stub.openai_base}', api_key: horse-battery}}"
        agent.write_text(f"name: echo\ninterfaces:\n  main: {interface}\n  played: {{model: scripted/replies.yaml}}\n")
        done = agentflow("validate", "echo")
        assert (done.code, done.out, len(stub.requests)) == (0, "", 0)
        done = agentflow("validate", "echo", "--connect")
        refused, played = done.out.splitlines()
        assert (done.code, len(stub.requests)) == (1, 1)
        assert refused.startswith("agents/echo/agent.yaml:3:17: main: model_error.auth: The model openai/any refused")
        assert played == "agents/echo/agent.yaml:4:19: played: not asked, scripted/replies.yaml is scripted"
        assert "horse-battery" not in done.out + done.err
        done = agentflow("validate", "echo", "--connect", "--json")
        (found,) = json.loads(done.out)["agents"]
        assert [each["code"] for each in found["connections"]] == ["model_error.auth", None]
        agent.write_text(agent.read_text() + "tools: [no_such]\n")
        assert agentflow("validate", "echo", "--connect").code == 2
        assert len(stub.requests) == 2


def test_validate_of_nothing_gives_3_and_of_no_agents_2(agentflow: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert agentflow("validate", "nobody").code == 3
    assert agentflow("validate", "empty").code == 2


def test_the_schema_is_a_json_schema(agentflow: Command) -> None:
    """A5"""
    schema = json.loads(agentflow("schema").out)
    assert "draft-07" in schema["$schema"]
    assert {"name", "model", "tools", "settings"} <= set(schema["properties"])


def test_the_version_is_the_package_s(agentflow: Command) -> None:
    assert agentflow("--version").out == f"agentflow {package.__version__}\n"


def _commands(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        yield command
        if isinstance(command, click.Group):
            yield from _commands(command)


def test_every_command_and_option_says_what_it_does_without_our_rule_numbers() -> None:
    commands = list(_commands(main.group))
    assert len(commands) >= 18
    for command in commands:
        options = [each for each in command.params if isinstance(each, click.Option)]
        texts = [command.help, command.get_short_help_str(), *(option.help for option in options)]
        assert all(texts), command.name
        assert not [text for text in texts if re.search(r"\([A-Z]\d+\)", text or "")], command.name


def test_an_unknown_command_is_a_usage_error(agentflow: Command) -> None:
    done = agentflow("rum")
    assert done.code == 2
    assert "run" in done.err


def test_no_command_shows_the_help(agentflow: Command) -> None:
    done = agentflow()
    assert done.code == 2
    assert "sessions" in done.err


def test_an_upgrade_makes_the_database_and_says_what_it_did(agentflow: Command, project: Path) -> None:
    """R1"""
    first, second = agentflow("db", "upgrade"), agentflow("db", "upgrade")
    assert (first.code, second.code) == (0, 0)
    assert "it was new" in first.err
    assert "it was" not in second.err
    assert (project / "agentflow.db").exists()
