"""Every error agentflow raises on purpose.

AgentflowError                    code, sentence, detail
    InvalidConfig                 invalid_config          agent.yaml or agentflow.yaml cannot be used
    InvalidInput                  invalid_input           a request that is refused; nothing was written
    AgentNotFound                 agent_not_found
    SessionNotFound               session_not_found
    MessageNotFound               message_not_found
    SessionAgentMismatch          session_agent_mismatch  a session belongs to one agent
    TurnAlreadyActive             turn_already_active     one request at a time (C18)
    QuestionAlreadyAnswered       question_already_answered
    NoPendingQuestion             no_pending_question
    IllegalTransition             illegal_transition      a trigger the machine's table does not allow (T2)
    StaleOwner                    stale_owner             another process owns the session now (C35)
    StoreError                    store_error             the database refused or is away
    LimitReached                  limit_reached
    ModelError                    model_error.<kind>      what the provider said, classified; context_overflow (X16)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

ModelErrorKind = Literal[
    "rate_limited",
    "timeout",
    "unavailable",
    "auth",
    "bad_request",
    "context_overflow",
    "cut",
    "content_filter",
    "script",
]


class AgentflowError(Exception):
    """Base of all: `code` is stable, `str(error)` is a sentence a person can act on, `detail` is JSON."""

    code: ClassVar[str] = "agentflow_error"

    def __init__(self, message: str, *, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail: dict[str, Any] = dict(detail or {})

    def as_dict(self) -> dict[str, Any]:
        """`{code, message, detail}`, the shape of `TurnResult.error` and of the `error` event."""
        return {"code": self.code, "message": self.message, "detail": self.detail}


class InvalidConfig(AgentflowError):
    code = "invalid_config"


class InvalidInput(AgentflowError):
    code = "invalid_input"


class AgentNotFound(AgentflowError):
    code = "agent_not_found"


class SessionNotFound(AgentflowError):
    code = "session_not_found"


class MessageNotFound(AgentflowError):
    code = "message_not_found"


class SessionAgentMismatch(AgentflowError):
    code = "session_agent_mismatch"


class TurnAlreadyActive(AgentflowError):
    """The session runs a turn (C18); `detail` has `turn_id` and, for an owner elsewhere, `retry_after` seconds."""

    code = "turn_already_active"


class QuestionAlreadyAnswered(AgentflowError):
    code = "question_already_answered"


class NoPendingQuestion(AgentflowError):
    code = "no_pending_question"


class IllegalTransition(AgentflowError):
    code = "illegal_transition"


class StaleOwner(AgentflowError):
    code = "stale_owner"


class StoreError(AgentflowError):
    code = "store_error"


class LimitReached(AgentflowError):
    code = "limit_reached"


class ModelError(AgentflowError):
    """What a model call failed with. `kind` decides what happens next (T16), `retry_after` is in seconds."""

    def __init__(
        self, kind: ModelErrorKind, message: str, *, retry_after: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(message, detail={"kind": kind, "status": status, "retry_after": retry_after})
        self.kind = kind
        self.retry_after = retry_after
        self.status = status

    @property
    def code(self) -> str:  # type: ignore[override]  # one code per kind, the class attribute is the family's name
        return self.kind if self.kind == "context_overflow" else f"model_error.{self.kind}"
