"""Tools as a request carries them, and the built-ins that the turn performs itself."""

import json

import pytest
from jsonschema import Draft202012Validator

from agentflow.tools.flows.library import make_flow
from agentflow.tools.flows.reserved import BUILTIN_NAMES
from agentflow.tools.tool import ASK_USER_TOOL, WRITE_TODOS_TOOL, Tool, tool_of, tool_schemas


def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


def test_tools_keep_their_order_and_their_bytes() -> None:
    """X4: the same tools make the same prefix."""
    tools = [tool_of(make_flow(add), name="plus"), ASK_USER_TOOL]
    schemas = tool_schemas(tools)
    assert [schema["function"]["name"] for schema in schemas] == ["plus", "ask_user"]
    assert schemas[0] == {
        "type": "function",
        "function": {"name": "plus", "description": "Add two numbers.", "parameters": make_flow(add).parameters},
    }
    assert json.dumps(tool_schemas(tools)) == json.dumps(schemas)


def test_a_flow_keeps_its_limits_as_a_tool() -> None:
    tool = tool_of(make_flow(add), timeout_secs=5, max_result_chars=10, ends_turn=True)
    assert (tool.name, tool.timeout_secs, tool.max_result_chars, tool.ends_turn) == ("add", 5, 10, True)
    assert (tool_of(make_flow(add)).timeout_secs, tool_of(make_flow(add)).max_result_chars) == (60, 50_000)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"a": 1}, None),
        ({}, "'a' is a required property"),
        ({"a": "x"}, "a: 'x' is not of type 'integer'"),
        ({"a": True}, "a: True is not of type 'integer'"),
        ({"a": 1, "c": 2}, "Additional properties are not allowed ('c' was unexpected)"),
    ],
)
def test_a_complaint_is_the_schemas_own(arguments: dict[str, object], complaint: str | None) -> None:
    """T13."""
    assert tool_of(make_flow(add)).complaint(arguments) == complaint


@pytest.mark.parametrize("tool", [ASK_USER_TOOL, WRITE_TODOS_TOOL], ids=lambda tool: tool.name)
def test_a_built_in_has_a_reserved_name_a_schema_and_no_flow(tool: Tool) -> None:
    assert tool.name in BUILTIN_NAMES
    assert tool.flow is None
    assert tool.description
    Draft202012Validator.check_schema(tool.parameters)


def test_the_rules_of_a_built_in_replace_its_schema() -> None:
    """T17: an alias is accepted that the schema does not tell."""
    question = {"header": "Plan", "question": "Which?", "multiSelect": True}
    assert ASK_USER_TOOL.complaint({"questions": [question]}) is None
    assert ASK_USER_TOOL.complaint({"questions": [question, question]}) == "questions: the header 'Plan' is there twice"
    assert WRITE_TODOS_TOOL.complaint({"todos": []}) is None


@pytest.mark.parametrize(
    ("tool", "arguments", "fits"),
    [
        (ASK_USER_TOOL, {"questions": [{"header": "Plan", "question": "Which?"}]}, True),
        (ASK_USER_TOOL, {"questions": []}, False),
        (ASK_USER_TOOL, {"questions": [{"header": "x" * 13, "question": "Which?"}]}, False),
        (ASK_USER_TOOL, {"questions": [{"header": "x", "question": "Which?"}] * 5}, False),
        (WRITE_TODOS_TOOL, {"todos": [{"content": "a", "status": "pending"}]}, True),
        (WRITE_TODOS_TOOL, {"todos": [{"content": "a", "status": "done"}]}, False),
        (WRITE_TODOS_TOOL, {"todos": [{"content": "a", "status": "pending"}] * 51}, False),
    ],
)
def test_what_the_model_is_told_and_what_is_enforced_agree(
    tool: Tool, arguments: dict[str, object], fits: bool
) -> None:
    assert Draft202012Validator(tool.parameters).is_valid(arguments) is fits
    assert (tool.complaint(arguments) is None) is fits
