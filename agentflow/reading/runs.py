"""The runs of agents as reads tell of them: one for a turn, and one for each sub-agent it called (R5, R6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentflow.clock import rfc3339
from agentflow.message import ENDED, EXECUTION_OF, ExecutionStatus, TurnState
from agentflow.store.records import Record

_UNENDED = (ExecutionStatus.RUNNING, ExecutionStatus.PENDING_USER_INPUT)


def runs_of_turn(executions: Iterable[Record], state: TurnState) -> list[dict[str, Any]]:
    """The runs of a turn that stands in this state, the main one first."""
    ordered = sorted(executions, key=lambda each: int(each["number"]))
    return [_run(row, state, is_main=position == 0) for position, row in enumerate(ordered)]


def runs_of_session(executions: Iterable[Record], states: Mapping[int, TurnState]) -> list[dict[str, Any]]:
    """The runs of all turns, in order, each with the `turn` it belongs to; `states` are those of the turns.

    A turn without a state has begun since the states were read: it is not told yet.
    """
    by_turn: dict[int, list[Record]] = {}
    for row in executions:
        by_turn.setdefault(row["turn"], []).append(row)
    known = [turn for turn in sorted(by_turn) if turn in states]
    return [{"turn": turn, **run} for turn in known for run in runs_of_turn(by_turn[turn], states[turn])]


def _run(row: Record, state: TurnState, *, is_main: bool) -> dict[str, Any]:
    """A run as the turn stands now: one that nobody has ended yet has ended with a turn that is over."""
    over = state in ENDED and row["status"] in _UNENDED
    ended_as = EXECUTION_OF[state] if is_main else ExecutionStatus.ABORTED
    return {
        "execution": row["number"],
        "agent": row["agent"],
        "status": str(ended_as) if over else row["status"],
        "started_at": rfc3339(row["started_at"]),
        "duration_ms": row["duration_ms"],
        "parent": row["parent"],
        "parent_tool_call_id": row["parent_call_id"],
    }
