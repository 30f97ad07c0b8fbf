"""What a turn counted, from its rows (R6): the same function for every way a turn ends.

A turn's calls are found by its entries in the log, which is read from where the turn began: neither the calls nor the
steps of other turns are looked at (R4).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agentflow import events
from agentflow.clock import MILLISECOND
from agentflow.message import Usage
from agentflow.store.sql.transaction import Tx
from agentflow.text import compact_json, stored_json

# One line a step, then one an ended call: kind, name, status, four texts, five numbers.
_ROWS = f"""
SELECT 'step' AS kind, turn.state, step.state, session.agent, turn.error, turn.cost, blob.body, turn.created_at,
       step.opened_at, step.completed_at, step.first_token_ms, step.number, turn.input, turn.output, turn.cache_read,
       turn.cache_write
FROM turn JOIN session ON session.key = turn.session_key
JOIN step ON step.session_key = turn.session_key AND step.number >= turn.first_step AND step.turn = turn.number
LEFT JOIN execution ON execution.session_key = turn.session_key AND execution.number = turn.execution
LEFT JOIN blob ON blob.session_key = turn.session_key
AND blob.hash = coalesce(execution.config_hash, turn.config_hash)
WHERE turn.session_key = ? AND turn.number = ?
UNION ALL
SELECT 'model', llm_call.model, llm_call.status, NULL, NULL, llm_call.cost, NULL, NULL, NULL, NULL,
       llm_call.duration_ms, NULL, llm_call.input, llm_call.output, llm_call.cache_read, llm_call.cache_write
FROM event JOIN llm_call ON llm_call.session_key = event.session_key AND llm_call.id = event.ref
WHERE event.session_key = ? AND event.seq > (SELECT after_seq FROM turn WHERE session_key = ? AND number = ?)
AND event.turn = ? AND event.type = '{events.LLM_CALL_REQUESTED}'
UNION ALL
SELECT 'tool', tool_call.name, tool_call.status, NULL, NULL, NULL, NULL, NULL, NULL, NULL, tool_call.duration_ms,
       tool_call.ok, NULL, NULL, NULL, NULL
FROM event JOIN message ON message.session_key = event.session_key AND message.id = event.ref
JOIN tool_call ON tool_call.session_key = message.session_key AND tool_call.execution = message.execution
AND tool_call.id = message.call_id
WHERE event.session_key = ? AND event.seq > (SELECT after_seq FROM turn WHERE session_key = ? AND number = ?)
AND event.turn = ? AND event.type IN ('{events.TOOL_CALL_COMPLETED}', '{events.TOOL_CALL_ERRORED}')
"""


@dataclass(slots=True)
class Counted:
    """The sums of a turn, up to the end of its last step.

    `duration_ms` is the time its steps took, pauses between them left out; `first_token_ms` that of the first step
    that showed something. `models` is `{model: {calls, failed, input, output, cache_read, cache_write, cost}}`, `tools`
    `{name: {calls, failed, duration_ms}}`. `observed` is what the configuration in force says (R5).
    """

    agent: str
    state: str
    error: str | None
    observed: bool
    started_at: int
    ended_at: int = 0
    duration_ms: int = 0
    steps: int = 0
    first_token_ms: int | None = None
    usage: Usage = field(default_factory=Usage)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)

    def row(self, key: int, turn: int) -> tuple[Any, ...]:
        """The row of `session_stats`, in the order of its columns."""
        usage = self.usage
        return (
            key, turn, self.agent, self.state, self.error, self.started_at, self.ended_at, self.duration_ms, self.steps,
            self.first_token_ms, usage.input or 0, usage.output or 0, usage.cache_read or 0, usage.cache_write or 0,
            None if usage.cost is None else str(usage.cost), compact_json(self.models), compact_json(self.tools),
        )  # fmt: skip


def count_turn(tx: Tx, key: int, turn: int) -> Counted | None:
    """Sum a turn from its rows; null when it has no step."""
    found = tx.all(_ROWS, key, turn, *(key, key, turn, turn) * 2)
    steps = sorted((row for row in found if row[0] == "step"), key=lambda row: row[11])
    if not steps:
        return None
    _, state, _, agent, error, _, config, started_at, *_ = steps[-1]
    counted = Counted(agent, state, _code(error), _is_observed(config), started_at)
    for row in steps:
        _add_step(counted, *row[8:11])
    for kind, name, status, _, _, cost, *_, duration_ms, ok, input_, output, cache_read, cache_write in found:
        if kind == "model":
            usage = Usage(input_, output, cache_read, cache_write, None if cost is None else Decimal(cost))
            counted.usage += usage
            _add_model(counted.models, name, usage, failed=status != "completed")
        elif kind == "tool":
            _add_tool(counted.tools, name, duration_ms or 0, failed=not ok)
    return counted


def _add_step(counted: Counted, opened_at: int, completed_at: int | None, first_token_ms: int | None) -> None:
    ended_at = opened_at if completed_at is None else completed_at
    counted.steps += 1
    counted.ended_at = ended_at
    counted.duration_ms += max(ended_at - opened_at, 0) // MILLISECOND
    if counted.first_token_ms is None:
        counted.first_token_ms = first_token_ms


def _add_model(models: dict[str, dict[str, Any]], name: str, usage: Usage, *, failed: bool) -> None:
    sums = models.setdefault(
        name, {"calls": 0, "failed": 0, "input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost": None}
    )
    sums["calls"] += 1
    sums["failed"] += failed
    for kind in ("input", "output", "cache_read", "cache_write"):
        sums[kind] += getattr(usage, kind) or 0
    sums["cost"] = add_costs([sums["cost"], None if usage.cost is None else str(usage.cost)])


def _add_tool(tools: dict[str, dict[str, Any]], name: str, duration_ms: int, *, failed: bool) -> None:
    sums = tools.setdefault(name, {"calls": 0, "failed": 0, "duration_ms": 0})
    sums["calls"] += 1
    sums["failed"] += failed
    sums["duration_ms"] += duration_ms


def add_costs(costs: Iterable[str | None]) -> str | None:
    """The sum of decimals written as text; null when none is known, which is not 0 (X6)."""
    known = [Decimal(cost) for cost in costs if cost is not None]
    return str(sum(known)) if known else None


def _code(error: str | None) -> str | None:
    return None if error is None else str(stored_json(error).get("code"))


def _is_observed(config: str | None) -> bool:
    """What a stored configuration says of `observability`; one that does not mention it keeps everything."""
    if config is None or '"observability"' not in config:
        return True
    settings = stored_json(config).get("settings")
    return not isinstance(settings, dict) or settings.get("observability") is not False
