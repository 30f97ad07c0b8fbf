"""Sessions are deleted: the one that is named, or those that nobody used for long. There is one way to do it (R12).

Every row of a session hangs on its own, and the database cascades; keys are not used again, so a writer that comes late
finds nothing of it.
"""

from __future__ import annotations

from typing import Any

from agentflow.clock import SECOND, Instant, instant
from agentflow.errors import TurnAlreadyActive
from agentflow.store.ledger import sweep_lease
from agentflow.store.requests import Alive
from agentflow.store.sql.transaction import Tx
from agentflow.store.sweeping import Busy, DeleteUnused, ListUnused, Unused

_HAS = (
    "SELECT session.key, session.owner, session.lease_until, turn.id FROM session LEFT JOIN turn "
    "ON turn.session_key = session.key AND turn.number = session.turn WHERE session.id = ?"
)
_LAST_EVENT = "(SELECT e.at FROM event e WHERE e.session_key = s.key ORDER BY e.seq DESC LIMIT 1)"
_CONFIG = (
    "(SELECT b.body FROM turn t JOIN blob b ON b.session_key = t.session_key AND b.hash = t.config_hash "
    "WHERE t.session_key = s.key ORDER BY t.number DESC LIMIT 1)"
)
# The row knows when a turn was begun and ended, the log what a turn did whose process died.
_USED = f"""
SELECT s.key, s.id, CASE WHEN s.updated_at > coalesce({_LAST_EVENT}, 0) THEN s.updated_at ELSE {_LAST_EVENT} END,
       s.queued, s.owner, s.lease_until, turn.id
FROM session s LEFT JOIN turn ON turn.session_key = s.key AND turn.number = s.turn
"""
_UNUSED = f"""
SELECT used.*, {_CONFIG.replace("s.key", "used.key")} FROM (
    {_USED} WHERE s.agent = ? AND s.environment != 'evaluation' AND s.key > ? AND s.updated_at > 0 AND s.updated_at < ?
) used ORDER BY used.key LIMIT ?
"""


def delete(tx: Tx, session_id: str, alive: Alive) -> bool:
    """Erase the session with every row of it; false when there is none. Raises `TurnAlreadyActive`."""
    with tx.any_text():  # a damaged session can be given up
        row = tx.one(_HAS + (" FOR UPDATE OF session" if tx.is_postgres else ""), session_id)
    if row is None:
        return False
    key, owner, lease_until, turn_id = row
    owner, lease_until = owner if isinstance(owner, str) else "", lease_until if isinstance(lease_until, int) else 0
    if turn_id is not None and alive(owner, lease_until, turn_id):
        raise TurnAlreadyActive(
            f"Session {session_id!r} is running turn {turn_id}; stop it before deleting the session.",
            detail={
                "session_id": session_id,
                "turn_id": turn_id,
                "retry_after": max(lease_until - instant(), 0) / SECOND,
            },
        )
    return _erase(tx, key)


def agents(tx: Tx) -> list[str]:
    """The names of the agents that have sessions."""
    return [str(name) for (name,) in tx.all("SELECT DISTINCT agent FROM session ORDER BY agent")]


def unused(tx: Tx, asked: ListUnused) -> list[Unused]:
    """A page of the sessions that nobody used for long, those whose log is younger than their row left in."""
    found = tx.all(_UNUSED, asked.agent, asked.after_key, asked.before, asked.limit)
    return [
        Unused(key, str(session_id), used_at, _busy(queued, *held, alive=asked.alive), config)
        for key, session_id, used_at, queued, *held, config in found
    ]


def delete_unused(tx: Tx, asked: DeleteUnused) -> list[str] | None:
    """The ids of the sessions that are gone now; null, and nothing done, when somebody else has the lease."""
    if not sweep_lease.take(tx, asked.owner, asked.at, asked.lease_until):
        return None
    gone = []
    for key, before in sorted(asked.sessions.items()):
        row = tx.one(f"{_USED} WHERE s.key = ?" + (" FOR UPDATE OF s" if tx.is_postgres else ""), key)
        if row is None:
            continue
        _, session_id, used_at, queued, *held = row
        if used_at < before and _busy(queued, *held, alive=asked.alive) is None and _erase(tx, key):
            gone.append(str(session_id))
    return gone


def _busy(
    queued: int, owner: str | None, lease_until: Instant | None, turn_id: str | None, *, alive: Alive
) -> Busy | None:
    if turn_id is not None and alive(owner or "", lease_until or 0, turn_id):
        return "running"
    return "queued" if queued else None


def _erase(tx: Tx, key: Any) -> bool:
    tx.erased, tx.told[key] = True, 0
    return tx.execute("DELETE FROM session WHERE key = ?", key) == 1
