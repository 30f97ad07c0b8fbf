"""What a session refuses, and in which words (C18, C29)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NoReturn

from agentflow.clock import SECOND, Instant
from agentflow.errors import (
    AgentflowError,
    HeadMoved,
    InvalidInput,
    NoPendingQuestion,
    QuestionAlreadyAnswered,
    QuestionExpired,
    RoleNotAllowed,
    TurnAlreadyActive,
)
from agentflow.message import Message
from agentflow.store.reads.known_nodes import KnownRows
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


def refuse_moved(tx: Tx, session: SessionRow, session_id: str, if_head: str | None) -> None:
    """Refuse what was asked for another head than this; null asks for none in particular."""
    if if_head is None:
        return
    at = "SELECT id FROM message WHERE session_key = ? AND branch = ? AND depth = ?"
    row = tx.one(at, session.key, session.branch, session.depth)
    head_id = "" if row is None else str(row[0])
    if head_id != if_head:
        raise HeadMoved(
            f"Session {session_id!r} has moved on: its path ends in {head_id!r}, not in {if_head!r}. Read it again.",
            detail={"session_id": session_id, "head_id": head_id},
        )


def refuse_roles(tx: Tx, session: SessionRow, messages: Sequence[Message], roles: Collection[str] | None) -> None:
    """Refuse messages that are new here and of another role than these (Z6); what is known stays what it is."""
    others = [] if roles is None else [message for message in messages if message.role not in roles]
    known = KnownRows(tx, session.key, {}).nodes({message.id for message in others if message.id})
    for message in others:
        if message.id not in known:
            raise RoleNotAllowed(
                f"A new message of role {message.role} is not allowed here; only {', '.join(roles or ())}.",
                detail={"role": message.role},
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
