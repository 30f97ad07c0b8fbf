"""Tool arguments as models write them (T13)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from agentflow.testing import Kit
from agentflow.tools import matching
from tests.scenarios.support import call, results


class Tools:
    """Two tools that note what they were called with."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def agent(self, kit: Kit, arguments: str) -> list[str]:
        """Run one turn in which the model calls `count` with these arguments; the results it read."""
        seen = self.calls

        def count(a: int = 0) -> str:
            """Count."""
            seen.append(a)
            return f"counted {a}"

        def sibling() -> str:
            """Stand by."""
            return "I ran"

        asked = [{"name": "count", "arguments": arguments}, call("sibling")]
        kit.agent(tools=[count, sibling], replies=[{"tool_calls": asked}, {"text": "ok"}])
        assert kit.send("Count.").answer == "ok"
        return results(kit.requests[1])


@pytest.mark.parametrize("arguments", ["", "null", "{}", "  {} "])
def test_nothing_null_and_the_empty_object_are_no_arguments(agentflow: Kit, arguments: str) -> None:
    tools = Tools()
    assert tools.agent(agentflow, arguments) == ["counted 0", "I ran"]
    assert tools.calls == [0]


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": 1', '{"a":1}{"a":2}', "[]", '"x"', "42", '{"a":NaN}', "{'a': 1}", '{"a": "many"}', '{"b": 1}',
        "x" * 2_000_000,
    ],
    ids=["cut", "two objects", "list", "text", "number", "NaN", "python", "wrong type", "unknown", "2 MB"],
)  # fmt: skip
def test_anything_else_that_does_not_fit_is_an_error_result(agentflow: Kit, arguments: str) -> None:
    """B42: a bounded preview and the schema's complaint; the tool does not run, its sibling does."""
    tools = Tools()
    refused, sibling = tools.agent(agentflow, arguments)
    assert tools.calls == []
    assert sibling == "I ran"
    assert refused.startswith("Error")
    assert "count" in refused
    assert len(refused) < 3000


@pytest.mark.parametrize("arguments", ['{"a": 1', "[]", '{"a":NaN}'])
def test_what_cannot_be_parsed_is_stored_raw_and_replayed_as_an_empty_object(agentflow: Kit, arguments: str) -> None:
    """B42: the wire replays valid JSON for that call."""
    Tools().agent(agentflow, arguments)
    assert agentflow.requests[1].messages[2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert agentflow.path()[1]["tool_calls"][0]["arguments"] == arguments


def test_an_object_the_schema_refuses_is_replayed_as_it_was(agentflow: Kit) -> None:
    Tools().agent(agentflow, '{"a": "many"}')
    assert agentflow.requests[1].messages[2]["tool_calls"][0]["function"]["arguments"] == '{"a": "many"}'


def test_a_tool_that_does_not_exist_is_an_error_result_with_the_ones_that_do(agentflow: Kit) -> None:
    def look(place: str) -> str:
        """Look."""
        return place

    agentflow.agent(tools=[look], replies=[{"tool_calls": [call("lok", place="x")]}, {"text": "ok"}])
    assert agentflow.send("Look.").answer == "ok"
    (refused,) = results(agentflow.requests[1])
    assert "did you mean 'look'?" in refused
    (told,) = agentflow.events("tool.call.errored")
    assert told.data["name"] == "lok"


def test_long_arguments_are_checked_beside_the_loop(agentflow: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """T14: a turn does not hold up the others while a schema is gone through; order and results stay the same."""
    checked: list[tuple[bool, bool]] = []

    def watched(validator: Any, arguments: Any) -> str | None:
        checked.append((len(str(arguments)) > 20_000, "agentflow-flow" in threading.current_thread().name))
        return matching.mismatch(validator, arguments)

    def keep(text: str) -> str:
        """Keep."""
        return f"kept {len(text)}"

    monkeypatch.setattr("agentflow.tools.tool.mismatch", watched)
    asked = [call("keep", text="a" * 30_000), call("keep", text="b"), call("keep", text=["c" * 30_000])]
    agentflow.agent(tools=[keep], replies=[{"tool_calls": asked}, {"text": "ok"}])
    assert agentflow.send("Keep.").answer == "ok"
    long, short, wrong = results(agentflow.requests[1])
    assert (long, short, "were not accepted" in wrong) == ("kept 30000", "kept 1", True)
    assert sorted(checked) == [(False, False), (True, True), (True, True)]
