"""Two turns side by side: branches, regenerations, sessions, and what the author changed between them (R6)."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import CallNotFound, InvalidInput, SessionNotFound, TurnNotFound
from agentflow.reading.compare.differences import SECTIONS
from agentflow.testing import Kit

CALC = {"tool_calls": [{"name": "calculate", "arguments": {"expression": "6*7"}}]}


def diff(kit: Kit, a: Any, b: Any, session: str = "s-1", **options: Any) -> dict[str, Any]:
    return kit.run(kit.runtime.records.diff((session, a), (session, b), **options))


def differing(found: dict[str, Any]) -> list[str]:
    return [name for name in SECTIONS if found[name]]


def test_a_regeneration_is_the_same_request(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "One."}, {"text": "Other."}])
    agentflow.send("Hi.")
    agentflow.regenerate()
    found = diff(agentflow, 1, 2)
    assert (found["call"], found["first"], found["calls"]) == (1, None, [None])


def test_a_branch_shares_what_came_before_it(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    agentflow.send("Hi.")
    agentflow.send("And?")
    agentflow.edit(agentflow.path()[2]["id"], "But?")
    found = diff(agentflow, 2, 3)
    assert differing(found) == ["history"]
    assert [each.get("same") for each in found["history"]] == [2, None]
    changed = found["history"][1]
    assert [changed[side][0]["content"] for side in ("a", "b")] == ["And?", "But?"]


def test_what_the_author_changed_stands_first(agentflow: Kit) -> None:
    folder = agentflow.agent(prompt="Help.", replies=[{"text": "One."}, {"text": "Two."}], tools=["calculate"])
    agentflow.send("Hi.")
    file = folder / "agent.yaml" if folder.is_dir() else folder
    file.write_text(file.read_text().replace("Help.", "Help well.").replace("calculate", "current_time"))
    agentflow.restart()
    agentflow.send("And?")
    found = diff(agentflow, 1, 2)
    assert (found["first"], differing(found)) == ("configuration", ["configuration", "prompt", "tools", "history"])
    assert found["prompt"] == ["-Help.", "+Help well."]
    assert {each["key"].partition(".")[0] for each in found["tools"]} == {"calculate", "current_time"}


def test_calls_are_paired_by_their_order(agentflow: Kit) -> None:
    agentflow.agent(tools=["calculate"], replies=[CALC, {"text": "42"}, {"text": "42, as I said."}])
    agentflow.send("What is 6 * 7?")
    agentflow.regenerate()
    found = diff(agentflow, 1, 2)
    assert (found["calls"], found["call"], found["first"]) == ([None, "only a"], 1, None)
    assert (found["a"]["calls"], found["b"]["calls"]) == (2, 1)
    with pytest.raises(CallNotFound):
        diff(agentflow, 1, 2, call=2)


def test_turns_of_two_sessions_may_be_named_by_id(agentflow: Kit) -> None:
    agentflow.agent(replies=[{"text": "One."}])
    one, two = agentflow.send("Hi."), agentflow.send("Ho.", session="s-2")
    found = agentflow.run(agentflow.runtime.records.diff(("s-1", one.turn_id), ("s-2", two.turn_id)))
    assert (found["a"]["turn"], found["b"]["session_id"], differing(found)) == (1, "s-2", ["history"])


def test_what_is_not_there_or_was_not_kept_is_told(agentflow: Kit) -> None:
    agentflow.agent(settings={"observability": False}, replies=[{"text": "One."}])
    agentflow.send("Hi.")
    for error, a, options in (
        (TurnNotFound, 7, {}), (TurnNotFound, "t-9", {}), (InvalidInput, 0, {}), (InvalidInput, 1, {"call": 0}),
    ):  # fmt: skip
        with pytest.raises(error):
            diff(agentflow, a, 1, **options)
    with pytest.raises(SessionNotFound):
        diff(agentflow, 1, 1, session="nobody")
    assert diff(agentflow, 1, 1)["calls"] == []
