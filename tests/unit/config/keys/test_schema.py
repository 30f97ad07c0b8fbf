"""The JSON Schema and the reference page (A5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from agentflow.config.document import yamlfile
from agentflow.config.keys.agent import AgentKeys
from agentflow.config.keys.schema import (
    CASE_SCHEMA_FILE,
    REFERENCE_FILE,
    SCHEMA_FILE,
    agent_schema,
    case_schema,
    reference_text,
    schema_text,
    write,
)
from agentflow.config.places import shared_folder
from tests.unit.config.files import agent_of

SHIPPED = shared_folder("agent_yaml")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (SCHEMA_FILE, schema_text(agent_schema())),
        (CASE_SCHEMA_FILE, schema_text(case_schema())),
        (REFERENCE_FILE, reference_text()),
    ],
)
def test_the_shipped_file_is_the_one_the_classes_make(file: str, text: str) -> None:
    """After a change of the keys: python -m agentflow.config.keys.schema agent_yaml"""
    assert (SHIPPED / file).read_text(encoding="utf-8") == text


def test_all_files_are_written(tmp_path: Path) -> None:
    write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {SCHEMA_FILE, CASE_SCHEMA_FILE, REFERENCE_FILE}


@pytest.mark.parametrize("schema", [agent_schema(), case_schema()])
def test_a_schema_is_draft_07_without_references(schema: dict[str, Any]) -> None:
    Draft7Validator.check_schema(schema)
    assert "draft-07" in schema["$schema"]
    assert "$ref" not in schema_text(schema)


def properties(schema: Any) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Every key of a schema: name, schema, whether it is required."""
    for part in schema if isinstance(schema, list) else schema.values() if isinstance(schema, dict) else ():
        yield from properties(part)
    if isinstance(schema, dict) and isinstance(schema.get("additionalProperties"), bool):
        for name, each in schema.get("properties", {}).items():
            yield name, each, name in schema.get("required", ())


def test_every_key_has_a_description_and_unless_required_a_default() -> None:
    found = list(properties(agent_schema()))
    assert len(found) > 40
    assert [name for name, each, _ in found if not each.get("description")] == []
    # A tool without a name has that of its flow.
    assert [name for name, each, required in found if not required and "default" not in each] == ["name"]


FULL = """\
x-base: &base {max_cost: 1}
version: 1
name: support
description: Answers.
model: llm://fast
interfaces:
  x-old: 1
  fast: {model: a/b, temperature: 0, max_output_tokens: 10, api_key: "${K:-}", extra: {x-a: 1}}
prompt: "{{ inputs.a }}"
response_guidelines: [Be brief.]
constraints: [Never.]
inputs: {a: {type: integer, required: true}, b: {enum: [x, y], default: x}}
tools: [query, {flow: "a:b", name: c, timeout_secs: 1.5, max_result_chars: 0, ends_turn: true}]
settings: {<<: *base, lean_history: false, max_iterations: "${N:-3}", on_limit: stop, logging_level: off}
"""


def test_a_file_that_loads_satisfies_the_schema(tmp_path: Path) -> None:
    assert agent_of(tmp_path, FULL).settings.max_iterations == 3
    data = yamlfile.parse(FULL, "f.yaml").checked()
    assert list(Draft7Validator(agent_schema()).iter_errors(data)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"nope": 1},
        {"settings": {"max_iterations": -1}},
        {"settings": {"lean_history": "no"}},
        {"tools": [{"name": "x"}]},
        {"tools": [5]},
        {"interfaces": {"a": {"model": "x", "modle": 1}}},
        {"name": "No"},
        {"version": 2},
    ],
)
def test_a_file_that_is_refused_fails_the_schema(change: dict[str, Any]) -> None:
    data = {"name": "support", "model": "x"} | change
    assert list(Draft7Validator(agent_schema()).iter_errors(data))


def test_every_key_is_in_the_reference() -> None:
    text = reference_text()
    assert all(f"| `{name}` |" in text for name in AgentKeys.model_fields)
    assert text.count("### An entry of interfaces") == 1
