"""Texts are made storable at every entrance, once, and stored as they were streamed (T43)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow.models.protocol import FinishReason, TextDelta
from agentflow.testing import Kit
from tests.scenarios.support import Deltas, call, results, watched

DIRTY = {
    "a\x00b": "ab",
    "\ud83d\ude00": "😀",
    "x\ud83dy": "x\ufffdy",
    "x\ude00": "x\ufffd",
}


@pytest.mark.parametrize(("given", "stored"), DIRTY.items())
def test_a_user_message_is_made_storable(agentflow: Kit, given: str, stored: str) -> None:
    """B38: NUL removed; surrogate pairs joined, lone halves replaced."""
    agentflow.agent(replies=[{"text": "ok"}])
    agentflow.send(given)
    assert agentflow.path()[0]["content"] == agentflow.requests[0].messages[1]["content"] == stored


@pytest.mark.parametrize(("given", "stored"), DIRTY.items())
@pytest.mark.parametrize("size", [1, 2, 3])
def test_streamed_text_is_made_storable_also_where_deltas_split_a_pair(
    agentflow: Kit, given: str, stored: str, size: int
) -> None:
    """T43: stored text equals streamed text."""
    pieces = [TextDelta(given[at : at + size]) for at in range(0, len(given), size)]
    model = Deltas([*pieces, FinishReason("stop")], held=True)
    agentflow.agent(model=model)
    streamed = "".join(event.data["text"] for event in watched(agentflow, "hi", model) if event.type == "llm.delta")
    assert streamed == agentflow.path()[1]["content"] == stored
    assert agentflow.events("done")[0].data["answer"] == stored


@pytest.mark.parametrize(
    ("value", "read"),
    [("a\x00b", "ab"), ({"k": "\x00"}, '{"k":""}'), ("\ud83d\ude00", "😀"), (["\ud83d"], '["\ufffd"]')],
)
def test_a_tool_result_is_made_storable(agentflow: Kit, value: Any, read: str) -> None:
    """B38: such a character in a tool result loses nothing else."""

    def fetch() -> Any:
        """Fetch."""
        return value

    agentflow.agent(tools=[fetch], replies=[{"tool_calls": [call("fetch")]}, {"text": "ok"}])
    assert agentflow.send("Go.").answer == "ok"
    assert results(agentflow.requests[1]) == [read]
    assert agentflow.path()[2]["content"] == read


def test_tool_arguments_are_made_storable_before_the_flow_sees_them(agentflow: Kit) -> None:
    """B38: a tool argument with an escaped NUL."""
    seen = []

    def note(text: str) -> str:
        """Note."""
        seen.append(text)
        return "noted"

    asked = {"name": "note", "arguments": '{"text": "a\\u0000b"}'}
    agentflow.agent(tools=[note], replies=[{"tool_calls": [asked]}, {"text": "ok"}])
    assert agentflow.send("Go.").answer == "ok"
    assert seen == ["ab"]


def test_separators_and_control_characters_are_left_as_they_are(agentflow: Kit) -> None:
    """B40: what only looks like a line end to some parsers is text."""
    text = "a\u2028b\u2029c\u0085d\re\r\nf\n\ndata: x\n\n"
    agentflow.agent(replies=[{"text": text}])
    assert agentflow.send(text).answer == text
    assert [message["content"] for message in agentflow.path()] == [text, text]
