"""The notes of a session's memory (R10)."""

from __future__ import annotations

from typing import Any

from agentflow.store.sql.transaction import Tx

_NOTES = "SELECT topic, content, at FROM agent_memory WHERE session_key = ? AND step < ?"
_NEWEST = " ORDER BY step DESC, number DESC LIMIT ? OFFSET ?"


def notes(tx: Tx, key: int, before_step: int, topic: str | None, limit: int, skip: int) -> list[tuple[Any, ...]]:
    """`(topic, content, at)` of the steps before that one, the newest first."""
    if topic is None:
        return tx.all(_NOTES + _NEWEST, key, before_step, limit, skip)
    return tx.all(f"{_NOTES} AND topic = ?{_NEWEST}", key, before_step, topic, limit, skip)


def topics(tx: Tx, key: int, before_step: int) -> list[tuple[Any, ...]]:
    """`(topic, count)` of the same."""
    return tx.all(
        "SELECT topic, count(*) FROM agent_memory WHERE session_key = ? AND step < ? GROUP BY topic", key, before_step
    )
