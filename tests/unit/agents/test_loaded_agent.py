"""An agent ready to run: who names its chats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentflow.agents.loading import Agents
from agentflow.agents.project_folder import open_project
from agentflow.config.agent_config import Interface
from agentflow.models.scripted_model import ScriptedModel

OPENED: dict[int, Interface] = {}


def naming_interface(project: Path, keys: str) -> Interface:
    """The interface of the model that names the chats of an agent with these keys."""
    folder = project / "agents" / "bot"
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text(f"name: bot\n{keys}\n")
    root, files = open_project(project)

    def opened(interface: Interface, _: Path) -> Any:
        model = ScriptedModel(())
        OPENED[id(model)] = interface
        return model

    return OPENED[id(Agents(files, root, (), opened, "test").load("bot").naming_model)]


def test_the_main_model_names_as_it_is(tmp_path: Path) -> None:
    named = naming_interface(tmp_path, "interfaces: {main: {model: a/b, max_output_tokens: 50}}")
    assert (named.model, named.max_output_tokens) == ("a/b", 50)


def test_the_naming_interface_names(tmp_path: Path) -> None:
    keys = "model: a/b\ninterfaces: {small: {model: a/c}}\nsettings: {naming_interface: 'llm://small'}"
    assert naming_interface(tmp_path, keys).model == "a/c"


@pytest.mark.parametrize(
    ("reasoning", "tokens"),
    [("reasoning_effort: high", 4_000), ("extra: {thinking: {type: enabled}}", 4_000), ("reasoning_effort: none", 50)],
)
def test_a_model_that_reasons_first_has_room_for_the_name(tmp_path: Path, reasoning: str, tokens: int) -> None:
    """R7"""
    named = naming_interface(tmp_path, f"interfaces: {{main: {{model: a/b, max_output_tokens: 50, {reasoning}}}}}")
    assert named.max_output_tokens == tokens


@pytest.mark.parametrize("limit", ["", "max_output_tokens: 9000,"])
def test_room_that_is_there_stays_as_it_is(tmp_path: Path, limit: str) -> None:
    named = naming_interface(tmp_path, f"interfaces: {{main: {{model: a/b, {limit} reasoning_effort: high}}}}")
    assert named.max_output_tokens in (None, 9_000)
