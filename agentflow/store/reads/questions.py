"""Questions that wait for an answer, each at the place where its turn paused (T18, C27)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agentflow.clock import Instant
from agentflow.conversation.questions import Question, read_questions
from agentflow.conversation.tree import Place
from agentflow.store.sql.transaction import Tx

_PENDING = (
    "SELECT question.execution, question.call_id, question.turn, turn.id, turn.after_seq, question.questions, "
    "question.branch, question.depth, question.expires_at FROM question JOIN turn "
    "ON turn.session_key = question.session_key AND turn.number = question.turn "
    "WHERE question.session_key = ? AND question.state = 'pending'"
)


@dataclass(frozen=True, slots=True)
class Pending:
    """`questions` is their JSON text, `place` the head at which the turn paused."""

    execution: int
    call_id: str
    turn: int
    turn_id: str
    after_seq: int
    questions: str
    place: Place
    expires_at: Instant | None

    def asked(self) -> tuple[Question, ...]:
        return read_questions(json.loads(self.questions))


def pending_questions(tx: Tx, session_key: int) -> list[Pending]:
    """Every open question of the session, on whichever branch."""
    return [
        Pending(execution, call_id, turn, turn_id, after_seq, questions, Place(branch, depth), expires_at)
        for execution, call_id, turn, turn_id, after_seq, questions, branch, depth, expires_at in tx.all(
            _PENDING, session_key
        )
    ]
