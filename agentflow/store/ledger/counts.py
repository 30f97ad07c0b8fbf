"""What turns have counted, of all sessions but those of evaluations (R6, R9)."""

from __future__ import annotations

from agentflow.clock import Instant
from agentflow.store.counted import Counts, NamingCount, Rating, TurnCount
from agentflow.store.sql.transaction import Tx

_COUNTED = "JOIN session ON session.key = {table}.session_key AND session.environment <> 'evaluation'"
_TURNS = f"""
SELECT stats.session_key, stats.agent, stats.state, stats.error, stats.ended_at, stats.duration_ms,
       stats.first_token_ms, stats.input, stats.output, stats.cache_read, stats.cache_write, stats.cost, stats.models,
       stats.tools
FROM session_stats stats {_COUNTED.format(table="stats")} WHERE stats.ended_at >= ?
ORDER BY stats.session_key, stats.turn
"""
_RATINGS = f"""
SELECT stats.agent, stats.ended_at, feedback.rating FROM feedback {_COUNTED.format(table="feedback")}
JOIN step ON step.session_key = feedback.session_key AND step.number = feedback.step
JOIN session_stats stats ON stats.session_key = step.session_key AND stats.turn = step.turn
WHERE stats.ended_at >= ?
"""
_NAMING = f"""
SELECT llm_call.session_key, session.agent, llm_call.requested_at, llm_call.model, llm_call.status, llm_call.input,
       llm_call.output, llm_call.cache_read, llm_call.cache_write, llm_call.cost
FROM llm_call {_COUNTED.format(table="llm_call")} WHERE llm_call.turn = 0 AND llm_call.requested_at >= ?
"""


def counts(tx: Tx, since: Instant) -> Counts:
    """The turns whose last step ended since then, the title calls made since then, and the ratings of those turns."""
    return Counts(
        [TurnCount(*row) for row in tx.all(_TURNS, since)],
        [NamingCount(*row) for row in tx.all(_NAMING, since)],
        [Rating(*row) for row in tx.all(_RATINGS, since)],
    )
