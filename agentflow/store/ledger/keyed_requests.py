"""Requests that came with a key of their own, and what they were answered (S7)."""

from __future__ import annotations

from agentflow.clock import Instant
from agentflow.store.outcomes import KeyedRequest
from agentflow.store.requests import Alive
from agentflow.store.sql.transaction import Tx


def begin(
    tx: Tx, name: str, fingerprint: str, owner: str, at: Instant, until: Instant, oldest: Instant, alive: Alive
) -> KeyedRequest | None:
    """Have the request, null, or what there is of it. One whose process is gone is begun anew."""
    made = tx.execute(
        "INSERT INTO keyed_request (name, fingerprint, owner, lease_until, at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (name) DO NOTHING",
        name, fingerprint, owner, until, at,
    )  # fmt: skip
    if made:
        return None
    locked = " FOR UPDATE" if tx.is_postgres else ""
    had, answer, had_by, lease_until, begun_at = tx.one(
        f"SELECT fingerprint, answer, owner, lease_until, at FROM keyed_request WHERE name = ?{locked}", name
    )
    is_over = begun_at < oldest or (answer is None and not alive(had_by, lease_until, name))
    if not is_over:
        return KeyedRequest(had, answer)
    tx.execute(
        "UPDATE keyed_request SET fingerprint = ?, owner = ?, lease_until = ?, at = ?, answer = NULL WHERE name = ?",
        fingerprint, owner, until, at, name,
    )  # fmt: skip
    return None


def end(tx: Tx, name: str, owner: str, answer: str | None) -> None:
    """Keep the answer of a request that this process has, or forget it with null."""
    if answer is None:
        tx.execute("DELETE FROM keyed_request WHERE name = ? AND owner = ? AND answer IS NULL", name, owner)
    else:
        tx.execute("UPDATE keyed_request SET answer = ? WHERE name = ? AND owner = ?", answer, name, owner)


def forget(tx: Tx, before: Instant) -> None:
    tx.execute("DELETE FROM keyed_request WHERE at < ?", before)
