"""What several requests of one turn say together: each field, merged while they waited or by an answer (C8, C22)."""

from __future__ import annotations

from dataclasses import fields

import pytest

from agentflow.conversation.inbox import Client, ClientTool, TurnOptions

EARLY, LATE = ClientTool("early"), ClientTool("late")
FIRST = TurnOptions({"a": 1, "b": 1}, {"max_cost": 1}, (EARLY,), Client({"s": 1}, ["one"], "props"), True)
LATER = TurnOptions({"b": 2}, {"max_cost": 2}, (LATE,), Client({"s": 2}, ["two"], "later"), False)
SILENT = TurnOptions()
MERGED = {
    "inputs": {"a": 1, "b": 2},
    "limits": {"max_cost": 2},
    "tools": (EARLY, LATE),
    "client": Client({"s": 2}, ["one", "two"], "later"),
    "stream": False,
}
RESUMED = MERGED | {"tools": (LATE,), "client": Client({"s": 2}, ["two"], "later")}
FIELDS = [field.name for field in fields(TurnOptions)]


@pytest.mark.parametrize("name", FIELDS)
def test_of_two_merged_requests_each_field_is_kept(name: str) -> None:
    assert getattr(FIRST.then(LATER), name) == MERGED[name]
    assert getattr(FIRST.then(SILENT), name) == getattr(FIRST, name)
    assert getattr(SILENT.then(LATER), name) == getattr(LATER, name)


@pytest.mark.parametrize("name", FIELDS)
def test_what_an_answer_says_anew_holds_and_the_rest_stays(name: str) -> None:
    assert getattr(FIRST.resumed_with(LATER), name) == RESUMED[name]
    assert getattr(FIRST.resumed_with(SILENT), name) == getattr(FIRST, name)
