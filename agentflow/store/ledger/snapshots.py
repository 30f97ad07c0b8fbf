"""Whether a session is snapshotted, and the data that its flows loaded (R8)."""

from __future__ import annotations

from agentflow.store.records import SnapshotRecord
from agentflow.store.sql.transaction import Tx

_LIST = (
    "SELECT snapshot.step, turn.id, snapshot.entity, snapshot.entity_key, snapshot.hash, snapshot.chars, "
    "snapshot.problem, snapshot.at FROM snapshot JOIN turn "
    "ON turn.session_key = snapshot.session_key AND turn.number = snapshot.turn "
    "WHERE snapshot.session_key = ? ORDER BY snapshot.step, snapshot.number"
)


def decision(tx: Tx, key: int) -> tuple[bool, str] | None:
    """What was decided for the session, and why; null when nothing was."""
    row = tx.one("SELECT snapshotted, snapshot_reason FROM session WHERE key = ?", key)
    return None if row is None or row[0] is None else (bool(row[0]), row[1])


def taken(tx: Tx, key: int) -> list[SnapshotRecord]:
    """What was loaded in the session, in order."""
    return [SnapshotRecord(*row) for row in tx.all(_LIST, key)]


def body(tx: Tx, key: int, hash_: str) -> bytes | None:
    """The packed data of that hash."""
    row = tx.one("SELECT body FROM snapshot_data WHERE session_key = ? AND hash = ?", key, hash_)
    return None if row is None else bytes(row[0])
