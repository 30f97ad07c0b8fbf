"""Reading sessions and steps. Nothing here writes, and nothing reads a message but the answers (T29)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from agentflow.conversation.tree import Place
from agentflow.events import DONE, LLM_CALL_COMPLETED
from agentflow.message import TurnState, Usage
from agentflow.store.reads.messages import ANSWER, ANSWER_MESSAGE, answer_of
from agentflow.store.reads.questions import awaited, pauses_by_turn
from agentflow.store.reads.turns import resolve
from agentflow.store.records import Listed, PendingPause, RunRecord, SessionRecord, StepRecord
from agentflow.store.requests import ListSessions
from agentflow.store.sql.transaction import Tx
from agentflow.text import stored_json

_SESSION = """
SELECT s.key, s.id, s.agent, s.name, s.environment, s.created_at, s.updated_at, s.branch, s.depth, s.seq, s.epoch,
       turn.id, s.owner, s.lease_until, s.turns, s.steps, s.ended_at, s.outcome, s.queued, s.belongs_to,
       h.id,
       paused.id, q.expires_at, q.kind, q.execution, q.call_id, q.questions
FROM session s LEFT JOIN message h ON h.session_key = s.key AND h.branch = s.branch AND h.depth = s.depth
LEFT JOIN turn ON turn.session_key = s.key AND turn.number = s.turn
LEFT JOIN question q ON q.session_key = s.key AND q.state = 'pending' AND q.branch = s.branch AND q.depth = s.depth
LEFT JOIN turn paused ON paused.session_key = s.key AND paused.number = q.turn
"""
# When each session was last used as the list began: by its log, if it is used since.
_LISTED = """
WITH listed AS (
    SELECT s.key AS key, CASE WHEN s.updated_at <= ? THEN s.updated_at ELSE coalesce(
        (SELECT max(e.at) FROM event e WHERE e.session_key = s.key AND e.at <= ?), s.created_at
    ) END AS used
    FROM session s WHERE s.created_at <= ? AND (CAST(? AS TEXT) IS NULL OR s.agent = ?)
    AND (CAST(? AS TEXT) IS NULL OR lower(s.name) LIKE ? ESCAPE '!')
    AND (CAST(? AS TEXT) IS NULL OR s.belongs_to = ?)
)
SELECT key, used, count(*) OVER () FROM listed WHERE used < ? OR (used = ? AND key < ?)
ORDER BY used DESC, key DESC LIMIT ?
"""
_LIKE = re.compile("[!%_]")
_FIRST = (2**63 - 1, 2**63 - 1)

_STEP = f"""
SELECT step.number, turn.number, turn.id, turn.state, step.state, step.opened_at, step.completed_at,
       step.first_token_ms, step.user_message_id, {ANSWER}, turn.input, turn.output,
       turn.cache_read, turn.cache_write, turn.cost, turn.limit_name, turn.error, turn.data, turn.after_seq
