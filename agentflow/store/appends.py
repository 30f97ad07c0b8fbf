"""The writes of a running turn as jobs: append, end, renew, and erasing a session.

Each write of a turn moves the session's row first, by a conditional update that names key, epoch and turn: it is
the fence (C35), it locks the session, and it returns what the writer must learn - the next sequence number, and
whether somebody asked to stop.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentflow.clock import SECOND, Instant, instant
from agentflow.errors import StaleOwner, TurnAlreadyActive
from agentflow.store.claim import start_first
from agentflow.store.protocol import Alive, Append, Appended, End
from agentflow.store.rows import dumps
from agentflow.store.transaction import Tx
from agentflow.store.work import Work

_FENCE = "WHERE key = ? AND epoch = ? AND turn = ? RETURNING seq, stop_turn"
_ADVANCE = f"UPDATE session SET seq = seq + ?, branch = ?, depth = ?, executions = ?, branches = ? {_FENCE}"
_RELEASE = (
    "UPDATE session SET seq = seq + ?, branch = ?, depth = ?, executions = ?, branches = ?, turn = NULL, "
    "owner = NULL, lease_until = NULL, stop_turn = NULL, updated_at = ?, ended_at = ?, outcome = ? " + _FENCE
)


def append(tx: Tx, write: Append) -> Appended:
    """One commit of a running turn. Raises `StaleOwner`; then nothing is written."""
    return _advance(tx, write, _ADVANCE)


def end(tx: Tx, write: End) -> Appended:
    """The last commit of a step and the release of the session (T10). Raises `StaleOwner`."""
    last = write.append
    appended = _advance(tx, last, _RELEASE, last.at, last.at, write.state)
    if write.erase:
        erase(tx, last.session_key, last.turn)
    if write.owning is None:
        return appended
    work = Work.by_key(tx, last.session_key)
    started = start_first(tx, work, write.owning) if work is not None and work.queued else None
    return replace(appended, started=started)


def _advance(tx: Tx, write: Append, update: str, *released: Any) -> Appended:
    branch, depth = write.head if write.head is not None else (None, None)
    moved = tx.one(
        update, len(write.log), branch, depth, write.executions, write.branches, *released,
        write.session_key, write.epoch, write.turn,
    )  # fmt: skip
    if moved is None:
        raise StaleOwner(
            f"Turn {write.turn} lost its session: another process has claimed it, or it was deleted. "
            "Nothing of this write was recorded.",
            detail={"session_key": write.session_key, "epoch": write.epoch, "turn": write.turn},
        )
    seq, stop_turn = moved
    tx.write(write.session_key, write.rows)
    tx.log(write.session_key, seq, write.turn, write.at, write.log)
    return Appended(seq, stop_turn)


def renew(tx: Tx, keys: Sequence[int], owner: str, lease_until: Instant) -> None:
    """Extend the owner's leases on these sessions in one statement (T27)."""
    marks = ", ".join("?" * len(keys))
    tx.execute(f"UPDATE session SET lease_until = ? WHERE owner = ? AND key IN ({marks})", lease_until, owner, *keys)


def delete(tx: Tx, session_id: str, alive: Alive) -> bool:
    """Erase the session; the database cascades to every row of it (R12). Raises `TurnAlreadyActive`."""
    row = tx.one(
        "SELECT session.key, session.owner, session.lease_until, turn.id FROM session LEFT JOIN turn "
        "ON turn.session_key = session.key AND turn.number = session.turn WHERE session.id = ?"
        + (" FOR UPDATE OF session" if tx.is_postgres else ""),
        session_id,
    )
    if row is None:
        return False
    key, owner, lease_until, turn_id = row
    if turn_id is not None and alive(owner or "", lease_until or 0, turn_id):
        raise TurnAlreadyActive(
            f"Session {session_id!r} is running turn {turn_id}; stop it before deleting the session.",
            detail={
                "session_id": session_id,
                "turn_id": turn_id,
                "retry_after": max((lease_until or 0) - instant(), 0) / SECOND,
            },
        )
    return tx.execute("DELETE FROM session WHERE key = ?", key) == 1


# What `observability: false` takes away when a turn ends (R5), in this order. Steps keep their order and times, the
# turn its id, state and error, questions stay.
_OF_THE_TURN = ("message", "execution", "llm_call", "tool_call", "todo_list")
_BLANKED = (
    "UPDATE turn SET request = NULL, input = NULL, output = NULL, cache_read = NULL, cache_write = NULL, cost = NULL "
    "WHERE session_key = ? AND number = ?",
    "UPDATE step SET user_message_id = NULL, answer_id = NULL, answer_chars = NULL, first_token_ms = NULL "
    "WHERE session_key = ? AND turn = ?",
)
_UNUSED = (
    "DELETE FROM branch WHERE session_key = ? AND NOT EXISTS (SELECT 1 FROM message "
    "WHERE message.session_key = branch.session_key AND message.branch = branch.number)",
    "DELETE FROM blob WHERE session_key = ? "
    "AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.session_key = blob.session_key AND config_hash = hash) "
    "AND NOT EXISTS (SELECT 1 FROM execution WHERE execution.session_key = blob.session_key AND config_hash = hash) "
    "AND NOT EXISTS (SELECT 1 FROM llm_call WHERE llm_call.session_key = blob.session_key "
    "AND hash IN (prompt_hash, tools_hash))",
)
_EVENT_KEYS_KEPT = frozenset(
    {
        "agent_id", "call_id", "code", "config_hash", "execution", "head_id", "id", "iteration", "model", "order",
        "pending", "purpose", "state", "tool_call_id", "turn_id",
    }
)  # fmt: skip


def erase(tx: Tx, key: int, turn: int) -> None:
    """Erase what a turn said and used, its texts in the log included; the path is empty afterwards."""
    for table in _OF_THE_TURN:
        tx.execute(f"DELETE FROM {table} WHERE session_key = ? AND turn = ?", key, turn)
    for text in _BLANKED:
        tx.execute(text, key, turn)
    for text in _UNUSED:
        tx.execute(text, key)
    tx.execute("UPDATE session SET branch = NULL, depth = NULL WHERE key = ?", key)
    logged = tx.all("SELECT seq, data FROM event WHERE session_key = ? AND turn = ? AND data IS NOT NULL", key, turn)
    for seq, data in logged:
        tx.execute("UPDATE event SET data = ? WHERE session_key = ? AND seq = ?", _without_texts(data), key, seq)


def _without_texts(data: str) -> str:
    return dumps({name: value if name in _EVENT_KEYS_KEPT else None for name, value in json.loads(data).items()})
