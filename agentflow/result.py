"""What a turn came to, as Python and `--json` give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentflow.message import Usage

SCHEMA = "agentflow.result/1"

PendingKind = Literal["questions", "tools", "approval"]
"""What a paused turn waits for: an answer of its user, results of its client's tools, or somebody's yes (C38)."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The outcome of a turn's last step. `state` is the turn's state, `answer` what the user saw, null for nothing.

    `message_id` names the answer's message, `truncated`: the model was cut at its output limit. A paused turn says by
    `pending_kind` what it waits for: `question` is `{tool_call_id, questions, text}`, or `calls` are
    `[{tool_call_id, name, arguments}]`. `error` is `{code, message, detail}` when the turn failed, `data` what a
    worker ended it with, `output` the answer as a typed value. `scripted`: the answer came from a scripted model, not
    from one that thinks.
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
    message_id: str | None = None
    truncated: bool = False
    data: Any = None
    output: Any = None
    pending_kind: PendingKind | None = None
    calls: Sequence[dict[str, Any]] = ()

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
            "message_id": self.message_id,
            "truncated": self.truncated,
            "data": self.data,
            "output": self.output,
            "pending_kind": self.pending_kind,
            "question": self.question,
            "calls": list(self.calls),
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
