"""What a change does to the next request: where the cached prefix ends, and what it weighs."""

from __future__ import annotations

from typing import Any

import pytest

from cli.dev.effect import effect


def tool(name: str, description: str = "") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description}}


def request(**changes: Any) -> dict[str, Any]:
    said = [{"role": "system", "content": "Help well."}, {"role": "user", "content": "Hi."}]
    return {"model": "m", "tools": [tool("a"), tool("b")], "messages": said, "tokens": 100} | changes


def system(text: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": text}, {"role": "user", "content": "Hi."}]


def test_the_same_request_has_no_effect() -> None:
    assert effect(request(), request(tokens=7)) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"messages": system("Help very well.")}, "character 6 of the system prompt"),
        ({"messages": system("Help well.\n")}, "character 11 of the system prompt"),
        ({"messages": system("Help well.")[1:]}, "message 1"),
        ({"tools": [tool("a"), tool("b", "Does b.")]}, "the start: the tool b is described differently"),
        ({"tools": [tool("a")]}, "the start: the tool b is gone"),
        ({"tools": [tool("c"), tool("a"), tool("b")]}, "the start: the tool c is new"),
        ({"tools": [tool("b"), tool("a")]}, "the start: the tools are in another order"),
        ({"model": "n", "tools": []}, "the start: the model is n"),
    ],
)
def test_the_prefix_is_lost_from_where_the_requests_differ(change: dict[str, Any], said: str) -> None:
    found = effect(request(), request(**change))
    assert found is not None
    assert found.lost == said


def test_what_only_adds_keeps_the_prefix() -> None:
    found = effect(request(), request(messages=[*request()["messages"], {"role": "user", "content": "!"}], tokens=101))
    assert str(found) == "prefix kept, 100 -> 101 tokens (+1)"


def test_what_takes_away_at_the_end_loses_it_from_there() -> None:
    found = effect(request(), request(messages=request()["messages"][:1], tokens=90))
    assert str(found) == "prefix lost from message 2, 100 -> 90 tokens (-10)"
