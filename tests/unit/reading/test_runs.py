"""The runs of agents as reads tell of them (R5, R6)."""

from __future__ import annotations

from typing import Any

from agentflow.message import TurnState
from agentflow.reading.runs import runs_of_session


def row(number: int, turn: int) -> dict[str, Any]:
    return {
        "number": number, "turn": turn, "agent": "a", "status": "RUNNING", "started_at": 0, "duration_ms": None,
        "parent": None, "parent_call_id": None,
    }  # fmt: skip


def test_a_turn_that_began_since_its_session_was_read_is_not_told_yet() -> None:
    """Found by the simulation: the runs are read after the steps."""
    told = runs_of_session([row(1, 1), row(2, 2)], {1: TurnState.RUNNING})
    assert [(run["turn"], run["execution"]) for run in told] == [(1, 1)]
