"""When a session was last used: every write that is not a turn's own moves it too (R12)."""

from __future__ import annotations

from agentflow.clock import Instant
from agentflow.store.sql.transaction import Tx

_USED = "UPDATE session SET updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at END WHERE key = ?"


def used(tx: Tx, key: int, at: Instant) -> bool:
    """Mark the session as used and lock it; false when it is not there any more, so that nothing brings it back."""
    return tx.execute(_USED, at, at, key) == 1
