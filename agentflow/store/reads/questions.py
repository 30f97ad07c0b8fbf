"""Pauses that wait for an answer or a result, each at the place where its turn paused (T18, C27, C38)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentflow.clock import Instant
from agentflow.conversation.pauses.awaited import QUESTIONS, Awaited, AwaitedCall
from agentflow.conversation.questions import read_questions
from agentflow.conversation.tree import Place
from agentflow.result import PendingKind
from agentflow.store.records import PendingPause
from agentflow.store.sql.transaction import Tx
from agentflow.text import stored_json
from agentflow.tools.arguments import checked_arguments

_PENDING = (
    "SELECT question.execution, question.call_id, question.turn, turn.id, turn.after_seq, question.questions, "
    "question.branch, question.depth, question.expires_at, question.kind FROM question JOIN turn "
    "ON turn.session_key = question.session_key AND turn.number = question.turn "
    "WHERE question.session_key = ? AND question.state = 'pending'"
)


_OPEN_CALLS = (
    "SELECT c.id, c.name, m.calls FROM tool_call c JOIN message m ON m.session_key = c.session_key "
    "AND m.id = c.reply_id WHERE c.session_key = ? AND c.execution = ? AND c.status IN ('planned', 'started')"
)


@dataclass(frozen=True, slots=True)
class Pending:
    """`asked` is the JSON text of its questions, or of the calls whose results it waits for, `place` the head at which
    the turn paused.
    """

    execution: int
    call_id: str
    turn: int
    turn_id: str
    after_seq: int
    asked: str
    place: Place
    expires_at: Instant | None
    kind: PendingKind


def pending_questions(tx: Tx, session_key: int) -> list[Pending]:
    """Every open pause of the session, on whichever branch."""
    return [
        Pending(execution, call_id, turn, turn_id, after_seq, asked, Place(branch, depth), expires_at, kind)
        for execution, call_id, turn, turn_id, after_seq, asked, branch, depth, expires_at, kind in tx.all(
            _PENDING, session_key
        )
    ]


def awaited(tx: Tx, key: int, kind: PendingKind, execution: int, call_id: str, asked: str) -> Awaited:
    """What a pause waits for: its questions, or those of its calls that have no result yet."""
    if kind == QUESTIONS:
        return Awaited(kind, call_id, questions=read_questions(stored_json(asked)))
    found = {id_: (name, calls) for id_, name, calls in tx.all(_OPEN_CALLS, key, execution)}
    left = [each for each in stored_json(asked) if each["tool_call_id"] in found]
    return Awaited(kind, call_id, calls=tuple(asked_call(each, *found[each["tool_call_id"]]) for each in left))


def pauses_by_turn(tx: Tx, key: int) -> dict[int, PendingPause]:
    """What each paused turn of the session waits for."""
    return {
        each.turn: PendingPause(
            each.turn_id,
            awaited(tx, key, each.kind, each.execution, each.call_id, each.asked),
            each.expires_at,
        )
        for each in pending_questions(tx, key)
    }


def asked_call(asked: Mapping[str, Any], name: str | None, calls: str | None) -> AwaitedCall:
    """A call as a pause's row names it; the arguments stand in the reply's `calls`, until they are erased with it."""
    id_ = asked["tool_call_id"]
    if "arguments" in asked:
        return AwaitedCall(id_, name, asked["arguments"], changed=True)
    given = {call: arguments for call, _, arguments in stored_json(calls)} if calls is not None else {}
    return AwaitedCall(id_, name, checked_arguments(given[id_]) if id_ in given else None)
