"""Calls of worker tools that are left open: their results come from outside the turn (C20, C33)."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from agentflow.tools.calls import Prepared
from agentflow.tools.results import ToolResult, refused
from agentflow.turn.execution import Execution
from agentflow.turn.surroundings import Surroundings

_POLL_SECS = 0.25  # how often another process is asked whether it has settled the call


async def settled(turn: Surroundings, execution: Execution, prepared: Prepared) -> ToolResult:
    """The result of an open call once it is given, or an error result when its time is over."""
    loop, seconds = asyncio.get_running_loop(), prepared.tool.timeout_secs
    ends = loop.time() + seconds if seconds else None
    while True:
        turn.settled.clear()
        found = await turn.store.settlement(execution.journal.session_key, execution.number, prepared.call.id)
        if found is not None:
            ok, text = found
            return ToolResult(ok, text, error_code=None if ok else "tool_failed")
        wait = _POLL_SECS if ends is None else min(_POLL_SECS, ends - loop.time())
        if wait <= 0:
            return refused(f"'{prepared.tool.name}' was not settled within {seconds:g} seconds", "timeout")
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await turn.settled.wait()
