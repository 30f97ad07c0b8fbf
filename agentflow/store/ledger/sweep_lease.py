"""Who sweeps: one at a time over all processes, by a lease (R12)."""

from __future__ import annotations

from agentflow.clock import Instant
from agentflow.store.sql.transaction import Tx

_RETENTION = "retention"
_TAKE = (
    "INSERT INTO sweep (name, owner, lease_until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "owner = excluded.owner, lease_until = excluded.lease_until WHERE sweep.owner = excluded.owner "
    "OR sweep.lease_until <= ?"
)


def take(tx: Tx, owner: str, at: Instant, until: Instant) -> bool:
    """Take the lease, or keep it longer; false while somebody else has it."""
    return tx.execute(_TAKE, _RETENTION, owner, until, at) == 1


def give_back(tx: Tx, owner: str) -> None:
    tx.execute("DELETE FROM sweep WHERE name = ? AND owner = ?", _RETENTION, owner)
