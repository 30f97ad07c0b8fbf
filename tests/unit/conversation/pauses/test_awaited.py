"""T18, C38: what a paused turn waits for has one shape, whatever it is."""

from __future__ import annotations

from agentflow.conversation.pauses.awaited import Awaited, AwaitedCall, status_of
from agentflow.conversation.questions import Option, Question

ASKED = Question("Plan", "Which plan?", (Option("Pro"), Option("Free")))
QUESTIONS = Awaited("questions", "c-1", questions=(ASKED,))
CALLS = Awaited(
    "tools", "c-1", calls=(AwaitedCall("c-1", "show", {"n": 1}), AwaitedCall("c-2", "pick", {}, changed=True))
)
NOTHING = {
    "pending": False,
    "pending_kind": None,
    "question": None,
    "questions": None,
    "tool_call_id": None,
    "calls": [],
}


def test_every_kind_says_the_same_fields() -> None:
    assert status_of(None) == NOTHING
    assert status_of(QUESTIONS) == {
        **NOTHING, "pending": True, "pending_kind": "questions", "question": "Plan: Which plan?\n  - Pro\n  - Free",
        "questions": [ASKED.as_dict()], "tool_call_id": "c-1",
    }  # fmt: skip
    assert status_of(CALLS) == {
        **NOTHING, "pending": True, "pending_kind": "tools", "calls": [
            {"tool_call_id": "c-1", "name": "show", "arguments": {"n": 1}},
            {"tool_call_id": "c-2", "name": "pick", "arguments": {}},
        ],
    }  # fmt: skip


def test_a_row_has_the_questions_or_which_calls_and_what_a_hook_changed() -> None:
    """R3: arguments stand in the reply already."""
    assert QUESTIONS.stored() == [ASKED.as_dict()]
    assert CALLS.stored() == [{"tool_call_id": "c-1"}, {"tool_call_id": "c-2", "arguments": {}}]


def test_the_end_of_the_time_says_what_did_not_come() -> None:
    assert "answered" in QUESTIONS.expired().message
    assert "client" in CALLS.expired().message
    assert CALLS.expired().as_dict()["detail"] == {"tool_call_id": "c-1"}
