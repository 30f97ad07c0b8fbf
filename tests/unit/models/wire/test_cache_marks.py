"""W6: what of a request a provider is asked to keep; never more than four marks, never on what is empty (F44)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from agentflow.models.wire.cache_marks import MARK, mark, wants_marks

TOOLS = [{"type": "function", "function": {"name": name}} for name in ("a", "b")]
SYSTEM = {"role": "system", "content": "Help."}
ASKED = {"role": "user", "content": "And now?"}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said(content: Any, *calls: str) -> dict[str, Any]:
    asked = [{"id": id_, "type": "function", "function": {"name": "a", "arguments": "{}"}} for id_ in calls]
    return {"role": "assistant", "content": content, **({"tool_calls": asked} if asked else {})}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "done"}


def marked(*messages: dict[str, Any]) -> tuple[list[int], bool]:
    """The places of the messages that are marked, and whether the tools are."""
    given, tools = copy.deepcopy(list(messages)), copy.deepcopy(TOOLS)
    mark(given, tools)
    places = [
        at
        for at, message in enumerate(given)
        if isinstance(message["content"], list)
        for part in message["content"]
        if MARK in part
    ]
    assert all(
        part["text"].strip()
        for each in given
        if isinstance(each["content"], list)
        for part in each["content"]
        if MARK in part
    )
    assert [MARK in tool for tool in tools[:-1]] == [False]
    return places, MARK in tools[-1]


def test_the_system_prompt_the_tools_and_the_end_of_the_turn_before_are_marked() -> None:
    assert marked(SYSTEM, user("Hi."), said("Hello."), ASKED) == ([0, 2], True)


def test_the_mark_stays_where_it_is_while_the_turn_goes_on() -> None:
    turn = (ASKED, said(None, "c1"), result("c1"), said("Wait.", "c2"), result("c2"))
    assert marked(SYSTEM, user("Hi."), said("Hello."), *turn) == ([0, 2], True)


def test_the_first_turn_marks_what_comes_before_it() -> None:
    assert marked(SYSTEM, ASKED, said(None, "c1"), result("c1")) == ([0], True)


@pytest.mark.parametrize(
    ("before", "place"),
    [
        pytest.param((said(None, *"abcde"), *map(result, "abcde")), 1, id="five results side by side"),
        pytest.param((said(""),), 1, id="an empty text"),
        pytest.param((said([{"type": "image_url", "image_url": {"url": "data:x"}}]),), 1, id="a picture alone"),
        pytest.param(
            (said([{"type": "text", "text": "See."}, {"type": "image_url", "image_url": "x"}]),), 2, id="both"
        ),
    ],
)
def test_a_turn_that_ended_in_something_else_is_marked_at_its_last_text(
    before: tuple[dict[str, Any], ...], place: int
) -> None:
    assert marked(SYSTEM, user("Hi."), *before, ASKED) == ([0, place], True)


def test_marks_of_a_worker_count_and_of_too_many_the_last_stay() -> None:
    own = [user([{"type": "text", "text": str(n), MARK: {"type": "ephemeral"}}]) for n in range(5)]
    assert marked(SYSTEM, *own[:3], said("Hello."), ASKED) == ([1, 2, 3, 4], False)
    assert marked(SYSTEM, *own, said("Hello."), ASKED) == ([2, 3, 4, 5], False)


def test_only_those_who_keep_what_is_marked_get_marks() -> None:
    assert wants_marks("anthropic/claude-sonnet-4-5", "anthropic")
    assert wants_marks("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", "bedrock")
    assert not wants_marks("openai/gpt-4o", "openai")
    assert not wants_marks("gemini/gemini-2.5-flash", "gemini")
