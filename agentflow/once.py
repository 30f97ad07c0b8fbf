"""One turn from synchronous code."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agentflow import clock
from agentflow.runtime import Runtime
from agentflow.turn.result import TurnResult


def run_turn(
    agent: str,
    text: str,
    *,
    session: str | None = None,
    project: str = ".",
    db: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> TurnResult:
    """Run one turn from synchronous code: `run_turn("agents/support", "Where is my invoice?", session="s-1")`.

    Without `session` the turn has a session of its own. Raises what `Runtime.submit` raises.
    """

    async def turn() -> TurnResult:
        async with Runtime.open(project, db=db) as runtime:
            return await runtime.run(session or clock.uuid7(), agent, text, inputs=inputs, limits=limits)

    return asyncio.run(turn())
