"""What a session refuses, and in which words (C18, C29)."""

from __future__ import annotations

from typing import NoReturn

from agentflow.clock import SECOND, Instant
from agentflow.errors import InvalidInput, NoPendingQuestion, QuestionAlreadyAnswered, TurnAlreadyActive
from agentflow.store.session.session_row import SessionRow
from agentflow.store.sql.transaction import Tx

BUSY = "A request is already being processed for this session"
ANSWERED = "The pending question has already been answered for this session"


def refuse_busy(session: SessionRow, session_id: str, turn_id: str, at: Instant) -> NoReturn:
    wait = max((session.lease_until or 0) - at, 0) / SECOND
    raise TurnAlreadyActive(
        f"{BUSY}: turn {turn_id} of session {session_id!r} is running. Wait for it to end, or stop it.",
        detail={"session_id": session_id, "turn_id": turn_id, "retry_after": round(wait, 3)},
    )


def refuse_answered(tx: Tx, key: int, call_id: str) -> None:
    """Refuse the answer to a question that has been answered or closed: the loser of a race (C29)."""
    if _question(tx, key, call_id) not in (None, "pending"):
        raise QuestionAlreadyAnswered(ANSWERED, detail={"tool_call_id": call_id})


def refuse_answer(tx: Tx, key: int, call_id: str) -> NoReturn:
    """Refuse an answer to what the active path does not wait for (C29)."""
    refuse_answered(tx, key, call_id)
    detail = {"tool_call_id": call_id}
    if _question(tx, key, call_id) is None:
        raise NoPendingQuestion(f"No question {call_id!r} was asked in this session.", detail=detail)
    raise InvalidInput(
        f"Question {call_id!r} waits on another branch; `agentflow sessions checkout` goes there.", detail=detail
    )


def _question(tx: Tx, key: int, call_id: str) -> str | None:
    newest = "SELECT state FROM question WHERE session_key = ? AND call_id = ? ORDER BY turn DESC LIMIT 1"
    row = tx.one(newest, key, call_id)
    return None if row is None else str(row[0])
