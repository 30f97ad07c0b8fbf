"""What a turn came to, as Python and `--json` give it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentflow.message import Usage

SCHEMA = "agentflow.result/1"


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The outcome of a turn's last step. `state` is the turn's state, `answer` what the user saw, null for nothing.

    `question` is `{tool_call_id, questions, text}` when the turn is paused, `error` `{code, message, detail}` when
    it failed. `scripted`: the answer came from a scripted model, not from one that thinks.
    """

    session_id: str
    turn_id: str
    step_order: int
    state: str
    answer: str | None
    usage: Usage
    question: dict[str, Any] | None = None
    limit: str | None = None
    error: dict[str, Any] | None = None
    scripted: bool = False

    @property
    def aborted(self) -> bool:
        return self.state == "aborted"

    def as_dict(self) -> dict[str, Any]:
        """The JSON object of `--json`, schema `agentflow.result/1`; `cost` is a decimal in text, null when unknown."""
        return {
            "schema": SCHEMA,
            "session_id": self.session_id,
            "turn_id": self.turn_id,
            "step_order": self.step_order,
            "state": self.state,
            "answer": self.answer,
            "question": self.question,
            "usage": self.usage.as_dict(),
            "cost": None if self.usage.cost is None else str(self.usage.cost),
            "limit": self.limit,
            "aborted": self.aborted,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `submit` returns: the turn that answers, and the sequence number before its first event."""

    session_id: str
    turn_id: str
    queued: bool
    replayed: bool
    after_seq: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "turn_id": self.turn_id,
            "queued": self.queued,
            "replayed": self.replayed,
            "after_seq": self.after_seq,
        }