FROM step JOIN turn ON turn.session_key = step.session_key AND turn.number = step.turn
{ANSWER_MESSAGE}
WHERE step.session_key = ?
"""
_LAST_REPLY = """
SELECT c.finish_reason FROM event e JOIN llm_call c ON c.session_key = e.session_key AND c.id = e.ref
WHERE e.session_key = ? AND e.seq > ? AND e.turn = ? AND e.type = ? AND c.step = ? AND c.purpose = 'main'
ORDER BY e.seq DESC LIMIT 1
"""


def session(tx: Tx, session_id: str) -> SessionRecord | None:
    row = tx.one(f"{_SESSION} WHERE s.id = ?", session_id)
    return None if row is None else _session(tx, row)


def sessions(tx: Tx, asked: ListSessions) -> Listed:
    """A page of the sessions, the most recently used first (F30)."""
    moment = asked.moment
    if moment is None:
        moment = tx.one("SELECT coalesce(max(updated_at), 0) FROM session")[0]
    used, key = asked.after or _FIRST
    pattern = None if asked.search is None else "%" + _LIKE.sub(r"!\g<0>", asked.search.lower()) + "%"
    page = tx.all(
        _LISTED, *(moment,) * 3, *(asked.agent,) * 2, *(pattern,) * 2, *(asked.user,) * 2, used, used, key, asked.limit
    )
    marks = ", ".join("?" * len(page))
    found = {} if not page else {row[0]: row for row in tx.all(f"{_SESSION} WHERE s.key IN ({marks})", *_keys(page))}
    more = page[0][2] - len(page) if page else 0
    following = replace(asked, moment=moment, after=(page[-1][1], page[-1][0])) if more else None
    return Listed([_session(tx, found[key]) for key in _keys(page)], more, following)


def _keys(page: Sequence[tuple[Any, ...]]) -> list[int]:
    return [row[0] for row in page]


def left_queues(tx: Tx) -> list[tuple[str, str]]:
    """Session id and agent of every queue, the one that waits longest first."""
    found = tx.all("SELECT id, agent FROM session WHERE queued > 0 ORDER BY updated_at, key")
    return [(str(session_id), str(agent)) for session_id, agent in found]


def stops(tx: Tx, keys: Sequence[int]) -> list[tuple[int, str]]:
    """`(session key, turn id)` of the turns somebody asked to stop, among those that run in these sessions (T23)."""
    marks = ", ".join("?" * len(keys))
    asked = tx.all(f"SELECT key, stop_turn FROM session WHERE key IN ({marks}) AND stop_turn IS NOT NULL", *keys)
    return [(key, turn_id) for key, turn_id in asked]


def step(tx: Tx, key: int, name: str) -> StepRecord | None:
    """The last step of the turn of this name, with the turn's last `done` and how its last reply ended."""
    ref = resolve(tx, key, name)
    if ref is None or ref.number is None:
        return None
    row = tx.one(f"{_STEP} AND step.turn = ? ORDER BY step.number DESC LIMIT 1", key, ref.number)
    if row is None:
        return None
    (done_seq,) = tx.one(
        "SELECT max(seq) FROM event WHERE session_key = ? AND seq > ? AND turn = ? AND type = ?",
        key, row[-1], row[1], DONE,
    )  # fmt: skip
    paused = row[3] == TurnState.PAUSED_ASK_USER
    found = _step(row, pauses_by_turn(tx, key).get(row[1]) if paused else None, done_seq)
    last = tx.one(_LAST_REPLY, key, row[-1], row[1], LLM_CALL_COMPLETED, found.number)
    return replace(found, is_cut=last is not None and last[0] == "length")


def runs(tx: Tx, key: int, turn: int) -> list[RunRecord]:
    """The turn's executions in the order they began."""
    found = tx.all(
        "SELECT number, agent, status, parent, parent_call_id FROM execution WHERE session_key = ? AND turn = ? "
        "ORDER BY number",
        key,
        turn,
    )
    return [RunRecord(*row) for row in found]


def steps(tx: Tx, key: int) -> list[StepRecord]:
    """Every step in order."""
    found = tx.all(f"{_STEP} ORDER BY step.number", key)
    waiting = any(row[3] == TurnState.PAUSED_ASK_USER for row in found)
    pauses = pauses_by_turn(tx, key) if waiting else {}
    last = {row[1]: row[0] for row in found}
    return [_step(row, pauses.get(row[1]) if last[row[1]] == row[0] else None) for row in found]


def usage_of(tokens: Sequence[Any], cost: str | None) -> Usage:
    """A usage from its four columns and the cost's text."""
    return Usage(*(*tokens, None if cost is None else Decimal(cost)))


def loaded(text: str | None) -> Any:
    """The value of a JSON column."""
    return None if text is None else stored_json(text)


def _session(tx: Tx, row: Any) -> SessionRecord:
    branch, depth = row[7:9]
    turn_id, expires_at, kind, *asked = row[21:]
    pending = None if kind is None else PendingPause(turn_id, awaited(tx, row[0], kind, *asked), expires_at)
    return SessionRecord(*(*row[:7], None if branch is None else Place(branch, depth), *row[9:21], pending))


def _step(row: Any, pause: PendingPause | None = None, done_seq: int | None = None) -> StepRecord:
    *answered, input_, output, cache_read, cache_write, cost, limit, error, data, _ = row[9:]
    answer, answer_id = answer_of(*answered)
    usage = usage_of((input_, output, cache_read, cache_write), cost)
    found = StepRecord(*(*row[:9], answer, usage, limit, loaded(error), answer_id, done_seq, pause))
    return found if data is None else replace(found, data=loaded(data))
