"""`handler: client` under tools: what such a tool must have, and what has no place there (C37)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentflow.config.agent_config import load_agent
from agentflow.errors import InvalidConfig

GOOD = "name: support\nmodel: scripted/replies.yaml\ntools:\n"
SHOW = "{name: show, handler: client, description: Show a chart."


def load(folder: Path, entry: str) -> object:
    path = folder / "agent.yaml"
    path.write_text(f"{GOOD}- {entry}\n")
    return load_agent(path, variables={}).tools[0]


def test_it_has_a_name_a_description_and_a_schema_and_no_flow(tmp_path: Path) -> None:
    entry = load(
        tmp_path, SHOW + " parameters: {type: object, properties: {n: {type: integer}}}}".replace(" p", ", p", 1)
    )
    assert (entry.name, entry.description, entry.flow) == ("show", "Show a chart.", None)  # type: ignore[attr-defined]
    assert entry.parameters["properties"] == {"n": {"type": "integer"}}  # type: ignore[attr-defined]


def test_without_parameters_it_has_no_arguments(tmp_path: Path) -> None:
    assert load(tmp_path, SHOW + "}").parameters == {}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{handler: client, description: x}", "tools[0].name: is required with handler: client"),
        ("{handler: client, name: show}", "tools[0].description: is required with handler: client"),
        (SHOW + ", flow: look}", "tools[0].flow: has no place with handler: client"),
        (SHOW + ", timeout_secs: 3}", "tools[0].timeout_secs: has no place"),
        (SHOW + ", ends_turn: true}", "tools[0].ends_turn: has no place"),
        (SHOW + ", parameters: {type: array}}", "must be a JSON Schema of type object"),
        (SHOW + ", parameters: {type: object, properties: 3}}", "is no JSON Schema: properties: 3 is not of type"),
        (SHOW + ", parameters: [1]}", "tools[0].parameters: must be a mapping of keys"),
        ("{name: show}", "tools[0].flow: is required"),
        ("{flow: null, name: show}", "tools[0].flow: is required"),
        ("{flow: look, description: x}", "tools[0].description: belongs to a tool with handler: client"),
        ("{flow: look, handler: worker, parameters: {}}", "tools[0].parameters: belongs to a tool with handler"),
        ("{flow: look, handler: clients}", "did you mean 'client'?"),
    ],
)
def test_what_does_not_fit_is_told_at_its_place(tmp_path: Path, entry: str, said: str) -> None:
    with pytest.raises(InvalidConfig, match=r"agent\.yaml:4:") as caught:
        load(tmp_path, entry)
    assert said in str(caught.value)
