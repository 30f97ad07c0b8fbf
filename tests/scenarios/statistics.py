"""What `session_stats` says of a turn is what anybody counts in its rows (R6), counted here in the plainest way."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from tests.scenarios.support import Select

_TURNS = "SELECT session_key, number, state, error, created_at, config_hash FROM turn WHERE state <> 'running'"
_STEPS = "SELECT turn, number, opened_at, completed_at, first_token_ms FROM step WHERE session_key = {key}"
_CALLS = (
    "SELECT turn, model, status, input, output, cache_read, cache_write, cost FROM llm_call WHERE session_key = {key}"
)
_TOOLS = "SELECT turn, name, ok, duration_ms FROM tool_call WHERE session_key = {key} AND result_id IS NOT NULL"
_RUNS = "SELECT turn FROM execution WHERE session_key = {key}"
_KEPT = (
    "SELECT state, error, started_at, ended_at, duration_ms, steps, first_token_ms, input, output, cache_read, "
    "cache_write, cost, models, tools FROM session_stats WHERE session_key = {key} AND turn = {turn}"
)


def differences(select: Select, key: int | None = None) -> list[str]:
    """Where the statistics of the turns that have ended or paused differ from their rows; erased ones have none."""
    wrong = []
    for owner, number, state, error, created_at, config in select(_TURNS):
        if key not in (None, owner):
            continue
        is_erased = config and (number,) not in select(_RUNS.format(key=owner))
        kept = select(_KEPT.format(key=owner, turn=number))
        if len(kept) != 1:
            wrong.append(f"turn {number} has {len(kept)} rows")
            continue
        *values, models, tools = kept[0]
        told = (*values, json.loads(models), json.loads(tools))
        counted = _counted(select, owner, number, state, error, created_at)
        if not is_erased and told != counted:
            wrong.append(f"turn {number}: kept {told}, counted {counted}")
    return wrong


def _counted(select: Select, key: int, turn: int, state: str, error: str | None, created_at: int) -> tuple[Any, ...]:
    steps = sorted(row[1:] for row in select(_STEPS.format(key=key)) if row[0] == turn)
    ends = [opened if completed is None else completed for _, opened, completed, _ in steps]
    shown = [first for *_, first in steps if first is not None]
    calls = [row[1:] for row in select(_CALLS.format(key=key)) if row[0] == turn]
    tools = [row[1:] for row in select(_TOOLS.format(key=key)) if row[0] == turn]
    return (
        state,
        None if error is None else json.loads(error)["code"],
        created_at,
        ends[-1],
        sum(max(end - step[1], 0) // 1000 for end, step in zip(ends, steps, strict=True)),
        len(steps),
        shown[0] if shown else None,
        *(sum(call[place] or 0 for call in calls) for place in range(2, 6)),
        _cost(calls),
        {model: _of_model([call for call in calls if call[0] == model]) for model in {call[0] for call in calls}},
        {name: _of_tool([tool for tool in tools if tool[0] == name]) for name in {tool[0] for tool in tools}},
    )


def _cost(calls: list[Any]) -> str | None:
    known = [Decimal(call[6]) for call in calls if call[6] is not None]
    return str(sum(known)) if known else None


def _of_model(calls: list[Any]) -> dict[str, Any]:
    tokens = ("input", "output", "cache_read", "cache_write")
    failed = sum(call[1] != "completed" for call in calls)
    sums = {name: sum(call[place] or 0 for call in calls) for place, name in enumerate(tokens, 2)}
    return {"calls": len(calls), "failed": failed, **sums, "cost": _cost(calls)}


def _of_tool(tools: list[Any]) -> dict[str, Any]:
    failed = sum(not tool[1] for tool in tools)
    return {"calls": len(tools), "failed": failed, "duration_ms": sum(tool[2] or 0 for tool in tools)}
