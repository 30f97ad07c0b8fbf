"""Two requests side by side (R6)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentflow.reading.compare.differences import SECTIONS, aligned, changed, differences

TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}


def request(**changes: Any) -> dict[str, Any]:
    said = [{"role": "system", "content": "Help.\nBe brief."}, {"role": "user", "content": "Hi."}]
    plain = {"configuration": {"name": "a"}, "messages": said, "tools": [TOOL], "model": "m", "parameters": {"n": 1}}
    return plain | changes


def test_the_same_request_differs_nowhere() -> None:
    found = differences(request(), request())
    assert (found["first"], [found[name] for name in SECTIONS]) == (None, [[]] * 5)


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("configuration", {"configuration": {"name": "b"}}),
        ("prompt", {"messages": [{"role": "system", "content": "Help.\nBe long."}, request()["messages"][1]]}),
        ("prompt", {"messages": [{"role": "system", "content": "Help.\r\nBe brief."}, request()["messages"][1]]}),
        ("prompt", {"messages": request()["messages"][1:]}),
        ("tools", {"tools": []}),
        ("history", {"messages": [*request()["messages"], {"role": "assistant", "content": "Hello."}]}),
        ("model", {"model": "n"}),
        ("model", {"parameters": None}),
    ],
)
def test_each_section_is_told_apart_and_alone(section: str, change: dict[str, Any]) -> None:
    found = differences(request(), request(**change))
    assert [name for name in SECTIONS if found[name]] == [section]
    assert found["first"] == section


def test_what_causes_comes_before_what_follows_of_it() -> None:
    changed_all = request(configuration={}, messages=[], tools=[], model="n")
    assert differences(request(), changed_all)["first"] == "configuration"
    assert differences(request(), request(tools=[], model="n"))["first"] == "tools"


def test_a_tool_is_told_by_its_name_and_what_of_it_differs() -> None:
    function = TOOL["function"] | {"description": "Look well."}  # type: ignore[operator]  # a dict, by the literal
    found = differences(request(), request(tools=[{"type": "function", "function": function}]))
    assert found["tools"] == [{"key": "look.description", "a": "Look.", "b": "Look well."}]


def test_tools_in_another_order_differ() -> None:
    other = {"type": "function", "function": {"name": "find"}}
    found = differences(request(tools=[TOOL, other]), request(tools=[other, TOOL]))
    assert found["tools"] == [{"key": "(order)", "a": ["look", "find"], "b": ["find", "look"]}]


def test_true_is_not_one_and_absent_is_not_null_in_a_configuration() -> None:
    assert changed({"a": True, "b": 1}, {"a": 1, "b": 1}) == [{"key": "a", "a": True, "b": 1}]
    assert changed({"a": {"b": None}}, {"a": {}}) == [{"key": "a.b", "a": None, "b": None}]


MESSAGES = st.lists(st.sampled_from("abc"), max_size=8).map(lambda said: [{"content": each} for each in said])


@given(MESSAGES, MESSAGES)
def test_blocks_give_both_histories_back_in_order(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> None:
    """And no block stands where there is nothing to tell."""
    blocks = aligned(a, b)
    assert (blocks == []) == (a == b)
    made_a, made_b = list(a[:0]), list(b[:0])
    for block in blocks:
        if "same" in block:
            same = a[len(made_a) : len(made_a) + block["same"]]
            assert block["same"] > 0
            made_a, made_b = made_a + same, made_b + same
        else:
            assert block["a"] or block["b"]
            made_a, made_b = made_a + block["a"], made_b + block["b"]
    assert blocks == [] or (made_a, made_b) == (a, b)


def test_a_long_history_with_one_change_is_quick_to_read() -> None:
    a = [{"content": str(n)} for n in range(20_000)]
    b = [*a[:10_000], {"content": "other"}, *a[10_001:]]
    assert aligned(a, b) == [{"same": 10_000}, {"a": [a[10_000]], "b": [b[10_000]]}, {"same": 9_999}]
