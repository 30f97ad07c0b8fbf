"""What a person thought of a step (R11)."""

from __future__ import annotations

from agentflow.clock import Instant
from agentflow.store.ledger.activity import used
from agentflow.store.sql.transaction import Tx

_REPLACE = (
    "INSERT INTO feedback (session_key, step, rating, comment, at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (session_key, step) DO UPDATE SET rating = excluded.rating, comment = excluded.comment, "
    "at = excluded.at"
)


def rate(tx: Tx, key: int, step: int, rating: str, comment: str | None, at: Instant) -> bool:
    """Keep the rating of a step in place of an earlier one; false, and nothing written, when there is no such step."""
    if not used(tx, key, at) or tx.one("SELECT 1 FROM step WHERE session_key = ? AND number = ?", key, step) is None:
        return False
    tx.execute(_REPLACE, key, step, rating, comment, at)
    return True
