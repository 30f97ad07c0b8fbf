"""The page of events says what is told: its table is whole, and no event has data that it does not name."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Event, events
from agentflow.reading.event_reference import CATALOGUE, page
from agentflow.testing import Kit
from tests.guards.source import ROOT
from tests.scenarios.support import call

TYPES = {value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)} - {
    events.SUB_EXECUTION
}
ASK = {"name": "ask_user", "arguments": {"questions": [{"header": "Plan", "question": "Which?"}]}}


def test_the_page_is_made_of_the_table() -> None:
    assert (ROOT / "docs" / "events.md").read_text("utf-8") == page()


def test_every_event_is_described() -> None:
    assert set(CATALOGUE) == TYPES


def _fields(type_: str) -> tuple[set[str], set[str]]:
    """Those that are always there, and those that may be."""
    names = [name for name in CATALOGUE[type_].data.split(", ") if name]
    return {name for name in names if not name.endswith("?")}, {name.removesuffix("?") for name in names}


def _lived(agentflow: Kit) -> list[Event]:
    """A session in which most of what can happen does."""

    def look(place: str) -> str:
        if place == "nowhere":
            raise ValueError("there is no such place")
        return f"{place} is fine"

    def watch(message: str) -> dict[str, Any]:
        return {"context": f"{len(message)} characters"}

    agentflow.agent("helper", replies=[{"text": "from the helper"}], description="Helps.")
    agentflow.agent(
        tools=[look],
        hooks={"step_start": [watch]},
        planning=True,
        sub_agents=["helper"],
        context={"strategy": [{"use": "reset", "idle_secs": 3600}]},
        replies=[
            {"text": "I look.", "tool_calls": [call("look", place="Paris"), call("look", place="nowhere")]},
            {"tool_calls": [call("write_todos", todos=[{"content": "look", "status": "completed"}]), ASK]},
            {"tool_calls": [call("task", agent="helper", prompt="Help.")]},
            {"text": "answered"},
            {"text": "afresh"},
            {"error": {"kind": "auth"}},
        ],
    )
    agentflow.send("Look.")
    agentflow.answer("Pro")
    agentflow.advance(4000)
    agentflow.send("Again.")
    agentflow.send("Once more.")
    return agentflow.events()


def test_what_is_told_is_what_is_described(agentflow: Kit) -> None:
    lived = _lived(agentflow)
    assert len({event.type for event in lived}) > 18
    for event in lived:
        always, may_be = _fields(event.type)
        told = set(event.data) - {"execution"}
        assert always <= told <= may_be, (event.type, told)


@pytest.mark.parametrize("type_", sorted(TYPES))
def test_each_line_of_the_page_is_a_sentence(type_: str) -> None:
    assert CATALOGUE[type_].when.endswith(".")
