"""A session's name: the tries to find one, and the one update that keeps it (R7)."""

from __future__ import annotations

from collections.abc import Sequence

from agentflow import events
from agentflow.clock import Instant
from agentflow.events import LogEntry, happened
from agentflow.store.ledger.activity import used
from agentflow.store.rows.written import Row
from agentflow.store.session.session_row import NAME_TRIES
from agentflow.store.sql.transaction import Tx

_TRY = "UPDATE session SET name_tries = name_tries + 1 WHERE key = ? AND name IS NULL AND name_tries < ?"
_FIRST = "UPDATE session SET name = ?, seq = seq + 1 WHERE key = ? AND name IS NULL RETURNING seq"
_GIVE = "UPDATE session SET name = ?, seq = seq + 1 WHERE key = ? RETURNING seq"

Told = tuple[int, list[LogEntry]]
"""The number of the last entry, and the entries."""


def begin(tx: Tx, key: int) -> bool:
    """Count a try to name the session; false when it has a name by now, was tried often enough, or is gone."""
    return tx.execute(_TRY, key, NAME_TRIES) == 1


def end(tx: Tx, key: int, call: Sequence[Row], name: str | None, at: Instant) -> Told | None:
    """Write the call, and keep the name unless there is one by now; null when none was given."""
    if not used(tx, key, at):
        return None
    tx.write(key, call)
    return None if name is None else _tell(tx, key, name, at, _FIRST)


def give(tx: Tx, key: int, name: str | None, at: Instant) -> Told | None:
    """Put a person's name in place of any other, or take it away; null when the session is gone."""
    return _tell(tx, key, name, at, _GIVE) if used(tx, key, at) else None


def _tell(tx: Tx, key: int, name: str | None, at: Instant, update: str) -> Told | None:
    moved = tx.one(update, name, key)
    if moved is None:
        return None
    told = happened([events.plain(events.SESSION_NAMED, {"name": name})], at)
    tx.log(key, moved[0], None, told)
    return moved[0], told
