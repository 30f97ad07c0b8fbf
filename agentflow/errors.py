"""Every error agentflow raises on purpose, or tells of a turn that failed.

AgentflowError                    code, sentence, detail
    InvalidConfig                 invalid_config          agent.yaml or agentflow.yaml cannot be used
    InvalidInput                  invalid_input           a request that is refused; nothing was written
        RoleNotAllowed            role_not_allowed        a new message of a role that the request may not bring in
    SessionAgentMismatch          session_agent_mismatch  a session belongs to one agent
    SessionTaken                  session_taken           an import would change a session that is there (R12)
    NotFound                      not_found               what is named is not there, or not there any more
        AgentNotFound             agent_not_found
        SessionNotFound           session_not_found
        MessageNotFound           message_not_found
        TurnNotFound              turn_not_found
        StepNotFound              step_not_found
        CallNotFound              call_not_found
        SnapshotNotFound          snapshot_not_found      a session has no such snapshot, or a case no such data (R8)
        RequestNotKept            request_not_kept        the exact request of a model call cannot be made again
    TurnAlreadyActive             turn_already_active     one request at a time (C18)
    HeadMoved                     head_moved              the path ends elsewhere than the request was made for
    NoPendingQuestion             no_pending_question
    QuestionAlreadyAnswered       question_already_answered
    QuestionExpired               question_expired        also the error of the turn that asked (T21)
    CallAlreadyAnswered           call_already_answered   an open call has another result already (C39)
    ResultTimeout                 result_timeout          the turn goes on, only the waiting ended
    StaleOwner                    stale_owner             another process owns the session now (C35)
    StoreError                    store_error             the database refused or is away
    LimitReached                  limit_reached           errors from here on are those a turn fails with
    ModelError                    model_error.<kind>      what the provider said, classified; context_overflow (X16)
    WorkerFailed                  worker_failed           the worker could not be asked, or its answer not be done
    HookError                     hook_failed
    Blocked                       blocked                 a step_start hook refused the request
    InternalError                 internal_error          a fault of agentflow itself; the log has the traceback
    IllegalTransition             illegal_transition      a trigger the machine's table does not allow (T2)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from agentflow.secrets.redacting import redact_json, told

ModelErrorKind = Literal[
    "rate_limited",
    "timeout",
    "unavailable",
    "auth",
    "bad_request",
    "context_overflow",
    "cut",
    "bad_reply",
    "output_limit",
    "content_filter",
    "script",
]


class AgentflowError(Exception):
    """Base of all: `code` is stable, `str(error)` is a sentence a person can act on, `detail` is JSON.

    Neither says a secret, whatever it was made of (Z4).
    """

    code: str = "agentflow_error"

    def __init__(self, message: str, *, detail: Mapping[str, Any] | None = None) -> None:
        self.message = told(message)
        super().__init__(self.message)
        self.detail: dict[str, Any] = redact_json(dict(detail or {}), told)

    def as_dict(self) -> dict[str, Any]:
        """`{code, message, detail}`, the shape of `TurnResult.error` and of the `error` event."""
        return {"code": self.code, "message": self.message, "detail": self.detail}


class InvalidConfig(AgentflowError):
    code = "invalid_config"


class InvalidInput(AgentflowError):
    """What was given is malformed, or does not fit here; `detail` has the `field` where there is one."""

    code = "invalid_input"


class RoleNotAllowed(InvalidInput):
    """A message is new and of a role that the request may not bring in (Z6); `detail` has `role`."""

    code = "role_not_allowed"


class SessionAgentMismatch(AgentflowError):
    code = "session_agent_mismatch"


class SessionTaken(AgentflowError):
    """There is a session with the id of one that is to be brought in; `detail` has `session_id`."""

    code = "session_taken"


class NotFound(AgentflowError):
    """What is named well and is not there; each kind of thing has a class below."""

    code = "not_found"


class AgentNotFound(NotFound):
    code = "agent_not_found"


class SessionNotFound(NotFound):
    code = "session_not_found"


def no_session(session_id: str) -> SessionNotFound:
    """The error for a session that is not in this database."""
    return SessionNotFound(
        f"There is no session {session_id!r} in this database: a session begins with its first input, and its id is "
        "case-sensitive.",
        detail={"session_id": session_id},
    )


class MessageNotFound(NotFound):
    code = "message_not_found"


class TurnNotFound(NotFound):
    code = "turn_not_found"


class StepNotFound(NotFound):
    code = "step_not_found"


class CallNotFound(NotFound):
    code = "call_not_found"


class SnapshotNotFound(NotFound):
    code = "snapshot_not_found"


class RequestNotKept(NotFound):
    code = "request_not_kept"


class TurnAlreadyActive(AgentflowError):
    """The session runs a turn (C18); `detail` has `turn_id` and, for an owner elsewhere, `retry_after` seconds."""

    code = "turn_already_active"


class HeadMoved(AgentflowError):
    """The request was for another head than the session has; `detail` has `session_id` and `head_id`."""

    code = "head_moved"


class NoPendingQuestion(AgentflowError):
    code = "no_pending_question"


class QuestionAlreadyAnswered(AgentflowError):
    code = "question_already_answered"


class QuestionExpired(AgentflowError):
    code = "question_expired"


class CallAlreadyAnswered(AgentflowError):
    code = "call_already_answered"


class ResultTimeout(AgentflowError):
    """The turn had not ended in the time given; it goes on, and its result can be asked for again."""

    code = "result_timeout"


class StaleOwner(AgentflowError):
    code = "stale_owner"


class StoreError(AgentflowError):
    code = "store_error"


class LimitReached(AgentflowError):
    code = "limit_reached"


class ModelError(AgentflowError):
    """What a model call failed with. `kind` decides what happens next (T16), `retry_after` is in seconds.

    `code` is `model_error.<kind>`, for a request that was too long `context_overflow`.
    """

    code = "model_error"

    def __init__(
        self, kind: ModelErrorKind, message: str, *, retry_after: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(message, detail={"kind": kind, "status": status, "retry_after": retry_after})
        self.kind = kind
        self.retry_after = retry_after
        self.status = status
        self.code = kind if kind == "context_overflow" else f"model_error.{kind}"


class WorkerFailed(AgentflowError):
    """The worker could not be asked, or answered what cannot be done."""

    code = "worker_failed"


class HookError(AgentflowError):
    """A hook failed the turn."""

    code = "hook_failed"


class Blocked(AgentflowError):
    """A `step_start` hook refused the request; the sentence is the hook's."""

    code = "blocked"


class InternalError(AgentflowError):
    """A fault of agentflow itself; the log has the traceback."""

    code = "internal_error"


class IllegalTransition(AgentflowError):
    code = "illegal_transition"
