"""Turns that a command leaves waiting: it runs none but its own (C21, C24)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from .output import note

if TYPE_CHECKING:
    from agentflow import Runtime


async def tell_waiting(runtime: Runtime, session: str, place: tuple[str, ...]) -> None:
    """Says on standard error how many turns wait in an idle session, with the command that runs them."""
    status = await runtime.status(session)
    if status["queued"] and not status["pending"] and status["status"] != "running":
        waits = "1 turn waits" if status["queued"] == 1 else f"{status['queued']} turns wait"
        note(f"{waits}; run with: {shlex.join(['agentflow', 'sessions', 'run-queue', session, *place])}")
