"""A worker's answer is typed whole, every refusal names its field (C33)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.errors import ModelError, WorkerFailed
from agentflow.message import Message, ToolCall
from agentflow.turn.decide.actions import (
    AskUser,
    CallModel,
    CallTool,
    Done,
    Fail,
    GiveError,
    GiveResult,
    ReplaceContext,
)  # fmt: skip
from agentflow.turn.decide.protocol import FORMS, read_response, shown_action

WRONG: list[tuple[Any, str]] = [
    ([], ""), (7, ""), ("done", ""), ({"actoins": []}, "actoins"), ({"actions": {}}, "actions"),
    ({"actions": [7]}, "actions[0]"), ({"actions": [{}]}, "actions[0].type"),
    ({"actions": [{"type": "dance"}]}, "actions[0].type"), ({"messages": "hi"}, "messages"),
    ({"messages": [{"role": "robot"}]}, "messages[0].role"), ({"agent": []}, "agent"),
    ({"state": float("nan")}, "state"),
]  # fmt: skip

WRONG_FIELDS: list[tuple[str, dict[str, Any], str]] = [
    ("llm.call", {"stream": 7}, "stream"), ("llm.call", {"model": ""}, "model"), ("llm.call", {"model": 3}, "model"),
    ("llm.call", {"prompt": ["x"]}, "prompt"), ("llm.call", {"llm": {}}, "llm"), ("llm.call", {"id": 5}, "id"),
    ("llm.call", {"purpose": "title"}, "purpose"), ("llm.call", {"messages": "x"}, "messages"),
    ("llm.call", {"messages": [{"role": "tool", "tool_call_id": "c", "content": "x"}]}, "messages"),
    ("llm.call", {"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "messages"),
    ("llm.call", {"messages": [], "prompt": "x"}, "prompt"), ("llm.call", {"template": True}, "template"),
    ("llm.call", {"llm": "a", "interface": "b"}, "interface"), ("llm.call", {"temperature": 1}, "temperature"),
    ("tool.call", {"name": "double", "input": [1]}, "input"), ("tool.call", {"name": 1}, "name"),
    ("tool.result", {}, "id"), ("tool.error", {"id": "c"}, "error"), ("tool.error", {"id": "c", "error": 1}, "error"),
    ("ask_user", {}, "questions"), ("ask_user", {"questions": []}, "questions"),
    ("ask_user", {"questions": [{"header": "far too long a header", "question": "?"}]}, "questions"),
    ("context.replace", {"summary": {"a": 1}}, "summary"), ("context.replace", {"messages": {}}, "messages"),
    ("context.replace", {"messages": [{"role": "user"}]}, "messages[0].content"),
    ("fail", {}, "error"), ("fail", {"error": {}}, "error.message"), ("fail", {"error": " "}, "error"),
    ("done", {"date": 1}, "date"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "field"), WRONG)
def test_an_answer_of_another_shape_is_refused(raw: Any, field: str) -> None:
    with pytest.raises(WorkerFailed) as failed:
        read_response(raw, {})
    assert str(failed.value.detail["field"]) == field or (not field and "must be an object" in failed.value.message)


@pytest.mark.parametrize(("kind", "fields", "field"), WRONG_FIELDS)
def test_every_field_is_typed(kind: str, fields: dict[str, Any], field: str) -> None:
    """D20, D23."""
    with pytest.raises(WorkerFailed) as failed:
        read_response({"actions": [{"type": kind, **fields}]}, {})
    assert failed.value.detail["field"].startswith(f"actions[0].{field}")


def test_every_field_that_is_given_is_kept() -> None:
    message = {"role": "user", "content": "x"}
    actions = read_response({"actions": [
        {"type": "llm.call", "id": "m1", "purpose": "summary", "llm": "llm://cheap", "model": "m", "prompt": "p",
         "template": True, "stream": False},
        {"type": "llm.call", "messages": [message]},
        {"type": "tool.call", "id": "c1", "name": "double", "input": {"n": 1}},
        {"type": "tool.result", "id": "c1", "result": {"a": [1]}},
        {"type": "tool.error", "id": "c2", "error": {"message": "no"}},
        {"type": "ask_user", "id": "c3", "questions": [{"header": "H", "question": "Q?"}]},
        {"type": "context.replace", "summary": "S", "messages": [message]},
        {"type": "done", "data": {"n": 1.0}},
    ]}, {}).actions  # fmt: skip
    assert actions == (
        CallModel("m1", "summary", None, "cheap", "m", "p", True, False),
        CallModel(messages=(message,)),
        CallTool("c1", "double", {"n": 1}),
        GiveResult("c1", {"a": [1]}),
        GiveError("c2", "no"),
        AskUser(({"header": "H", "question": "Q?", "options": [], "multi_select": False},), "c3"),
        ReplaceContext("S", (Message("", "user", "x"),)),
        Done({"n": 1.0}),
    )


def test_a_failure_may_have_a_code_of_its_own() -> None:
    (action,) = read_response({"actions": [{"type": "fail", "error": {"message": "m", "code": "c"}}]}, {}).actions
    assert isinstance(action, Fail)
    assert (action.error.code, action.error.message, action.error.detail) == ("worker_failed", "m", {"code": "c"})


def test_null_says_nothing() -> None:
    response = read_response(dict.fromkeys(("messages", "actions", "state", "agent")), {"messages": []})
    assert (response.messages, response.actions, response.state, response.agent) == (None, (), None, {})


def test_an_answer_equal_to_the_proposal_takes_it() -> None:
    proposed = {"messages": [{"id": "u1", "role": "user", "content": "x"}], "actions": [{"type": "llm.call"}]}
    assert read_response({**proposed, "state": 1}, proposed).took
    assert not read_response({**proposed, "actions": []}, proposed).took


def test_what_is_proposed_can_be_read_back() -> None:
    reply = (ToolCall("c1", "double", '{"n": 2}'), ToolCall("c2", "double", "not json"))
    shown = [
        shown_action(action, reply)
        for action in (
            CallModel("m1"), CallModel(purpose="summary", stream=False, interface="cheap", prompt="p"),
            CallTool("c1"), CallTool("c2"), GiveError("c1", "no"), GiveResult("c1", 1),
            ReplaceContext("S", (Message("u", "user", "x"),)), Done(1), Fail(ModelError("cut", "cut off")),
        )
    ]  # fmt: skip
    assert shown[2:4] == [
        {"type": "tool.call", "id": "c1", "name": "double", "input": {"n": 2}},
        {"type": "tool.call", "id": "c2", "name": "double", "input": {}},
    ]
    assert [FORMS[each["type"]].type for each in shown] == [each["type"] for each in shown]
    assert len(read_response({"actions": shown}, {}).actions) == len(shown)
