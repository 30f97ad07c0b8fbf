"""C37: what the schema of a client's tool must be."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.conversation.tool_schema import NO_ARGUMENTS, schema_complaint


@pytest.mark.parametrize(
    "parameters", [{}, NO_ARGUMENTS, {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {}}}]
)
def test_an_object_or_nothing_is_one(parameters: dict[str, Any]) -> None:
    assert schema_complaint(parameters) is None


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"properties": {}}, "of type object"),
        ({"type": ["object", "null"]}, "of type object"),
        ({"type": "object", "required": "n"}, "is no JSON Schema: required:"),
        ({"type": "object", "properties": {"n": {"type": "text"}}}, "is no JSON Schema: properties.n.type:"),
        ({"type": "object", "properties": {"n": {"$ref": "http://inner/x"}}}, "refers to 'http://inner/x'"),
        ({"type": "object", "allOf": [{"$dynamicRef": "other.json#/n"}]}, "refers to 'other.json#/n'"),
    ],
)
def test_anything_else_is_told(parameters: dict[str, Any], said: str) -> None:
    assert said in (schema_complaint(parameters) or "")
