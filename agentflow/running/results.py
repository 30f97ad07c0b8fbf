"""Waiting for what a turn comes to, here or elsewhere."""

from __future__ import annotations

import asyncio

from agentflow.conversation import arguments
from agentflow.errors import ResultTimeout
from agentflow.reading.reader import SessionReader
from agentflow.result import TurnResult
from agentflow.running.turns import POLL_SECS, RunningTurns


async def result_of(
    turns: RunningTurns,
    reader: SessionReader,
    session_id: str,
    turn_id: str,
    timeout: float | None,  # noqa: ASYNC109  # an error that says how to go on
) -> TurnResult:
    """As `Runtime.result`."""
    try:
        async with asyncio.timeout(arguments.seconds(timeout, "timeout")) as waiting:
            return await _result(turns, reader, session_id, arguments.text(turn_id, "turn_id"))
    except TimeoutError:
        if not waiting.expired():
            raise
        raise ResultTimeout(
            f"Turn {turn_id!r} of session {session_id!r} has not ended within {timeout} s; it goes on, ask again.",
            detail={"session_id": session_id, "turn_id": turn_id},
        ) from None


async def _result(turns: RunningTurns, reader: SessionReader, session_id: str, turn_id: str) -> TurnResult:
    if turns.get(session_id, turn_id) is None:
        turn_id = await reader.turn_id(session_id, turn_id)
    while True:
        running = turns.get(session_id, turn_id)
        if running is not None:
            return await asyncio.shield(running.task)
        result = await reader.result(session_id, turn_id)
        if result is not None:
            return result
        if (failure := turns.left(session_id)) is not None:
            raise failure
        await asyncio.sleep(POLL_SECS)
