"""The end of a turn's step, whoever ends it: it is counted, and what may not stay is erased (R5, R6).

A turn that waits on for its client is counted with each result it gets.
"""

from __future__ import annotations

from agentflow.message import ENDED
from agentflow.store.ended.counting import count_turn
from agentflow.store.ended.erase import erase
from agentflow.store.sql.transaction import Tx

_COLUMNS = (
    "agent", "state", "error", "started_at", "ended_at", "duration_ms", "steps", "first_token_ms", "input", "output",
    "cache_read", "cache_write", "cost", "models", "tools",
)  # fmt: skip
_KEEP = (
    f"INSERT INTO session_stats (session_key, turn, {', '.join(_COLUMNS)}) "
    f"VALUES (?, ?, {', '.join('?' * len(_COLUMNS))}) ON CONFLICT (session_key, turn) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
)


def turn_ended(tx: Tx, key: int, turn: int) -> bool:
    """Keep what the turn counted in place of what it counted up to an earlier pause; all its rows are written.

    True when it has ended and its texts were erased: then its session's path is empty.
    """
    counted = count_turn(tx, key, turn)
    if counted is None:
        return False
    tx.execute(_KEEP, *counted.row(key, turn))
    if counted.observed or counted.state not in ENDED:
        return False
    erase(tx, key, turn)
    return True
