"""Z3: inputs have limits that are counted before they are read, and a big one holds nobody else's turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from agentflow import InvalidInput, Message, ModelRequest, TurnResult
from agentflow.conversation.inbox import MAX_MESSAGES, MAX_TOOLS
from agentflow.testing import Kit
from tests.scenarios.support import call

BRIEF = 0.15  # seconds of processor time: 50 ms (Z3) on a machine that three tests share


def _view(count: int) -> list[dict[str, Any]]:
    """So many messages, the user's first and last."""
    said = [{"role": "user" if index % 2 else "assistant", "content": "hello"} for index in range(count, 0, -1)]
    return [{**said[0], "role": "user"}, *said[1:]]


def _shared(levels: int) -> Any:
    held: Any = 1
    for _ in range(levels):
        held = [held, held]
    return held


def _circle() -> list[Any]:
    held: list[Any] = []
    held.append(held)
    return held


def _deep(levels: int) -> Any:
    held: Any = 1
    for _ in range(levels):
        held = {"a": held}
    return held


HI = {"role": "user", "content": "hi"}
TOO_MUCH: list[tuple[dict[str, Any], str]] = [
    ({"type": "client.messages", "messages": _view(100_001)}, r"messages: has 100,001 messages; an input may have"),
    ({"type": "client.append", "messages": _view(MAX_MESSAGES + 1)}, r"messages: has 20,001 messages"),
    ({"type": "client.message", "message": {**HI, "content": "x" * 32_000_001}}, r"more than 32,000,000 bytes"),
    ({"type": "client.message", "message": {**HI, "content": "é" * 16_000_001}}, r"more than 32,000,000 bytes"),
    ({"type": "client.message", "message": HI, "client": {"state": [0] * 200_000}}, r"more than 200,000 values"),
    ({"type": "client.message", "message": HI, "client": {"state": _shared(50)}}, r"more than 200,000 values"),
    ({"type": "client.message", "message": HI, "client": {"state": _circle()}}, r"nested too deeply"),
    ({"type": "client.message", "message": HI, "inputs": {"a": _deep(100_000)}}, r"nested too deeply"),
    ({"type": "client.message", "message": HI, "inputs": {"a": _deep(1_000)}}, r"nested too deeply"),
    ({"type": "client.message", "message": HI, "inputs": {"a": _deep(65)}}, r"nested too deeply"),
    ({"type": "client.message", "message": HI, "tools": [{"name": "t"}] * (MAX_TOOLS + 1)}, r"tools: has 129 tools"),
    ({"type": "ask_user.answer", "tool_call_id": "c", "answers": {"a": ["x"] * 200_000}}, r"more than 200,000 values"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), TOO_MUCH, ids=range(len(TOO_MUCH)))
def test_an_input_that_holds_too_much_is_refused_and_holds_nobody(
    agentflow: Kit, given: dict[str, Any], said: str
) -> None:
    agentflow.agent(replies=[])
    agentflow.stalls.limit = BRIEF
    with pytest.raises(InvalidInput, match=said):
        agentflow.deliver(given)
    assert not agentflow.run(agentflow.runtime.sessions())


@pytest.mark.parametrize("typed", [False, True])
def test_a_view_of_20_000_messages_does_not_hold_the_loop(agentflow: Kit, typed: bool) -> None:
    agentflow.agent(replies=[{"text": "one"}])
    agentflow.send("warm", "another")
    view: list[Any] = _view(MAX_MESSAGES - 1)
    if typed:
        view = [Message("", each["role"], each["content"]) for each in view]
    agentflow.stalls.limit = BRIEF
    assert agentflow.deliver({"type": "client.messages", "messages": tuple(view)}).answer == "one"
    assert len(agentflow.path()) == MAX_MESSAGES


def test_a_text_of_many_megabytes_does_not_hold_the_loop(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "one"}])
    agentflow.send("warm", "another")
    agentflow.stalls.limit = BRIEF
    assert agentflow.send("x" * 30_000_000).answer == "one"


TOO_LONG_REPLIES: dict[str, dict[str, Any]] = {
    "text": {"text": "x" * 5_000_001},
    "reasoning": {"reasoning": "x" * 5_000_001, "text": "ok"},
    "arguments": {"tool_calls": [{"name": "t", "arguments": {"a": "x" * 5_000_000}}]},
    "name": {"tool_calls": [{"name": "t" * 5_000_001, "arguments": {}}]},
}


@pytest.mark.parametrize("part", TOO_LONG_REPLIES)
def test_a_reply_of_more_than_5_million_characters_fails_the_call_and_no_more_is_kept(
    agentflow: Kit, part: str
) -> None:
    agentflow.agent(replies=[TOO_LONG_REPLIES[part]])
    result = agentflow.send("hi")
    assert result.error is not None
    assert result.error["code"] == "model_error.bad_reply"
    assert "more than 5,000,000 characters" in result.error["message"]
    assert sum(len(str(message)) for message in agentflow.path()) < 5_001_000  # what was shown stays


def _twice(kit: Kit, message: str = "hi") -> TurnResult:
    """The same turn again, when everything that is loaded on use is there."""
    kit.send(message, "another")
    kit.stalls.limit = BRIEF
    return kit.send(message)


ASYNC_OUTCOMES: dict[str, Callable[[], Any]] = {
    "text": lambda: "é" * 15_000_000,
    "halves": lambda: "é" * 15_000_000 + "\ud800",
    "values": lambda: [0] * 1_000_000,
    "escapes": lambda: ["\0a"] * 60_000,
    "error": lambda: _raise("é" * 8_000_000),
    "addresses": lambda: _raise("://" * 2_000_000),
}


