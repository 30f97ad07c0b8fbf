"""What a paused turn waits for, in the one shape of its events, reads and results (T18, C38). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentflow.conversation.questions import Question, plain_text
from agentflow.errors import QuestionExpired
from agentflow.result import PendingKind

QUESTIONS: PendingKind = "questions"
TOOLS: PendingKind = "tools"

_NOBODY_IN_TIME = {QUESTIONS: "Nobody answered the question in time.", TOOLS: "The client gave no result in time."}


@dataclass(frozen=True, slots=True)
class AwaitedCall:
    """A call that the client performs; `arguments` are those that were checked. Null is what was erased.

    They may be `changed` from those of the reply, by a hook.
    """

    id: str
    name: str | None
    arguments: dict[str, Any] | None
    changed: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"tool_call_id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class Awaited:
    """The answers to the `questions` of a call, or the results of `calls`, of which `call_id` is the first (C38)."""

    kind: PendingKind
    call_id: str
    questions: tuple[Question, ...] = ()
    calls: tuple[AwaitedCall, ...] = ()

    def question(self) -> dict[str, Any] | None:
        """`{tool_call_id, questions, text}` of a pause for questions."""
        if self.kind != QUESTIONS:
            return None
        asked = [question.as_dict() for question in self.questions]
        return {"tool_call_id": self.call_id, "questions": asked, "text": plain_text(self.questions)}

    def stored(self) -> list[dict[str, Any]]:
        """What a pause's row has: its questions, or which calls; their arguments stand in the reply."""
        if self.kind == QUESTIONS:
            return [question.as_dict() for question in self.questions]
        return [
            {"tool_call_id": call.id} | ({"arguments": call.arguments} if call.changed else {}) for call in self.calls
        ]

    def call_dicts(self) -> list[dict[str, Any]]:
        """`[{tool_call_id, name, arguments}]`, empty for questions."""
        return [call.as_dict() for call in self.calls]

    def expired(self) -> QuestionExpired:
        """The error of the turn whose time to wait is over (T21)."""
        return QuestionExpired(_NOBODY_IN_TIME[self.kind], detail={"tool_call_id": self.call_id})


def status_of(awaited: Awaited | None) -> dict[str, Any]:
    """`{pending, pending_kind, question, questions, tool_call_id, calls}` as every read tells it."""
    question = None if awaited is None else awaited.question()
    return {
        "pending": awaited is not None,
        "pending_kind": None if awaited is None else awaited.kind,
        "question": None if question is None else question["text"],
        "questions": None if question is None else question["questions"],
        "tool_call_id": None if question is None else question["tool_call_id"],
        "calls": [] if awaited is None else awaited.call_dicts(),
    }
