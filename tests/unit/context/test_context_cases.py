"""The black-box cases of area `context`, as far as they need no engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentflow.context.compaction import Reading, make_room
from agentflow.context.strategies import Context, Plan, Strategy, overflow_plan, plan
from agentflow.context.summary import summary_request
from agentflow.context.tokens import Report, tokens_to_read
from agentflow.conversation.history import History
from agentflow.message import Message

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[2] / "cases" / "conversation_cases.json").read_text("utf-8"))[
        "cases"
    ]
    if case["area"] == "context"
}
BY_STRATEGY = ["ctx-002", "ctx-003", "ctx-004", "ctx-005", "ctx-007", "ctx-008", "ctx-009"]
OVERFLOW = ["ctx-012"]
SHORTER = ["ctx-014"]
NEED_THE_ENGINE = {
    "ctx-010": "a worker answers `context.limit` with the held call",
    "ctx-013": "the second refusal ends the turn",
    "ctx-016": "a worker's `context.replace` is written into the tree",
    "ctx-017": "calls in flight off the new path are voided",
}


def path_of(case: dict[str, Any]) -> list[Message]:
    new = [Message("new", **step["input"]["message"]) for step in case["when"] if step["op"] == "submit"]
    return [*(Message(m["id"], m["role"], m["content"]) for m in case["given"]["messages"]), *new]


def chars(messages: list[Message]) -> int:
    history = History()
    history.extend(messages)
    return history.chars


def planned(case: dict[str, Any]) -> Plan | None:
    """The report is for the call that wrote the last assistant message: it had read what stands before it."""
    given = case["given"]
    configured = given["config"]["context"]
    path = path_of(case)
    report = Report(given["last_call_input_tokens"], chars(path[:1]))
    return plan(
        Context(configured.get("window"), tuple(Strategy(**each) for each in configured["strategy"])),
        tokens=tokens_to_read(report, chars(path)),
        first_call_of_turn=given.get("call_index_in_turn", 1) == 1,
        idle=given.get("last_turn_ended_secs_ago", given.get("idle_secs_inside_turn")),
        resumed=False,
        compacted_since_last_call=False,
    )


def test_every_case_runs_here_or_needs_the_engine() -> None:
    assert {*BY_STRATEGY, *OVERFLOW, *SHORTER, *NEED_THE_ENGINE} == set(CASES)


@pytest.mark.parametrize("id", BY_STRATEGY)
def test_a_call_is_held_as_the_strategies_say(id: str) -> None:
    """X5, X11."""
    expected = CASES[id]["expect"]
    found = planned(CASES[id])
    assert (found is not None) == expected["held"]
    if found is not None:
        seen = {"reason": found.reason, "strategy": found.use, "tokens": found.tokens, "window": found.window}
        assert {key: seen[key] for key in expected if key in seen} == {
            key: value for key, value in expected.items() if key in seen
        }


@pytest.mark.parametrize("id", OVERFLOW)
def test_a_refusal_by_the_provider_proposes_a_summary(id: str) -> None:
    """X16."""
    found = overflow_plan(None, tokens=tokens_to_read(None, chars(path_of(CASES[id]))))
    assert (found.reason, found.use) == (CASES[id]["expect"]["reason"], "summarize")


@pytest.mark.parametrize("id", SHORTER)
def test_a_summary_call_that_was_too_long_is_followed_by_a_shorter_one(id: str) -> None:
    """X15."""
    found, path = planned(CASES[id]), path_of(CASES[id])
    assert found is not None
    cut = make_room(found, Reading(path, len(path) - 1, lean=True, fixed_chars=0))
    assert cut is not None
    request = summary_request(cut.older, cut.older_of_turn)
    shorter = request.shorter()
    assert shorter is not None
    assert shorter.entries == request.entries[1:]
