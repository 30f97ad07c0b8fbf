"""What a session refuses, and in which words (C18, C29)."""

from __future__ import annotations

from typing import NoReturn

from agentflow.clock import SECOND, Instant
from agentflow.errors import (
    AgentflowError,
    InvalidInput,
    NoPendingQuestion,
    QuestionAlreadyAnswered,
    QuestionExpired,
    TurnAlreadyActive,
)
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx

BUSY = "A request is already being processed for this session"
ANSWERED = "The pending question has already been answered for this session"

_STOPPED = (NoPendingQuestion, "Question {call_id!r} waits for no answer any more: its turn was stopped.")
# state of a question -> what its answer is refused with; version 0.1.0 called the last two `closed`
_CLOSED: dict[str, tuple[type[AgentflowError], str]] = {
    "answered": (QuestionAlreadyAnswered, ANSWERED),
    "expired": (QuestionExpired, "Nobody answered question {call_id!r} in time; its turn has ended."),
    "stopped": _STOPPED,
    "closed": _STOPPED,
}


def refuse_busy(session: SessionRow, session_id: str, turn_id: str, at: Instant) -> NoReturn:
    wait = max((session.lease_until or 0) - at, 0) / SECOND
    raise TurnAlreadyActive(
        f"{BUSY}: turn {turn_id} of session {session_id!r} is running. Wait for it to end, or stop it.",
        detail={"session_id": session_id, "turn_id": turn_id, "retry_after": round(wait, 3)},
    )


def refuse_closed(tx: Tx, key: int, call_id: str, at: Instant) -> str | None:
    """Refuse the answer to a question that waits for none any more, by what became of it (C29); what it is else."""
    state = _question(tx, key, call_id, at)
    if state in _CLOSED:
        error, sentence = _CLOSED[state]
        raise error(sentence.format(call_id=call_id), detail={"tool_call_id": call_id})
    return state


def refuse_answer(tx: Tx, key: int, call_id: str, at: Instant) -> NoReturn:
    """Refuse an answer to what the active path does not wait for (C29)."""
    detail = {"tool_call_id": call_id}
    if refuse_closed(tx, key, call_id, at) is None:
        raise NoPendingQuestion(f"No question {call_id!r} was asked in this session.", detail=detail)
    raise InvalidInput(
        f"Question {call_id!r} waits on another branch; `agentflow sessions checkout` goes there.", detail=detail
    )


def _question(tx: Tx, key: int, call_id: str, at: Instant) -> str | None:
    """The state of a question, `expired` from the moment on at which its time is over (T21)."""
    newest = (
        "SELECT state, expires_at FROM question WHERE session_key = ? AND call_id = ? AND kind = 'questions' "
        "ORDER BY turn DESC LIMIT 1"
    )
    row = tx.one(newest, key, call_id)
    if row is None:
        return None
    state, expires_at = row
    return "expired" if state == "pending" and expires_at is not None and expires_at <= at else str(state)