def _raise(text: str) -> NoReturn:
    raise ValueError(text)


@pytest.mark.parametrize("outcome", ASYNC_OUTCOMES)
def test_what_an_async_flow_returns_or_raises_does_not_hold_the_loop(agentflow: Kit, outcome: str) -> None:
    async def give() -> Any:
        """Give a lot."""
        return await asyncio.to_thread(ASYNC_OUTCOMES[outcome])

    agentflow.agent(tools=[give], replies=[{"tool_calls": [call("give")]}, {"text": "ok"}])
    assert _twice(agentflow).answer == "ok"
    assert len(str(agentflow.path()[-2]["content"])) <= 5_000_000


@pytest.mark.parametrize("result", ["é" * 15_000_000, ["x" * 100] * 190_000, [0] * 3_000_000], ids=["é", "[x]", "[0]"])
def test_a_result_from_outside_does_not_hold_the_loop(agentflow: Kit, result: Any) -> None:
    agentflow.agent(replies=[{"tool_calls": [{"name": "t", "arguments": {}}]}])
    asked = {"type": "client.message", "message": HI, "tools": [{"name": "t", "parameters": {"type": "object"}}]}
    agentflow.deliver(asked)
    agentflow.stalls.limit = BRIEF
    with contextlib.suppress(InvalidInput):  # three million values are more than an input may have
        agentflow.settle(result)
    agentflow.stop()


LONG_ARGUMENTS: dict[str, Any] = {
    "a text": "é" * 1_500_000,
    "escapes": "\x01" * 200_000,
    "objects": [{"b": 1}] * 60_000,
    "values": [0] * 190_000,
}


@pytest.mark.parametrize("kind", LONG_ARGUMENTS)
def test_long_arguments_of_a_model_do_not_hold_the_loop(agentflow: Kit, kind: str) -> None:
    def take(a: Any) -> str:
        """Take it."""
        return "taken"

    agentflow.agent(tools=[take], replies=[{"tool_calls": [call("take", a=LONG_ARGUMENTS[kind])]}, {"text": "ok"}])
    assert _twice(agentflow).answer == "ok"
    assert agentflow.path()[-2]["content"] == "taken"


def test_a_reply_of_more_than_a_thousand_calls_fails_the_call_and_none_is_run(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"tool_calls": [call("t")] * 10_001}])
    result = agentflow.send("hi")
    assert result.error is not None
    assert result.error["message"] == "The model's reply has more than 10,000 calls: given up."
    assert [message["role"] for message in agentflow.path()] == ["user"]


COSTLY_TEMPLATES = [
    "{% for each in range(99999) %}{{ inputs.text|urlize }}{% endfor %}",
    "{% for each in range(99999) %}{{ range(99999)|max }}{% endfor %}",
    "{% for each in range(99999) %}{% set x = 7 ** 1400 %}{% endfor %}",
    "{% for each in range(99999) %}{{ (10 ** 1200)|wordcount }}{% endfor %}",
    "{% for each in range(99999) %}{{ inputs.text|wordwrap(1, true, '') }}{% endfor %}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(30) }}",
]


@pytest.mark.parametrize("template", COSTLY_TEMPLATES, ids=range(len(COSTLY_TEMPLATES)))
def test_the_costliest_template_does_not_hold_the_loop(agentflow: Kit, template: str) -> None:
    """The first of them took four seconds, the second half a minute."""
    agentflow.agent(prompt=template, inputs={"text": {"default": "a\n" * 10_000}}, replies=[])
    result = _twice(agentflow)
    assert result.error is not None
    assert "prompt may hold" in result.error["message"]


def test_a_long_key_is_not_written_out_for_each_value_below_it(agentflow: Kit) -> None:
    """Z3: a key of ten million characters over 190,000 values took minutes."""
    agentflow.agent(replies=[])
    given = {"type": "client.message", "message": HI, "client": {"state": {"k" * 10_000_000: _deep(70)}}}
    with pytest.raises(InvalidInput, match=r"client\.state\.kkk") as refused:
        agentflow.deliver(given)
    assert len(str(refused.value)) < 1_000


HOOKS_SAY: dict[str, tuple[str, Any, str | None]] = {
    "a long result": ("post_tool", {"result": "é" * 15_000_000}, None),
    "a long refusal": ("step_start", {"block": "é" * 15_000_000}, "é"),
    "many values": ("step_start", {"vars": {"a": [0] * 200_000}}, "what it returned has more than 200,000 values"),
    "many bytes": ("step_start", {"vars": {"a": "x" * 32_000_001}}, "has more than 32,000,000 bytes of text"),
    "depth": ("pre_tool", {"arguments": _deep(70)}, "nested more than 64 levels deep"),
    "a circle": ("step_start", {"vars": {"a": _circle()}}, "or in itself"),
}


def _give_once(request: ModelRequest, asked: dict[str, Any]) -> dict[str, Any]:
    return {"text": "ok"} if request.messages[-1]["role"] == "tool" else {"tool_calls": [asked]}


@pytest.mark.parametrize("kind", HOOKS_SAY)
def test_what_a_hook_returns_is_bounded_and_does_not_hold_the_loop(agentflow: Kit, kind: str) -> None:
    def give(a: Any = None) -> str:
        """Give."""
        return "given"

    point, said, complaint = HOOKS_SAY[kind]

    def say() -> Any:
        return said

    agentflow.agent(tools=[give], hooks={point: [say]}, replies=lambda request: _give_once(request, call("give")))
    result = _twice(agentflow)
    assert complaint in result.error["message"] if result.error and complaint else complaint is None
    assert sum(len(str(message["content"])) for message in agentflow.path()) < 5_000_100
